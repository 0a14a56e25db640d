"""HEFT: tasks by upward rank, each into the gap of the timetable where it is finished first.

Due to H. Topcuoglu, S. Hariri and M.-Y. Wu (2002), "Performance-effective and low-complexity task scheduling for
heterogeneous computing". Without splits it is the published algorithm: the rank is that of the mean over all devices.
"""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.holding import PlanRule
from hybrid_ml_scheduler.physics.choices import alone_on_cpu
from hybrid_ml_scheduler.physics.held_choices import fastest_seconds
from hybrid_ml_scheduler.physics.node import GPU_ONLY
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, as_column, split_grid
from hybrid_ml_scheduler.schedulers.holding.insertion import depths, planned_by_insertion, turns_of
from hybrid_ml_scheduler.schedulers.holding.keyed import WHOLE
from hybrid_ml_scheduler.schedulers.holding.planned import KnownGraph, PlanHold
from hybrid_ml_scheduler.schedulers.holding.rank_hold import upward_ranks

__all__ = ["Heft", "insert_in_order", "mean_seconds"]


def mean_seconds(graph: KnownGraph) -> FloatColumn:
    """The mean of a task's seconds over all devices, or over the GPUs where it runs on them only."""
    is_alone = graph.tasks.memory_rule >= GPU_ONLY
    total = np.where(is_alone, 0.0, graph.tasks.cpu_s)
    for kind in graph.tasks.gpu_kind:
        total += graph.tasks.gpu_s[:, kind]
    return np.asarray(total / (graph.num_devices - is_alone))


def insert_in_order(graph: KnownGraph, order: IntColumn, depth: IntColumn, grid: FloatColumn) -> PlanRule:
    """The plan that comes of planning rows in this order, each where it is finished first."""
    count = len(order)
    fractions, gpus = np.empty(count), np.empty(count, dtype=np.int64)
    starts, finishes = np.empty(count), np.empty(count)
    planned_by_insertion(
        order,
        graph.tasks,
        grid,
        graph.parent_offsets,
        graph.parents,
        graph.backlog,
        fractions,
        gpus,
        starts,
        finishes,
    )
    return PlanRule(fractions=fractions, gpus=gpus, turns=turns_of(starts, depth))


class Heft(PlanHold):
    """Plans all known tasks by upward rank into the gaps of the timetable."""

    name = "heft"
    reason = "planned by upward rank where it is finished first, gaps of the timetable included"

    def __init__(self, splits: bool = False, step: float = DEFAULT_STEP) -> None:
        self._splits = splits
        self._points = as_column(split_grid(step) if splits else WHOLE)

    def plan_rule(self, graph: KnownGraph) -> PlanRule:
        """By falling rank; parents first among equals, then the lower id."""
        tasks = graph.tasks
        costs = fastest_seconds(alone_on_cpu(tasks), tasks.gpu_s, True) if self._splits else mean_seconds(graph)
        depth = depths(graph.parent_offsets, graph.parents)
        ranks = upward_ranks(costs, graph.parent_offsets, graph.parents)
        return insert_in_order(graph, np.lexsort((graph.identity, depth, -ranks)), depth, self._points)
