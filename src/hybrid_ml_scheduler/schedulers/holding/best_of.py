"""Simulate and pick: every order of the portfolio plans what is known, and the plan that does best is taken.

Running several list rules and keeping the best schedule is as old as list scheduling; see R. L. Graham (1969) on how
far single orders can be off. A batch or graph is judged by its last finish, a stream by the mean latency.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.holding import PlanRule
from hybrid_ml_scheduler.physics.choices import alone_on_cpu
from hybrid_ml_scheduler.physics.held_choices import fastest_seconds
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, as_column, split_grid
from hybrid_ml_scheduler.schedulers.holding.heft import insert_in_order, mean_seconds
from hybrid_ml_scheduler.schedulers.holding.insertion import depths
from hybrid_ml_scheduler.schedulers.holding.keyed import WHOLE
from hybrid_ml_scheduler.schedulers.holding.lp_classes import planned_by_classes
from hybrid_ml_scheduler.schedulers.holding.planned import KnownGraph, PlanHold
from hybrid_ml_scheduler.schedulers.holding.rank_hold import upward_ranks
from hybrid_ml_scheduler.schedulers.holding.searching import plan_end_s, planned_parts

__all__ = ["BestOf", "candidate_plans", "planned_finishes"]

_OBJECTIVES = ("auto", "latency", "makespan")


class BestOf(PlanHold):
    """Plans what is known by every order of the portfolio, whole and split, and follows the best plan."""

    name = "best_of"
    reason = "of all plans of the portfolio for the known tasks the best one says so"

    def __init__(self, objective: str = "auto", step: float = DEFAULT_STEP) -> None:
        if objective not in _OBJECTIVES:
            raise PlanError(f"best_of: objective = {objective!r} must be one of {', '.join(_OBJECTIVES)}.")
        self._objective, self._points = objective, as_column(split_grid(step))

    def plan_rule(self, graph: KnownGraph) -> PlanRule:
        """The first of the plans with the least last finish or mean latency."""
        by_end = self._objective == "makespan" or (self._objective == "auto" and graph.at_once)
        best, chosen = np.inf, None
        for plan in candidate_plans(graph, self._points):
            finishes = planned_finishes(graph, plan)
            value = float(finishes.max() if by_end else finishes.mean())
            if chosen is None or value < best:
                best, chosen = value, plan
        if chosen is None:
            raise PlanError("best_of: there is nothing to plan.")
        return chosen


def candidate_plans(graph: KnownGraph, points: FloatColumn) -> Iterator[PlanRule]:
    """The plans of all orders: ranks, longest first, shortest first, each whole and split, and the classes."""
    offsets, parents, tasks = graph.parent_offsets, graph.parents, graph.tasks
    depth = depths(offsets, parents)
    whole_s, split_s = (fastest_seconds(alone_on_cpu(tasks), tasks.gpu_s, splits) for splits in (False, True))
    ranks = [-upward_ranks(costs, offsets, parents) for costs in (mean_seconds(graph), whole_s, split_s)]
    keys = ranks if len(parents) else [*ranks, whole_s, split_s]
    for key in keys:
        order = np.lexsort((graph.identity, depth, key))
        for grid in (as_column(WHOLE), points):
            yield insert_in_order(graph, order, depth, grid)
    if not len(parents):
        yield planned_by_classes(graph)


def planned_finishes(graph: KnownGraph, plan: PlanRule) -> FloatColumn:
    """When each task is finished if the plan is carried out and every task takes as long as estimated."""
    parts = planned_parts(graph.tasks, plan.fractions, plan.gpus)
    finishes, order = np.empty(len(plan.turns)), np.argsort(plan.turns)
    offsets, parents = graph.parent_offsets, graph.parents
    plan_end_s(order, parts, plan.gpus, graph.tasks.serial, offsets, parents, graph.backlog, finishes)
    return finishes
