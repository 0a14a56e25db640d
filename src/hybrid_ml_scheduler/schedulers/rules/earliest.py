"""Earliest finish: the device or split that completes first, given the queues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybrid_ml_scheduler.core import BatchRule, ClusterView, Decision, RuleKind, Task, TaskBatch
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.physics.choices import least_charge
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, as_column, split_grid, task_terms

__all__ = ["EarliestDevice", "EarliestFinish", "LeastCharge"]


class LeastCharge:
    """Minimises completion + price x device-seconds over a grid of splits and all GPUs."""

    name = "least_charge"
    reason = "least completion plus the price of the device-seconds used"

    def __init__(self, step: float = DEFAULT_STEP, price: float = 0.0) -> None:
        if not 0.0 <= price < float("inf"):
            raise PlanError(f"{self.name}: price = {price:g} must be a finite number of at least 0.")
        self._price = price
        self._grid = split_grid(step)
        self._points = as_column(self._grid)

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Search the grid and the GPUs."""
        fraction, gpu = least_charge(
            task_terms(task, cluster),
            cluster.cpu_backlog_s,
            as_column(cluster.gpu_backlogs_s),
            self._points,
            self._price,
        )
        return Decision(gpu_fraction=fraction, gpu=gpu)

    def rule(self, batch: TaskBatch) -> BatchRule:
        """The compiled form."""
        return BatchRule(kind=RuleKind.LEAST_CHARGE, grid=self._grid, price=self._price)

    rule_ahead = rule

    def explain(self, task: Task, cluster: ClusterView) -> Mapping[str, Any]:
        """The completion time of the choice beside those of each whole device."""
        chosen = self.decide(task, cluster)
        gpus = range(len(cluster.gpu_backlogs_s))
        whole = {f"gpu_{gpu}": cluster.completion_s(task, 1.0, gpu) for gpu in gpus}
        return {
            "reason": self.reason,
            "gpu_fraction": chosen.gpu_fraction,
            "completion_s": cluster.completion_s(task, chosen.gpu_fraction, chosen.gpu or 0),
            "whole_device_completion_s": {"cpu": cluster.completion_s(task, 0.0, 0), **whole},
        }


class EarliestFinish(LeastCharge):
    """The split and the GPU with the earliest completion, given the queues."""

    name = "earliest_finish"
    reason = "earliest completion of any split on any GPU, given the queues"

    def __init__(self, step: float = DEFAULT_STEP) -> None:
        super().__init__(step=step)


class EarliestDevice(LeastCharge):
    """The whole device with the earliest completion, given the queues."""

    name = "earliest_device"
    reason = "earliest completion of any whole device, given the queues"

    def __init__(self) -> None:
        super().__init__(step=1.0)
