"""What `rl_hold` believes of tasks: what the estimator does, corrected by a forest where seconds are learned."""

from __future__ import annotations

from typing import NamedTuple

from hybrid_ml_scheduler.core import ClusterView, Decision, RaceContext, Task
from hybrid_ml_scheduler.core.terms import TaskTerms
from hybrid_ml_scheduler.learning.time_forest import TimeForest
from hybrid_ml_scheduler.schedulers.agents.hold_history import Remembered
from hybrid_ml_scheduler.schedulers.forest.trained_seconds import Expected, TimeData, TrainsSeconds

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

    def _believed_again(self, one: Remembered, cluster: ClusterView) -> TaskTerms:
        """What is believed now of a task that was remembered."""
        return TaskTerms(*self._thought(one.task, cluster, one.ready_s).corrected) if self.online else one.terms

    def _expect(self, task: Task, decision: Decision) -> None:
        """A task starts: what is believed of it will be compared with its outcome."""
        if self.online:
            expected, chosen = self._thoughts[task.task_id].expected, max(decision.gpu or 0, 0)
            self._lessons.expect(task, expected._replace(gpu_fraction=decision.gpu_fraction, gpu=chosen))
