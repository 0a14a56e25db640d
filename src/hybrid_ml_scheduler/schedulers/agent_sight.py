"""The agent's eyes: one task and one cluster turned into the network's inputs, without garbage."""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core import ClusterView, Outcome, Task
from hybrid_ml_scheduler.learning.dqn import DoubleDqn
from hybrid_ml_scheduler.physics import PhysicsEstimator
from hybrid_ml_scheduler.schedulers.agent_options import AgentOptions
from hybrid_ml_scheduler.schedulers.agent_view import (
    bare_view,
    best_action,
    cluster_inputs,
    fresh_pace,
    pace_step,
    seen_load,
    view,
    whole_seconds,
)

__all__ = ["AgentSight"]


class AgentSight:
    """State, prior, order of devices and Q of the latest look; the arrays are used again by the next one."""

    def __init__(self, estimator: PhysicsEstimator, options: AgentOptions) -> None:
        self._estimator, self._options = estimator, options
        self.actions = estimator.num_gpus + 1
        self.inputs = cluster_inputs(estimator.num_gpus) if options.state == "cluster" else 3
        self._by_execution = options.time == "execution"
        node = estimator.node
        self._power_w = np.array([node.cpu.power_w, *(gpu.power_w for gpu in node.gpus)])
        self._gpu_s = np.empty(len(set(estimator.gpu_kind.tolist())))
        self._paged_s = np.empty(0)
        self._seconds, self._device = np.empty(self.actions), np.empty(self.actions, dtype=np.int64)
        self._backlog = np.empty(self.actions)
        self.state = np.empty(self.inputs, dtype=np.float32)
        self.prior = np.empty(self.actions, dtype=np.float32)
        self.q = np.empty(self.actions, dtype=np.float32)
        self.order = np.empty(self.actions, dtype=np.int64)
        self.pace = fresh_pace()
        self.scale = 1.0

    def look(self, task: Task, cluster: ClusterView, dqn: DoubleDqn, *, remember: bool = True) -> int:
        """See the task and the cluster; returns the best action. Without `remember` the pace stays as it was."""
        if self._options.state == "task":
            self.scale = bare_view(
                task.size, task.compute_intensity, task.memory_required, self.state, self.prior, self.order
            )
        else:
            self._see_cluster(task, cluster, remember)
        settings = dqn.settings
        action: int = best_action(
            dqn.weights, self.state, self.prior, self.scale, settings.value_unit, settings.hidden, self.q
        )
        return action

    def reward(self, outcome: Outcome) -> float:
        """What an outcome was worth: weighted time and energy, in seconds and in units of joules."""
        options = self._options
        time_s = outcome.execution_s if self._by_execution else outcome.finish_s - outcome.ready_s
        energy = outcome.energy_j / options.joule_unit
        return -((1.0 - options.energy_weight) * time_s + options.energy_weight * energy)

    def _see_cluster(self, task: Task, cluster: ClusterView, remember: bool) -> None:
        estimator, options = self._estimator, self._options
        known = estimator.seconds(task)
        self._gpu_s[:] = known.gpu_s
        paged = np.array(known.paged_s) if known.paged_s else self._paged_s
        self._backlog[0] = cluster.cpu_backlog_s
        self._backlog[1:] = cluster.gpu_backlogs_s
        whole_seconds(
            known.cpu_s, self._gpu_s, paged, estimator.gpu_kind, task.memory_required, estimator.gpu_memory_mb,
            estimator.memory_rule, self._seconds, self._device,
        )  # fmt: skip
        pace = self.pace if remember else self.pace.copy()
        pace_step(cluster.now_s, self._seconds, pace)
        self.scale = view(
            task.size, task.compute_intensity, task.memory_required, options.energy_weight,
            seen_load(pace, self.actions), options.joule_unit,
            self._by_execution, self._seconds, self._device, self._backlog, self._power_w,
            self.state, self.prior, self.order,
        )  # fmt: skip
        if not options.has_prior:
            self.prior[:] = 0.0
            self.scale = 1.0
