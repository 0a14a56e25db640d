"""Local search: the best plan of a portfolio is bettered by a fixed number of small changes.

Threshold accepting is due to G. Dueck and T. Scheuer (1990), "Threshold accepting: a general purpose optimization
algorithm". It is for batches and graphs that are known at once, where a better last finish is worth seconds of search.
"""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.holding import PlanRule
from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, as_column, split_grid
from hybrid_ml_scheduler.schedulers.holding.best_of import candidate_plans, planned_finishes
from hybrid_ml_scheduler.schedulers.holding.planned import KnownGraph, PlanHold, graph_children
from hybrid_ml_scheduler.schedulers.holding.searching import improved_plan

__all__ = ["LocalSearch"]

_STARTS = 3


class LocalSearch(PlanHold):
    """Betters the three best plans of the portfolio by `steps` small changes in all, and follows the best one.

    `slack` is how much later a plan may end, as a share of the best, and still be gone on from at the first step. When
    tasks arrive later, what is left is planned anew with a thousandth of the steps.
    """

    name = "local_search"
    reason = "the best plan that a fixed number of small changes has led to says so"

    def __init__(self, steps: int = 300_000, slack: float = 0.004, step: float = DEFAULT_STEP) -> None:
        if steps < 0:
            raise PlanError(f"local_search: steps = {steps} must be at least 0.")
        if not 0.0 <= slack < 1.0:
            raise PlanError(f"local_search: slack = {slack:g} must be at least 0 and below 1.")
        self._steps, self._slack, self._points = steps, slack, as_column(split_grid(step))

    def plan_rule(self, graph: KnownGraph) -> PlanRule:
        """The plan that ends first."""
        plans = sorted(
            candidate_plans(graph, self._points), key=lambda plan: float(planned_finishes(graph, plan).max())
        )
        rng = stream(self._seed, "scheduler", self.name)
        flat = (graph.parent_offsets, graph.parents, *graph_children(graph))
        best, chosen = np.inf, plans[0]
        for plan in plans[:_STARTS]:
            order, fractions, gpus = np.argsort(plan.turns), plan.fractions.copy(), plan.gpus.copy()
            seed, steps = int(rng.integers(1, 2**61)), self._steps // (_STARTS if graph.at_once else 1000 * _STARTS)
            end = improved_plan(
                steps, seed, self._slack, graph.tasks, self._points, flat, graph.backlog, order, fractions, gpus
            )
            if end < best:
                turns = np.empty(len(order), dtype=np.int64)
                turns[order] = np.arange(len(order))
                best, chosen = end, PlanRule(fractions=fractions, gpus=gpus, turns=turns)
        return chosen
