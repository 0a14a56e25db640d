"""RL split: an agent whose actions are a GPU and a share, with a learned value of the queues.

The weights were found by policy search in the simulator (cross-entropy method; see `hms train agent --help`) and
are frozen when the agent decides. A decision charges every split on every GPU and takes the cheapest. Among tasks
that are much longer or shorter than those of its training it trusts the completion times alone, as
`earliest_finish` does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import ClusterView, Decision, FloatColumn, RaceContext, Task
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.schedulers.agents.arrival_stats import Notice, fresh_arrival_stats, is_arrival_stats, notice
from hybrid_ml_scheduler.schedulers.agents.split_model import load_split
from hybrid_ml_scheduler.schedulers.agents.value_charge import chosen_split, value_charge
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, as_column, split_grid, task_terms

__all__ = ["RlSplit"]


class RlSplit:
    """Takes the split with the least completion time plus learned charge for the future."""

    name = "rl_split"

    def __init__(self, step: float = DEFAULT_STEP, model: str | None = None) -> None:
        self._points = as_column(split_grid(step))
        self.model = load_split(model)
        self._arrival_stats = fresh_arrival_stats(self.model.training_profile)

    def prepare(self, context: RaceContext) -> None:
        """Forget the arrivals of another race."""
        self._arrival_stats = fresh_arrival_stats(self.model.training_profile_on(context.num_gpus))

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Charge every split on every GPU and take the cheapest."""
        return self._decide(task, cluster, self._arrival_stats)

    def preview(self, task: Task, cluster: ClusterView) -> Decision:
        """The decision that `decide` would take now; nothing is remembered."""
        return self._decide(task, cluster, self._arrival_stats.copy())

    def capture(self) -> Mapping[str, Any]:
        """The statistics of the arrivals."""
        return {"pace": self._arrival_stats.tolist()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from captured arrival statistics."""
        arrival_stats = np.array(state["pace"], dtype=np.float64)
        if not is_arrival_stats(arrival_stats):
            raise SchedulerError("rl_split: the stored arrival statistics are of another version.")
        self._arrival_stats = arrival_stats

    def _decide(self, task: Task, cluster: ClusterView, arrival_stats: FloatColumn) -> Decision:
        backlogs = as_column(cluster.gpu_backlogs_s)
        fraction, gpu = chosen_split(
            cluster.now_s, task.size, task.compute_intensity, task_terms(task, cluster),
            cluster.cpu_backlog_s, backlogs, self._points, arrival_stats, self.model.weights,
        )  # fmt: skip
        return Decision(gpu_fraction=fraction, gpu=max(gpu, 0))

    def _noticed(self, task: Task, cluster: ClusterView) -> Notice:
        """What the arrival of this task would mean; nothing is remembered."""
        terms = cluster.estimator.terms(task)
        work = min(terms.cpu_s, float(terms.gpu_s.min()))
        devices = len(cluster.gpu_backlogs_s) + 1
        seen: Notice = notice(
            cluster.now_s,
            work,
            task.size,
            task.compute_intensity,
            task.memory_required,
            devices,
            self._arrival_stats.copy(),
        )
        return seen

    def explain(self, task: Task, cluster: ClusterView) -> Mapping[str, Any]:
        """The charge of the choice, and of each whole device, beside the bare completion times."""
        chosen = self.preview(task, cluster)
        gpu = chosen.gpu or 0
        seen = self._noticed(task, cluster)
        whole = {"cpu": (0.0, 0)} | {f"gpu_{index}": (1.0, index) for index in range(cluster.estimator.num_gpus)}
        return {
            "reason": "least completion time plus the learned price of what the placement does to the queues",
            "gpu_fraction": chosen.gpu_fraction,
            "completion_s": cluster.completion_s(task, chosen.gpu_fraction, gpu),
            "foresight": seen.busy * seen.familiar,
            "familiar": seen.familiar,
            "charge": self._charge(task, cluster, chosen.gpu_fraction, gpu, seen),
            "whole_device_charge": {name: self._charge(task, cluster, *place, seen) for name, place in whole.items()},
        }

    def _charge(self, task: Task, cluster: ClusterView, fraction: float, gpu: int, seen: Notice) -> float:
        parts = cluster.estimator.parts(task, fraction, gpu)
        if parts.failed:
            return math.inf
        serial = cluster.estimator.terms(task).serial
        backlogs = as_column(cluster.gpu_backlogs_s)
        charge = value_charge(
            parts.cpu_s, parts.gpu_s, cluster.cpu_backlog_s, backlogs, gpu, serial, seen.busy * seen.familiar,
            seen.familiar, self.model.weights,
        )  # fmt: skip
        return float(charge)
