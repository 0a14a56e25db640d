"""Running a whole batch through the compiled kernel."""

from __future__ import annotations

from typing import cast

import numpy as np

from hybrid_ml_scheduler.cluster.columns import RunColumns
from hybrid_ml_scheduler.cluster.general import Arrivals, Factors, run_general, same_factors
from hybrid_ml_scheduler.cluster.holding import HeldTerms, run_held
from hybrid_ml_scheduler.cluster.interference import refuse_interference
from hybrid_ml_scheduler.cluster.kernel import RuleTerms, Shared, Written, run_independent, run_shares, run_whole_shares
from hybrid_ml_scheduler.cluster.lessons import beliefs_of
from hybrid_ml_scheduler.cluster.planned import run_planned
from hybrid_ml_scheduler.cluster.pulling import run_pulled
from hybrid_ml_scheduler.core.decisions import NO_GPU, PARENT_FAILED
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.core.holding import HeldRule, HeldStage, HoldingRule, PlanRule, PullRule
from hybrid_ml_scheduler.core.protocols import BatchRule, RuleKind
from hybrid_ml_scheduler.core.tasks import BoolColumn, FloatColumn, IntColumn, TaskBatch
from hybrid_ml_scheduler.core.validation import parent_rows
from hybrid_ml_scheduler.learning.duration_model import DurationModel
from hybrid_ml_scheduler.physics.durations import Durations, batch_terms, durations, rule_codes
from hybrid_ml_scheduler.physics.gangs import has_gangs, kind_counts
from hybrid_ml_scheduler.physics.node import CoExecution, Node

__all__ = ["check_rule", "children", "output_columns", "rule_terms", "run_batch", "run_by_estimates", "run_held_batch"]

_NO_FLOATS: FloatColumn = np.empty(0)
_NO_INTS: IntColumn = np.empty(0, dtype=np.int64)


def run_batch(
    batch: TaskBatch,
    node: Node,
    rule: BatchRule,
    *,
    seconds: Durations | None = None,
    free_s: FloatColumn | None = None,
    into: RunColumns | None = None,
    truth: FloatColumn | None = None,
    model: DurationModel | None = None,
) -> RunColumns:
    """Run every task of the batch by one rule.

    `truth` says how many times its seconds each task really takes on each type of device (CPU first), beside its
    noise; with a `model` the rule believes what that learns from tasks as they finish (its kinds: those of the batch).
    `seconds` and `into` save repeated work over several strategies; `free_s` (one number a device,
    CPU first) lets independent, noise-free tasks be run chunk by chunk and is updated in place.
    """
    seconds = durations(batch, node) if seconds is None else seconds
    columns = RunColumns.empty(batch, node) if into is None else into
    return _run_rule(batch, node, rule, seconds, columns, free_s, truth, model)


def run_by_estimates(
    batch: TaskBatch,
    node: Node,
    rule: BatchRule,
    *,
    seconds: Durations | None = None,
    truth: FloatColumn | None = None,
    model: DurationModel | None = None,
) -> RunColumns:
    """The same by a rule that sees no part end: its backlogs are believed seconds less the time passed."""
    seconds = durations(batch, node) if seconds is None else seconds
    columns = RunColumns.empty(batch, node)
    return _run_rule(batch, node, rule, seconds, columns, None, truth, model, sees_ends=False)


def _run_rule(
    batch: TaskBatch,
    node: Node,
    rule: BatchRule,
    seconds: Durations,
    columns: RunColumns,
    free_s: FloatColumn | None,
    truth: FloatColumn | None,
    model: DurationModel | None,
    *,
    sees_ends: bool = True,
) -> RunColumns:
    refuse_interference(node)
    check_rule(rule, len(batch), node.num_gpus)
    if batch.has_dependencies or batch.is_noisy or truth is not None or model is not None:
        if free_s is not None:
            raise ValueError("free_s needs independent tasks without noise")
        _run_general(batch, node, rule, seconds, columns, truth, model, sees_ends=sees_ends)
    else:
        _run_plain(batch, node, rule, seconds, columns, free_s)
    if rule.fractions is not None and not bool(batch.divisible.all()):
        columns.rounded[:] = _rounded(batch, rule, columns)
    return columns


