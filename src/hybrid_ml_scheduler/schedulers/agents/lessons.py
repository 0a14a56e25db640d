"""Lessons for the agent: another strategy's decisions with the rewards they really earned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.core import ClusterView, Decision, Outcome, Task
from hybrid_ml_scheduler.core.errors import SchedulerError

__all__ = ["Demonstration", "demonstrated_action"]


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
