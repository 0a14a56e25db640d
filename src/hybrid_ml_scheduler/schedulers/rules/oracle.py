"""The oracle: the split with the least execution time on a grid. Queues do not exist for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybrid_ml_scheduler.core import BatchRule, ClusterView, Decision, RuleKind, Task, TaskBatch
from hybrid_ml_scheduler.core.knowledge import EXACT
from hybrid_ml_scheduler.physics.choices import fastest_split
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, as_column, split_grid, task_terms

__all__ = ["Oracle"]


class Oracle:
    """The reference for execution time and the source of labels; not optimal for latency or makespan."""

    name = "oracle"
    knows = EXACT  # it is the reference: never in doubt

    def __init__(self, step: float = DEFAULT_STEP) -> None:
        self._grid = split_grid(step)
        self.points = as_column(self._grid)

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Try every split and take the fastest; among equally fast GPUs the least loaded."""
        backlogs = as_column(cluster.gpu_backlogs_s)
        fraction, gpu = fastest_split(task_terms(task, cluster), backlogs, self.points)
        return Decision(gpu_fraction=fraction, gpu=gpu)

    def rule(self, batch: TaskBatch) -> BatchRule:
        """The compiled form."""
        return BatchRule(kind=RuleKind.FASTEST_SPLIT, grid=self._grid)

    rule_ahead = rule

    def explain(self, task: Task, cluster: ClusterView) -> Mapping[str, Any]:
        """The execution time of every split of the grid on the GPU it would take."""
        chosen = self.decide(task, cluster)
        estimator, gpu = cluster.estimator, chosen.gpu or 0
        parts = [estimator.parts(task, fraction, gpu) for fraction in self._grid]
        times = [estimator.execution_s(one) for one in parts]
        return {
            "reason": "least execution time on the grid, queues ignored",
            "gpu_fraction": chosen.gpu_fraction,
            "grid": [{"gpu_fraction": f, "execution_s": t} for f, t in zip(self._grid, times, strict=True)],
        }
