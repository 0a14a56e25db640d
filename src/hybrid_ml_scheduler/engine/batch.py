"""Running a whole batch: what each rule is to the engine, and the checks before it."""

from __future__ import annotations

from typing import cast

import numpy as np

from hybrid_ml_scheduler.core.decisions import PARENT_FAILED
from hybrid_ml_scheduler.core.errors import PlanError, SchedulerError
from hybrid_ml_scheduler.core.holding import HoldingRule, PlanRule
from hybrid_ml_scheduler.core.protocols import BatchRule, RuleKind
from hybrid_ml_scheduler.core.tasks import BoolColumn, FloatColumn, TaskBatch
from hybrid_ml_scheduler.engine.columns import RunColumns
from hybrid_ml_scheduler.engine.loop import play
from hybrid_ml_scheduler.engine.rules import at_once_rule, link_plan, waiting_rule
from hybrid_ml_scheduler.engine.shares import run_shares
from hybrid_ml_scheduler.engine.start import Conditions, floats, fresh_state, output_columns
from hybrid_ml_scheduler.learning.duration_model import DurationModel
from hybrid_ml_scheduler.physics.durations import Durations, durations
from hybrid_ml_scheduler.physics.gangs import has_gangs
from hybrid_ml_scheduler.physics.node import CoExecution, Node

__all__ = ["refuse_interference", "run_batch", "run_by_estimates", "run_held_batch"]


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
    noise; with a `model` the rule decides by what that learns from tasks as they finish (kinds as in the batch).
    `seconds` and `into` save repeated work over several strategies; `free_s` (one number a device,
    CPU first) lets independent, noise-free tasks be run chunk by chunk and is updated in place.
    """
    seconds = durations(batch, node) if seconds is None else seconds
    columns = RunColumns.empty(batch, node) if into is None else into
    if free_s is not None and (batch.has_dependencies or batch.is_noisy or truth is not None or model is not None):
        raise ValueError("free_s needs independent tasks without noise")
    return _run_rule(batch, node, rule, seconds, columns, Conditions(truth=truth, model=model, free_s=free_s))


def run_by_estimates(
    batch: TaskBatch,
    node: Node,
    rule: BatchRule,
    *,
    seconds: Durations | None = None,
    truth: FloatColumn | None = None,
    model: DurationModel | None = None,
) -> RunColumns:
    """The same by a rule that sees no part end: its backlogs are estimated seconds less the time passed."""
    seconds = durations(batch, node) if seconds is None else seconds
    columns = RunColumns.empty(batch, node)
    return _run_rule(batch, node, rule, seconds, columns, Conditions(truth=truth, model=model, sees_ends=False))


def _run_rule(
    batch: TaskBatch, node: Node, rule: BatchRule, seconds: Durations, columns: RunColumns, conditions: Conditions
) -> RunColumns:
    refuse_interference(node)
    terms = at_once_rule(rule, len(batch), node.num_gpus)
    if _only_shares(batch, node, rule, seconds, conditions):
        free_s = np.zeros(node.num_gpus + 1) if conditions.free_s is None else conditions.free_s
        out, gpu_s = output_columns(columns, np.empty(0)), floats(seconds.gpu_s.reshape(-1))
        run_shares(terms.fractions, floats(batch.arrival_time), floats(seconds.cpu_s), gpu_s, free_s, out)
    else:
        play(fresh_state(batch, node, terms, seconds, columns, conditions))
    if rule.fractions is not None and not bool(batch.divisible.all()):
        columns.rounded[:] = _rounded(batch, rule, columns)
    return columns


def _only_shares(batch: TaskBatch, node: Node, rule: BatchRule, seconds: Durations, conditions: Conditions) -> bool:
    """Whether the loop without a state serves: shares of independent tasks that fit, on equal GPUs."""
    is_plain = not (batch.has_dependencies or batch.is_noisy) and conditions.truth is None and conditions.model is None
    return (
        is_plain
        and rule.kind == RuleKind.PRESCRIBED
        and rule.gpus is None
        and node.co_execution == CoExecution.PARALLEL
        and node.cpu.slots == 1
        and seconds.gpu_s.shape[1] == 1
        and bool(batch.divisible.all())
        and float(batch.memory_required.max(initial=0.0)) <= min(gpu.memory_mb for gpu in node.gpus)
    )


def refuse_interference(node: Node) -> None:
    """Refuse a node whose devices slow each other down where promises are reckoned with."""
    if node.interference:
        raise PlanError(
            "physics.interference needs the event form, which serves races and the studies made of them; leave it out "
            "here (the live race, training, the shift experiment and what-if cannot have it)."
        )


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
    terms = waiting_rule(rule, len(batch), node.num_gpus)
    state = fresh_state(batch, node, terms, seconds, columns, Conditions(truth=truth))
    if isinstance(rule, PlanRule):
        rows, first = np.argsort(rule.turns), state.waiting.next_on_device
        link_plan(terms.fractions, terms.gpus, rows, terms.following, first)
    done = play(state)
    if isinstance(rule, PlanRule) and (done != len(batch) or bool(columns.failed.any())):
        raise SchedulerError("a plan has a task before its parent, or one that does not fit where it is sent.")
    if done != len(batch):
        raise SchedulerError("tasks are held while every device is idle and nothing more arrives.")
    return columns
