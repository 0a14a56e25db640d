"""What `rl_hold` believes of tasks: what the estimator does, corrected by a forest where seconds are learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.core import BatchTerms, ClusterView, Decision, RaceContext, Task
from hybrid_ml_scheduler.core.terms import EstimatesMany, TaskTerms
from hybrid_ml_scheduler.learning.time_forest import TimeForest, correct
from hybrid_ml_scheduler.schedulers.forest.trained_seconds import Expected, TimeData, TrainsSeconds
from hybrid_ml_scheduler.schedulers.grid import as_batch

__all__ = ["CorrectedBeliefs"]


class _Thought(NamedTuple):
    """What is believed of a task just now: what will be compared with its outcome, and the corrected terms."""

    expected: Expected
    terms: TaskTerms


class CorrectedBeliefs(TrainsSeconds):
    """Beliefs of a strategy that holds; `_thoughts` are good until something is learned."""

    def _start_believing(self, context: RaceContext) -> None:
        """Start afresh; what is told needs no correction."""
        self.online = context.estimator.learns
        self._start_training(context.seed, context.retrain_interval)
        self._thoughts: dict[int, _Thought] = {}

    def activate(self, model: TimeForest, data: TimeData) -> None:
        """Believe from now on what a newly grown forest says."""
        super().activate(model, data)
        self._thoughts.clear()

    def _believed(self, task: Task, cluster: ClusterView) -> TaskTerms:
        """What is believed of a task."""
        if not self.online:
            return cluster.estimator.terms(task)
        if task.task_id not in self._thoughts:
            expected = self._thought(task, cluster, cluster.now_s)
            self._thoughts[task.task_id] = _Thought(expected, TaskTerms(*expected.corrected))
        return self._thoughts[task.task_id].terms

    def _believed_of(self, tasks: Sequence[Task], cluster: ClusterView) -> BatchTerms:
        """The same of many tasks as columns, at once where the estimator can."""
        estimator = cluster.estimator
        many = estimator.many_terms(tasks) if self.online and isinstance(estimator, EstimatesMany) else None
        if many is None:
            return as_batch([self._believed(task, cluster) for task in tasks])
        if self._walked[0] == 0.0:
            return many
        seconds = np.column_stack([many.cpu_s, many.gpu_s])
        for task, row in zip(tasks, seconds, strict=True):
            traits = task.size, task.compute_intensity, task.memory_required, self._lessons.kind(task)
            correct(*traits, self._walked, row, len(row))
        return many._replace(cpu_s=seconds[:, 0].copy(), gpu_s=seconds[:, 1:].copy())

    def _expect(self, task: Task, decision: Decision, cluster: ClusterView) -> None:
        """A task starts: what is believed of it will be compared with its outcome."""
        if self.online:
            self._believed(task, cluster)
            expected, chosen = self._thoughts[task.task_id].expected, max(decision.gpu or 0, 0)
            self._lessons.expect(task, expected._replace(gpu_fraction=decision.gpu_fraction, gpu=chosen))
