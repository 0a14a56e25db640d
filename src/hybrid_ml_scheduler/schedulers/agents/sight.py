"""The agent's eyes: one task and one cluster turned into the network's inputs, without garbage."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.core import ClusterView, Decision, Estimator, FloatColumn, Outcome, Task
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.learning.dqn import DoubleDqn
from hybrid_ml_scheduler.schedulers.agents.arrival_stats import fresh_arrival_stats
from hybrid_ml_scheduler.schedulers.agents.inputs import (
    bare_view,
    best_action,
    cluster_inputs,
    glance,
)
from hybrid_ml_scheduler.schedulers.agents.options import AgentOptions
from hybrid_ml_scheduler.schedulers.grid import task_terms

__all__ = ["AgentSight", "Demonstration", "demonstrated_action"]


class AgentSight:
    """State, prior, order of devices and Q of the latest look; the arrays are used again by the next one."""

    def __init__(self, estimator: Estimator, options: AgentOptions) -> None:
        self._options = options
        self.actions = estimator.num_gpus + 1
        self.inputs = cluster_inputs(estimator.num_gpus) if options.state == "cluster" else 3
        self._by_execution, self._has_prior = options.time == "execution", options.has_prior
        actions = self.actions
        self._numbers, self._places = np.zeros((3, actions)), np.zeros((2, actions), dtype=np.int64)
        self._numbers[2] = estimator.power_w
        self._worth = np.zeros((2, actions), dtype=np.float32)
        self.state = np.zeros(self.inputs, dtype=np.float32)
        self._backlog, self.order = self._numbers[1], self._places[1]
        self.prior, self.q = self._worth[0], self._worth[1]
        self.arrival_stats = fresh_arrival_stats()
        self.scale = 1.0

    def look(self, task: Task, cluster: ClusterView, dqn: DoubleDqn, *, remember: bool = True) -> int:
        """See the task and the cluster; returns the best action. Without `remember` the arrival statistics stay."""
        if self._options.state == "cluster":
            return self._glance(task, cluster, dqn, self.arrival_stats if remember else self.arrival_stats.copy())
        self.scale = bare_view(
            task.size, task.compute_intensity, task.memory_required, self.state, self.prior, self.order
        )
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

    def _glance(self, task: Task, cluster: ClusterView, dqn: DoubleDqn, arrival_stats: FloatColumn) -> int:
        options, settings = self._options, dqn.settings
        self._backlog[0] = cluster.cpu_backlog_s
        self._backlog[1:] = cluster.gpu_backlogs_s
        action, self.scale = glance(
            task.size, task.compute_intensity, cluster.now_s, task_terms(task, cluster), options.energy_weight,
            options.joule_unit, self._by_execution, self._has_prior, self._numbers, self._places, arrival_stats,
            self.state, self._worth, dqn.weights, settings.value_unit, settings.hidden,
        )  # fmt: skip
        return action


class Demonstration(NamedTuple):
    """One decision of a teacher: the task, what was to be seen, what was done, and what came of it."""

    task: Task
    cluster: ClusterView
    decision: Decision
    outcome: Outcome


def demonstrated_action(lesson: Demonstration, order: np.ndarray) -> int:
    """The agent's action that does what the teacher did; the agent knows whole devices only.

    A split has no counterpart: to pretend that it was a whole device would teach a reward nobody earned.
    """
    decision = lesson.decision
    if decision.gpu_fraction not in (0.0, 1.0):
        raise SchedulerError(
            f"Task {lesson.task.task_id}: the teacher split it ({decision.gpu_fraction:g} on a GPU), but rl_agent uses "
            "whole devices; let earliest_device or an oracle with step = 1 demonstrate."
        )
    device = 0 if decision.gpu_fraction == 0.0 or decision.gpu is None else decision.gpu + 1
    return int(np.flatnonzero(order == device)[0])