def _run_plain(
    batch: TaskBatch,
    node: Node,
    rule: BatchRule,
    seconds: Durations,
    columns: RunColumns,
    free_s: FloatColumn | None,
) -> None:
    """Run independent tasks that take what is believed, by the form of the kernel that serves."""
    free = np.zeros(node.num_gpus + node.cpu.slots) if free_s is None else free_s
    if _only_shares(batch, node, rule, seconds) and rule.fractions is not None:
        one_kind, shares, out = seconds.gpu_s.reshape(-1), _constant(rule.fractions), output_columns(columns)
        if node.cpu.slots == 1 and bool(batch.divisible.all()):
            run_shares(shares, batch.arrival_time, seconds.cpu_s, one_kind, free, out)
            return
        columns.gang[:] = NO_GPU
        always = Shared(batch.gpus_required, kind_counts(seconds.gpu_kind), columns.gang, node.cpu.slots)
        codes = rule_codes(batch, int(node.memory_rule))
        run_whole_shares(shares, batch.arrival_time, seconds.cpu_s, one_kind, codes, always, node.num_gpus, free, out)
    else:
        terms = batch_terms(batch, node, seconds)
        shared = _shared(batch, node, seconds, columns)
        run_independent(rule_terms(rule), batch.arrival_time, terms, shared, free, output_columns(columns))


def _rounded(batch: TaskBatch, rule: BatchRule, columns: RunColumns) -> BoolColumn:
    """Of which tasks a share was prescribed that they do not allow (`estimator.is_rounded`)."""
    shares = cast("FloatColumn", rule.fractions)
    if rule.by_decision and batch.has_dependencies:
        turns = np.lexsort((batch.task_id, columns.ready_s, columns.status == PARENT_FAILED))
        by_row = np.empty_like(shares)
        by_row[turns] = shares
        shares = by_row
    cut = ~batch.divisible & (shares < 1.0) & ((shares > 0.0) | batch.gpu_only)
    found: BoolColumn = cut & (columns.status != PARENT_FAILED)
    return found


def _shared(batch: TaskBatch, node: Node, seconds: Durations, columns: RunColumns) -> Shared | None:
    """What gangs and slots need; nothing where there are none."""
    if node.cpu.slots == 1 and not has_gangs(batch):
        return None
    columns.gang[:] = NO_GPU
    return Shared(batch.gpus_required, kind_counts(seconds.gpu_kind), columns.gang, node.cpu.slots)


def run_held_batch(
    batch: TaskBatch,
    node: Node,
    rule: HoldingRule,
    *,
    seconds: Durations | None = None,
    into: RunColumns | None = None,
    truth: FloatColumn | None = None,
) -> RunColumns:
    """Run every task of the batch by one holding rule; the rest is as for `run_batch`.

    Gangs, and a CPU with several slots, take the stepping form.
    """
    refuse_interference(node)
    if node.cpu.slots > 1 or has_gangs(batch):
        raise ValueError("run_held_batch takes no gangs and one slot of the CPU")
    seconds = durations(batch, node) if seconds is None else seconds
    columns = RunColumns.empty(batch, node) if into is None else into
    ready = columns.ready_s if batch.has_dependencies else np.empty(len(batch))
    arrivals = Arrivals(batch.task_id, batch.arrival_time, np.diff(batch.parent_offsets), *children(batch))
    factors, tasks, out = _factors(batch, seconds, truth), batch_terms(batch, node, seconds), output_columns(columns)
    if isinstance(rule, PlanRule):
        _check_plan(rule, len(batch), node.num_gpus)
        done = run_planned(rule.fractions, rule.gpus, np.argsort(rule.turns), arrivals, tasks, factors, ready, out)
        if done != len(batch):
            raise SchedulerError("a plan has a task before its parent, or one that does not fit where it is sent.")
    elif isinstance(rule, PullRule):
        if rule.orders.shape != (node.num_gpus + 1, len(batch)):
            raise SchedulerError(f"a pulling rule needs an order of {len(batch)} tasks for each device.")
        run_pulled(rule.orders, arrivals, tasks, factors, ready, out)
    else:
        _check_held_rule(rule, len(batch), node.num_gpus)
        noisy = batch.is_noisy or truth is not None
        run_held(_held_terms(rule, node.num_gpus, len(batch)), arrivals, tasks, factors, noisy, ready, out)
    return columns


