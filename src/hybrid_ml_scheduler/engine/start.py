"""The state of a run before its first event."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.decisions import NO_GPU
from hybrid_ml_scheduler.core.holding import Pick
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn, TaskBatch
from hybrid_ml_scheduler.core.validation import parent_rows
from hybrid_ml_scheduler.engine.columns import RunColumns
from hybrid_ml_scheduler.engine.state import (
    AT_ONCE,
    CLOCK,
    COUNTS,
    ORDERED,
    PULLED,
    Beliefs,
    Devices,
    Outcomes,
    Progress,
    Queues,
    Rule,
    Scratch,
    State,
    Tasks,
    Waiting,
)
from hybrid_ml_scheduler.learning.duration_model import DurationModel
from hybrid_ml_scheduler.physics.durations import Durations, batch_terms
from hybrid_ml_scheduler.physics.gangs import has_gangs, kind_counts
from hybrid_ml_scheduler.physics.node import CoExecution, Node

__all__ = ["Conditions", "children", "floats", "fresh_state", "integers", "output_columns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What holds in a run beside its tasks and its node.

    `truth` says how many times its estimated seconds each task takes on each type of device (CPU first), beside its
    noise; with a `model` the strategy decides by what that has learned. `free_s` says when devices are free at first.
    """

    truth: FloatColumn | None = None
    model: DurationModel | None = None
    free_s: FloatColumn | None = None
    sees_ends: bool = True


def fresh_state(
    batch: TaskBatch, node: Node, rule: Rule, seconds: Durations, columns: RunColumns, conditions: Conditions
) -> State:
    """The state of a run of these tasks, before anything has happened; outcomes go to `columns`."""
    model = conditions.model
    is_noisy = batch.is_noisy or conditions.truth is not None or model is not None
    noisy, gangs = is_noisy and conditions.sees_ends, has_gangs(batch)
    devices = node.num_gpus + node.cpu.slots
    tasks = _tasks(batch, node, seconds, conditions.truth, columns.gang.shape[1] if gangs else 0)
    free_s = np.zeros(devices) if conditions.free_s is None else conditions.free_s
    return State(
        tasks=tasks,
        devices=Devices(
            gpu_kind=integers(seconds.gpu_kind),
            kind_counts=integers(kind_counts(seconds.gpu_kind)),
            gpu_memory_mb=floats(node.gpu_column("memory_mb")),
            node=integers(np.zeros(devices)),
            slots=node.cpu.slots,
            serial=node.co_execution == CoExecution.SERIAL,
        ),
        rule=rule,
        beliefs=_beliefs(model),
        queues=_queues(np.repeat(np.arange(len(batch)), np.diff(tasks.gang_offsets)), len(batch), free_s, noisy=noisy),
        waiting=_waiting(len(batch), devices, rule),
        out=output_columns(columns, _ready_s(batch, columns)),
        progress=_progress(len(batch), tasks.parents, learns=model is not None),
        scratch=_scratch(node.num_gpus, devices, seconds, model),
        noisy=noisy,
        sees_ends=conditions.sees_ends,
        learns=model is not None,
        has_gangs=gangs,
    )


def floats(values: npt.ArrayLike) -> FloatColumn:
    """The values as a read-only column in one piece, of the one kind that compiled code is made for."""
    column: FloatColumn = np.ascontiguousarray(values, dtype=np.float64).view()
    column.flags.writeable = False
    return column


def integers(values: npt.ArrayLike) -> IntColumn:
    """`floats` for whole numbers."""
    column: IntColumn = np.ascontiguousarray(values, dtype=np.int64).view()
    column.flags.writeable = False
    return column


def output_columns(columns: RunColumns, ready_s: FloatColumn) -> Outcomes:
    """The columns that compiled code fills in; `ready_s`, when each task is ready, may be written."""
    columns.gang[:] = NO_GPU
    found = {name: getattr(columns, name) for name in Outcomes._fields if name != "ready_s"}
    return Outcomes(ready_s=ready_s, **found)


def _ready_s(batch: TaskBatch, columns: RunColumns) -> FloatColumn:
    """The moments of readiness: the arrivals until parents delay them, in the column of a graph's outcomes."""
    ready_s = columns.ready_s if batch.has_dependencies else np.empty(len(batch))
    ready_s[:] = batch.arrival_time
    return ready_s


def _tasks(batch: TaskBatch, node: Node, seconds: Durations, truth: FloatColumn | None, fellows: int) -> Tasks:
    terms, count = batch_terms(batch, node, seconds), len(batch)
    child_offsets, child_rows = children(batch)
    gang_offsets = np.zeros(count + 1, dtype=np.int64)
    if fellows:
        np.cumsum(np.maximum(batch.gpus_required - 1, 0), out=gang_offsets[1:])
    factors = batch.duration_factor[:, None] if truth is None else truth * batch.duration_factor[:, None]
    kinds = seconds.gpu_s.shape[1]
    on_gpus = np.broadcast_to(factors, (count, kinds)) if truth is None else factors[:, 1:]
    return Tasks(
        identity=integers(batch.task_id),
        arrival_s=floats(batch.arrival_time),
        parents=integers(np.diff(batch.parent_offsets)),
        child_offsets=integers(child_offsets),
        child_rows=integers(child_rows),
        width=integers(batch.gpus_required if fellows else np.ones(count)),
        gang_offsets=integers(gang_offsets),
        kind=integers(batch.kind),
        cpu_s=floats(terms.cpu_s),
        gpu_s=floats(terms.gpu_s),
        paged_s=floats(terms.paged_s),
        memory_mb=floats(terms.memory_mb),
        memory_rule=integers(terms.memory_rule),
        cpu_factor=floats(factors[:, 0]),
        gpu_factor=floats(on_gpus),
    )


