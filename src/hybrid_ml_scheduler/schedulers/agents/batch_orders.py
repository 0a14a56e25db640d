"""Batches and graphs for `rl_hold`: what is known at once is played through under several orders and settings."""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn
from hybrid_ml_scheduler.physics.held_choices import possible_seconds
from hybrid_ml_scheduler.schedulers.grid import as_column
from hybrid_ml_scheduler.schedulers.holding.planned import KnownGraph, graph_children
from hybrid_ml_scheduler.schedulers.holding.rank_hold import upward_ranks
from hybrid_ml_scheduler.schedulers.holding.replaying import replay_tasks
from hybrid_ml_scheduler.schedulers.holding.settings import Setting, stage_of

__all__ = ["best_batch_order"]

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
    size_s = possible_seconds(tasks.cpu_s, tasks.gpu_s, tasks.memory_rule, True)
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


def _orders(graph: KnownGraph, size_s: FloatColumn) -> list[FloatColumn]:
    """By the longest way to go, cut and whole; what gains least from a GPU last; as they came."""
    tasks, offsets, parents = graph.tasks, graph.parent_offsets, graph.parents
    whole_s = possible_seconds(tasks.cpu_s, tasks.gpu_s, tasks.memory_rule, False)
    ranks = [-upward_ranks(costs, offsets, parents) for costs in (size_s, whole_s, tasks.cpu_s)]
    return [*ranks, np.arange(len(size_s), dtype=np.float64)]