def _held_terms(rule: HeldRule, num_gpus: int, count: int) -> HeldTerms:
    stages = (HeldStage(first=0, grid=rule.grid, price=rule.price, longest=rule.longest, pick=rule.pick), *rule.stages)
    points = max(len(stage.grid) for stage in stages)
    grids = np.array([(*stage.grid, *stage.grid[-1:] * (points - len(stage.grid))) for stage in stages])
    limits = np.array([stage.longest or (np.inf,) * (num_gpus + 1) for stage in stages])
    return HeldTerms(
        orders=np.array([rule.order, *rule.orders]),
        size_s=rule.size_s,
        first=np.array([stage.first for stage in stages], dtype=np.int64),
        grid=grids,
        price=np.array([stage.price for stage in stages]),
        longest=limits,
        which=np.array([stage.order for stage in stages], dtype=np.int64),
        pull=np.array([(stage.slowest, stage.affinity, stage.patience) for stage in stages]),
        depth=max(1, min(rule.depth, count)),
        pick=np.array([int(stage.pick) for stage in stages]),
        aging=rule.aging,
    )


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


def check_rule(rule: BatchRule, count: int, num_gpus: int) -> None:
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


def _only_shares(batch: TaskBatch, node: Node, rule: BatchRule, seconds: Durations) -> bool:
    """Whether the hot special case applies."""
    return (
        rule.kind == RuleKind.PRESCRIBED
        and rule.gpus is None
        and node.co_execution == CoExecution.PARALLEL
        and seconds.gpu_s.shape[1] == 1
        and float(batch.memory_required.max(initial=0.0)) <= min(gpu.memory_mb for gpu in node.gpus)
    )


def _run_general(
    batch: TaskBatch,
    node: Node,
    rule: BatchRule,
    seconds: Durations,
    columns: RunColumns,
    truth: FloatColumn | None,
    model: DurationModel | None,
    *,
    sees_ends: bool,
) -> None:
    ready = columns.ready_s if batch.has_dependencies else np.empty(len(batch))
    parents = np.diff(batch.parent_offsets)
    run_general(
        rule_terms(rule),
        Arrivals(batch.task_id, batch.arrival_time, parents, *children(batch)),
        batch_terms(batch, node, seconds),
        _factors(batch, seconds, truth),
        beliefs_of(batch.kind, model),
        _shared(batch, node, seconds, columns),
        batch.is_noisy or truth is not None or model is not None,
        sees_ends,
        ready,
        output_columns(columns),
    )


def _factors(batch: TaskBatch, seconds: Durations, truth: FloatColumn | None) -> Factors:
    """How far the truth is from the estimates; a task's noise is the same on every device."""
    if truth is not None:
        both = truth * batch.duration_factor[:, None]
        return Factors(_constant(np.ascontiguousarray(both[:, 0])), np.ascontiguousarray(both[:, 1:]))
    return same_factors(_constant(batch.duration_factor), seconds.gpu_s.shape[1])


def children(batch: TaskBatch) -> tuple[IntColumn, IntColumn]:
    """The children of every row, flat: offsets and rows."""
    if not batch.has_dependencies:
        return np.zeros(len(batch) + 1, dtype=np.int64), _NO_INTS
    parents = parent_rows(batch)
    child_of = np.repeat(np.arange(len(batch)), np.diff(batch.parent_offsets))
    order = np.argsort(parents, kind="stable")
    offsets = np.zeros(len(batch) + 1, dtype=np.int64)
    np.cumsum(np.bincount(parents, minlength=len(batch)), out=offsets[1:])
    return offsets, child_of[order]


def _constant(column: FloatColumn) -> FloatColumn:
    """The column, read-only: compiled code is made once, and not again for columns that might be written."""
    view = column.view()
    view.flags.writeable = False
    return view


def rule_terms(rule: BatchRule) -> RuleTerms:
    """A rule as compiled code takes it."""
    return RuleTerms(
        int(rule.kind),
        _constant(_NO_FLOATS if rule.fractions is None else rule.fractions),
        _NO_INTS if rule.gpus is None else rule.gpus,
        rule.by_decision,
        np.array(rule.grid, dtype=np.float64),
        rule.price,
    )


def output_columns(columns: RunColumns) -> Written:
    """The columns that compiled code fills in."""
    return Written._make(getattr(columns, name) for name in Written._fields)
