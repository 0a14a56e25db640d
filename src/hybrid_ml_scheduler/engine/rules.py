"""What a strategy's rule is to the engine: checked, and as numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import NO_GPU
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.core.holding import HeldRule, HeldStage, HoldingRule, PlanRule, PullRule
from hybrid_ml_scheduler.core.protocols import BatchRule, RuleKind
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.engine.start import floats, integers
from hybrid_ml_scheduler.engine.state import FASTEST_SPLIT, LEAST_CHARGE, ORDERED, PLANNED, PRESCRIBED, PULLED, Rule

__all__ = ["at_once_rule", "link_plan", "waiting_rule"]

_FORMS = {
    RuleKind.PRESCRIBED: PRESCRIBED,
    RuleKind.FASTEST_SPLIT: FASTEST_SPLIT,
    RuleKind.LEAST_CHARGE: LEAST_CHARGE,
}


def _rule(form: int, **given: Any) -> Rule:
    """A rule of this form; what is not given is empty."""
    column, table = np.empty(0), np.empty((0, 0))
    return Rule(
        form=form,
        by_decision=bool(given.get("by_decision", False)),
        depth=int(given.get("depth", 0)),
        aging=float(given.get("aging", math.inf)),
        fractions=floats(given.get("fractions", column)),
        gpus=integers(given.get("gpus", column)),
        orders=floats(given.get("orders", table)),
        size_s=floats(given.get("size_s", column)),
        first=integers(given.get("first", np.zeros(1))),
        grid=floats(given.get("grid", table)),
        price=floats(given.get("price", column)),
        longest=floats(given.get("longest", table)),
        which=integers(given.get("which", np.zeros(1))),
        pull=floats(given.get("pull", table)),
        pick=integers(given.get("pick", column)),
        following=given.get("following", np.empty((0, 2), dtype=np.int64)),
    )


def at_once_rule(rule: BatchRule, count: int, num_gpus: int) -> Rule:
    """A rule that decides every task when it becomes ready."""
    _check_batch_rule(rule, count, num_gpus)
    return _rule(
        _FORMS[RuleKind(rule.kind)],
        by_decision=rule.by_decision,
        grid=[rule.grid],
        price=[rule.price],
        **({} if rule.fractions is None else {"fractions": rule.fractions}),
        **({} if rule.gpus is None else {"gpus": rule.gpus}),
    )


def waiting_rule(rule: HoldingRule, count: int, num_gpus: int) -> Rule:
    """A rule that keeps a wait queue."""
    if isinstance(rule, PlanRule):
        _check_plan(rule, count, num_gpus)
        return _rule(PLANNED, fractions=rule.fractions, gpus=rule.gpus, following=np.empty((count, 2), dtype=np.int64))
    if isinstance(rule, PullRule):
        if rule.orders.shape != (num_gpus + 1, count):
            raise SchedulerError(f"a pulling rule needs an order of {count} tasks for each device.")
        return _rule(PULLED, orders=rule.orders)
    _check_held_rule(rule, count, num_gpus)
    stages = (HeldStage(first=0, grid=rule.grid, price=rule.price, longest=rule.longest, pick=rule.pick), *rule.stages)
    points = max(len(stage.grid) for stage in stages)
    return _rule(
        ORDERED,
        depth=max(1, min(rule.depth, count)),
        aging=rule.aging,
        orders=np.array([rule.order, *rule.orders]),
        size_s=rule.size_s,
        first=[stage.first for stage in stages],
        # A grid that is shorter than others repeats its last share.
        grid=[(*stage.grid, *stage.grid[-1:] * (points - len(stage.grid))) for stage in stages],
        price=[stage.price for stage in stages],
        longest=[stage.longest or (math.inf,) * (num_gpus + 1) for stage in stages],
        which=[stage.order for stage in stages],
        pull=[(stage.slowest, stage.affinity, stage.patience) for stage in stages],
        pick=[int(stage.pick) for stage in stages],
    )


@compiled(allocates=False)
def link_plan(fractions: FloatColumn, gpus: IntColumn, rows: IntColumn, following: IntColumn, first: IntColumn) -> None:
    """Fill in, for a plan that takes rows in this order: the row after each on the CPU and on its GPU, and the first
    row of every device (-1: none).
    """
    for place in range(rows.shape[0] - 1, -1, -1):
        row = rows[place]
        following[row, 0] = following[row, 1] = -1
        if fractions[row] < 1.0:
            following[row, 0] = first[0]
            first[0] = row
        if fractions[row] > 0.0:
            following[row, 1] = first[gpus[row] + 1]
            first[gpus[row] + 1] = row


def _check_plan(rule: PlanRule, count: int, num_gpus: int) -> None:
    """Refuse a plan that would lead the compiled code outside its columns."""
    if not len(rule.fractions) == len(rule.gpus) == len(rule.turns) == count:
        raise SchedulerError(f"a plan needs a share, a GPU and a turn for each of {count} tasks.")
    if count and not (rule.fractions.min() >= 0.0 and rule.fractions.max() <= 1.0):
        raise SchedulerError("a plan has a share outside [0, 1].")
    if count and not (rule.gpus.min() >= 0 and rule.gpus.max() < num_gpus):
        raise SchedulerError(f"a plan names a GPU that does not exist on a node of {num_gpus}.")


def _check_held_rule(rule: HeldRule, count: int, num_gpus: int) -> None:
    """Refuse a holding rule that would lead the compiled code outside its columns."""
    if any(len(column) != count for column in (rule.order, rule.size_s, *rule.orders)):
        raise SchedulerError(f"a holding rule needs one order and one size for each of {count} tasks.")
    if any(not 0 <= stage.order <= len(rule.orders) for stage in rule.stages):
        raise SchedulerError("a stage of a holding rule names an order that there is not.")
    for longest in (rule.longest, *(stage.longest for stage in rule.stages)):
        if longest and len(longest) != num_gpus + 1:
            raise SchedulerError(f"a holding rule needs a longest part for each of {num_gpus + 1} devices.")
    for grid in (rule.grid, *(stage.grid for stage in rule.stages)):
        _check_grid(grid)


def _check_batch_rule(rule: BatchRule, count: int, num_gpus: int) -> None:
    """Refuse a rule that would lead the compiled code outside its columns."""
    shares, gpus = rule.fractions, rule.gpus
    if rule.kind == RuleKind.PRESCRIBED:
        if shares is None or len(shares) != count or (gpus is not None and len(gpus) != count):
            raise SchedulerError(f"a prescribed rule needs one share (and GPU, if any) for each of {count} tasks.")
        if count and not (shares.min() >= 0.0 and shares.max() <= 1.0):
            raise SchedulerError("a prescribed rule has a share outside [0, 1].")
        if gpus is not None and count and not (gpus.min() >= NO_GPU and gpus.max() < num_gpus):
            raise SchedulerError(f"a prescribed rule names a GPU that does not exist on a node of {num_gpus}.")
    else:
        _check_grid(rule.grid)


def _check_grid(grid: tuple[float, ...]) -> None:
    if not grid or min(grid) != 0.0 or not max(grid) <= 1.0 or sorted(grid) != list(grid):
        raise SchedulerError("the grid of a rule must rise from 0 to at most 1.")