def children(batch: TaskBatch) -> tuple[IntColumn, IntColumn]:
    """The children of every row, flat: offsets and rows."""
    offsets = np.zeros(len(batch) + 1, dtype=np.int64)
    if not batch.has_dependencies:
        return offsets, np.empty(0, dtype=np.int64)
    parents = parent_rows(batch)
    child_of = np.repeat(np.arange(len(batch)), np.diff(batch.parent_offsets))
    np.cumsum(np.bincount(parents, minlength=len(batch)), out=offsets[1:])
    return offsets, child_of[np.argsort(parents, kind="stable")]


def _beliefs(model: DurationModel | None) -> Beliefs:
    """The model's own arrays, which the run changes."""
    if model is None:
        return Beliefs(np.empty((0, 0, 0)), np.empty((0, 0)), np.empty(0), np.empty(0))
    return Beliefs(model.cells, model.types, model.shared, model.prior)


def _queues(gang_row: IntColumn, count: int, free_s: FloatColumn, *, noisy: bool) -> Queues:
    devices, parts = len(free_s), 2 * count + len(gang_row)
    known = parts if noisy else 0
    return Queues(
        head=np.full(devices, -1),
        tail=np.full(devices, -1),
        end_s=np.where(free_s > 0.0, free_s, math.inf),
        is_running=np.zeros(devices, dtype=np.bool_),
        free_s=free_s,
        books_s=np.zeros(devices),
        following=np.empty(parts, dtype=np.int64),
        true_s=np.empty(parts),
        estimate_s=np.empty(known),
        start_s=np.empty(known),
        not_before_s=np.empty(known),
        promised_s=np.empty(known),
        gang_row=gang_row,
    )


def _waiting(count: int, devices: int, rule: Rule) -> Waiting:
    """Room for tasks that wait; none where all are decided at once."""
    waits = count if rule.form > AT_ONCE else 0
    ordered, pulled = rule.form == ORDERED, rule.form == PULLED
    depth = rule.depth + 1 if ordered else 0
    return Waiting(
        front=np.empty(depth, dtype=np.int64),
        behind=np.empty(waits if ordered else 0, dtype=np.int64),
        order=np.array(rule.orders[rule.which[0]]) if ordered else np.empty(0),
        came=np.empty(waits, dtype=np.int64),
        since_s=np.empty(waits),
        gone=np.zeros(waits, dtype=np.bool_),
        whole_s=np.empty((waits if ordered and _compares(rule) else 0, devices)),
        pull_keys=np.empty((waits if ordered and _compares(rule) else 0, devices)),
        planned=np.zeros(depth if ordered else waits, dtype=np.bool_),
        heaps=np.empty((devices if pulled else 0, waits), dtype=np.int64),
        heap_lengths=np.zeros(devices, dtype=np.int64),
        next_on_device=np.full(devices, -1),
        stack=np.empty(2 * waits + depth + 1, dtype=np.int64),
    )


def _compares(rule: Rule) -> bool:
    """Whether the rule compares whole devices at every wake, in any of its stages."""
    return bool((rule.pull[:, 0] > 0.0).any() or (rule.pick != int(Pick.IN_ORDER)).any())


def _progress(count: int, parents: IntColumn, *, learns: bool) -> Progress:
    return Progress(
        clock=np.zeros(CLOCK),
        counts=np.zeros(COUNTS, dtype=np.int64),
        ready_heap=np.empty(int(np.count_nonzero(parents)), dtype=np.int64),
        open_parents=np.array(parents),
        is_doomed=np.zeros(count, dtype=np.bool_),
        turn=np.zeros(count, dtype=np.int64),
        open_parts=np.zeros(count, dtype=np.int32),
        cpu_is_open=np.zeros(count, dtype=np.bool_),
        ratios=np.zeros((count if learns else 0, 2)),
    )


def _scratch(num_gpus: int, devices: int, seconds: Durations, model: DurationModel | None) -> Scratch:
    types = 1 if model is None else len(model.types)
    return Scratch(
        backlog=np.empty(devices),
        idle=np.zeros(devices, dtype=np.bool_),
        longest_s=np.empty(devices),
        alone=np.empty(num_gpus),
        leads=np.empty(num_gpus),
        room_mb=np.empty(num_gpus),
        told=np.ones(types),
        believed_gpu=np.empty(seconds.gpu_s.shape[1]),
        believed_paged=np.empty(seconds.paged_s.shape[1]),
    )
