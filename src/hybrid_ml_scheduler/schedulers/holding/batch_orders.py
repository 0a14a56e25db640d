"""Batches and graphs for learned strategies: what is known at once is played through under several orders and settings.

Their objective is the makespan. Where durations are learned, what has not started is planned again as tasks finish.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, Task
from hybrid_ml_scheduler.core.terms import TaskTerms
from hybrid_ml_scheduler.physics.held_choices import possible_seconds
from hybrid_ml_scheduler.schedulers.grid import as_column
from hybrid_ml_scheduler.schedulers.holding.planned import KnownGraph, graph_children, known_graph
from hybrid_ml_scheduler.schedulers.holding.rank_hold import upward_ranks
from hybrid_ml_scheduler.schedulers.holding.replaying import replay_tasks
from hybrid_ml_scheduler.schedulers.holding.settings import Setting, stage_of

__all__ = ["BATCH", "BatchPlan", "BatchState", "best_batch_order", "is_known_at_once"]

BatchState = tuple[list[Task], int, dict[int, float], tuple[Any, ...]]
BATCH = 16  # so many tasks in the first instant are a batch

_SETTINGS = (
    Setting(True, 0.0),
    Setting(False, 0.0),
    Setting(True, 0.3),
    Setting(True, 1.0),
    Setting(True, 3.0),
    Setting(False, 0.3),
)
_PLANS, _NO_WIDTHS, _AS_BELIEVED = np.zeros(3), np.empty(0, dtype=np.int64), np.empty(0)


def best_batch_order(graph: KnownGraph) -> tuple[FloatColumn, Setting]:
    """The order and the setting with which what is known at once ends first."""
    tasks, count = graph.tasks, len(graph.identity)
    offsets, rows = graph_children(graph)
    best, chosen = np.inf, (np.zeros(count), _SETTINGS[0])
    size_s = possible_seconds(tasks, True)
    for key in _orders(graph, size_s):
        for setting in _SETTINGS:
            stage = stage_of(setting, graph.num_devices, 0)
            finishes = replay_tasks(
                np.zeros(count),
                key,
                size_s,
                tasks,
                np.diff(graph.parent_offsets),
                offsets,
                rows,
                as_column(stage.grid),
                stage.price,
                as_column(stage.longest),
                _PLANS,
                _NO_WIDTHS,
                _AS_BELIEVED,
                np.inf,
                np.zeros(graph.num_devices),
                np.inf,
            )
            if finishes.max() < best:
                best, chosen = float(finishes.max()), (key, setting)
    return chosen


def is_known_at_once(first: Collection[Task]) -> bool:
    """Whether the tasks of the first instant are a batch or a graph rather than the beginning of a stream."""
    return len(first) >= BATCH or any(task.dependencies for task in first)


class BatchPlan:
    """The order of tasks that were known at once and have not started, and when to plan them again."""

    def __init__(self, tasks: Sequence[Task], devices: int) -> None:
        self._left = {task.task_id: task for task in tasks}
        self._devices, self._news = devices, 0
        self.keys: dict[int, float] = {}
        self.setting = _SETTINGS[0]

    @property
    def due(self) -> bool:
        """Whether an eighth of what is left, or a batch, has finished since the last plan."""
        return len(self._left) > 1 and self._news >= max(BATCH, len(self._left) // 8)

    def finish(self) -> None:
        """A task has finished: what is estimated of the others may have changed."""
        self._news += 1

    def start(self, task_id: int) -> None:
        """A task starts and needs no place in the order any more."""
        self._left.pop(task_id, None)

    def make(self, terms_of: Callable[[Task], TaskTerms]) -> Setting:
        """Order what is left by these estimates; returns the setting that goes with the order."""
        self._news = 0
        graph = known_graph(list(self._left.values()), terms_of, np.zeros(self._devices))
        order, self.setting = best_batch_order(graph)
        self.keys.update(zip(graph.identity.tolist(), order.tolist(), strict=True))
        return self.setting

    def capture(self) -> BatchState:
        """The whole state as plain values."""
        return list(self._left.values()), self._news, dict(self.keys), tuple(self.setting)

    @classmethod
    def from_state(cls, state: BatchState, devices: int) -> BatchPlan:
        """The plan of a captured state."""
        plan = cls(state[0], devices)
        plan._news, plan.keys, plan.setting = state[1], dict(state[2]), Setting(*state[3])
        return plan


def _orders(graph: KnownGraph, size_s: FloatColumn) -> list[FloatColumn]:
    """By the longest way to go, cut and whole; what gains least from a GPU last; as they came."""
    tasks, offsets, parents = graph.tasks, graph.parent_offsets, graph.parents
    whole_s = possible_seconds(tasks, False)
    ranks = [-upward_ranks(costs, offsets, parents) for costs in (size_s, whole_s, tasks.cpu_s)]
    return [*ranks, np.arange(len(size_s), dtype=np.float64)]
