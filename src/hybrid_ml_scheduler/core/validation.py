"""What makes a batch of tasks usable, checked once at the door; and the most that anybody may ask for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn, TaskBatch

__all__ = [
    "LEAST_AMOUNT",
    "MOST_AMOUNT",
    "MOST_GPUS",
    "MOST_OPEN",
    "MOST_SEED",
    "MOST_SEEDS",
    "MOST_SLOTS",
    "parent_rows",
    "validate_batch",
]

# Sizes, megabytes and seconds: far beyond any machine, and so that no formula overflows or ends at zero.
LEAST_AMOUNT, MOST_AMOUNT = 1e-12, 1e12
MOST_GPUS = 1024
MOST_SLOTS = 1024
# What a database's whole numbers can hold.
MOST_SEED = 2**63 - 1
MOST_SEEDS = 1_000_000
# How many tasks may come after the oldest one that a strategy holds in a live race, unless a plan says otherwise.
MOST_OPEN = 4096


Mask = npt.NDArray[np.bool_]
_LONGEST_KIND = 200


def _at_least_zero(column: FloatColumn) -> Mask:
    return (column >= 0) & (column <= MOST_AMOUNT)


def _above_zero(column: FloatColumn) -> Mask:
    return (column >= LEAST_AMOUNT) & (column <= MOST_AMOUNT)


def _share(column: FloatColumn) -> Mask:
    return (column >= 0) & (column <= 1)


def _above_zero_or_unknown(column: FloatColumn) -> Mask:
    return np.isnan(column) | _above_zero(column)


_POSITIVE = f"within [{LEAST_AMOUNT:g}, {MOST_AMOUNT:g}]"
_NOT_NEGATIVE = f"within [0, {MOST_AMOUNT:g}]"
_RULES: tuple[tuple[str, str, Callable[[FloatColumn], Mask]], ...] = (
    ("size", _POSITIVE, _above_zero),
    ("compute_intensity", "within [0, 1]", _share),
    ("memory_required", _NOT_NEGATIVE, _at_least_zero),
    ("arrival_time", _NOT_NEGATIVE, _at_least_zero),
    ("cpu_time", _POSITIVE, _above_zero_or_unknown),
    ("gpu_time", _POSITIVE, _above_zero_or_unknown),
    ("duration_factor", _POSITIVE, _above_zero),
    ("speedup_factor", _POSITIVE, _above_zero),
    ("requested_time", _POSITIVE, _above_zero_or_unknown),
    ("deadline", _POSITIVE, _above_zero_or_unknown),
    ("gpus_required", "at least 0", lambda column: column >= 0),
)


def validate_batch(batch: TaskBatch, source: str = "workload") -> TaskBatch:
    """Return the batch itself, or refuse it with one sentence naming the task at fault."""
    if len(batch) == 0:
        raise WorkloadError(f"{source}: there is no task in it.")
    for name, demand, holds in _RULES:
        column = getattr(batch, name)
        wrong = np.flatnonzero(~holds(column))
        if len(wrong):
            row = int(wrong[0])
            raise WorkloadError(
                f"{source}: task {batch.task_id[row]} has {name} = {column[row]:g}, which is not {demand}."
            )
    _check_kinds(batch, source)
    _check_types(batch, source)
    _check_gangs(batch, source)
    _check_order(batch, source)
    if batch.has_dependencies:
        _check_acyclic(batch, parent_rows(batch, source), source)
    return batch


def _check_kinds(batch: TaskBatch, source: str) -> None:
    """A kind is a short line of text, so that it stands in any table and file."""
    for name in batch.kind_names:
        if not name.isprintable() or len(name) > _LONGEST_KIND:
            raise WorkloadError(
                f"{source}: the kind {name[:40]!r} is not one line of at most {_LONGEST_KIND} printable characters."
            )
    if batch.kind.min() < 0 or batch.kind.max() >= len(batch.kind_names):
        raise WorkloadError(f"{source}: a task has a kind whose name is not given.")


def _check_types(batch: TaskBatch, source: str) -> None:
    for place, name in enumerate(batch.gpu_types):
        column = batch.gpu_times[:, place]
        wrong = np.flatnonzero(~_above_zero_or_unknown(column))
        if len(wrong):
            row = int(wrong[0])
            raise WorkloadError(
                f"{source}: task {batch.task_id[row]} has gpu_time.{name} = {column[row]:g}, which is not {_POSITIVE}."
            )


def _check_gangs(batch: TaskBatch, source: str) -> None:
    """A task that holds several GPUs at once cannot be cut, nor one that uses none, or only GPUs."""
    wrong = np.flatnonzero(batch.divisible & (batch.gpus_required != 1))
    if len(wrong):
        row = int(wrong[0])
        needs = "no GPU" if batch.gpus_required[row] == 0 else f"{batch.gpus_required[row]} GPUs at once"
        raise WorkloadError(
            f"{source}: task {batch.task_id[row]} needs {needs} and is called divisible; only a task with "
            "gpus_required = 1 can be."
        )
    wrong = np.flatnonzero(batch.gpu_only & (batch.divisible | (batch.gpus_required == 0)))
    if len(wrong):
        row = int(wrong[0])
        other = "is called divisible" if batch.divisible[row] else "has gpus_required = 0"
        raise WorkloadError(
            f"{source}: task {batch.task_id[row]} runs on GPUs only (runs_on = gpu) and {other}, which contradict."
        )


def _check_order(batch: TaskBatch, source: str) -> None:
    ids, counts = np.unique(batch.task_id, return_counts=True)
    if len(ids) < len(batch):
        raise WorkloadError(f"{source}: task id {ids[counts > 1][0]} occurs more than once.")
    time, identity = batch.arrival_time, batch.task_id
    backwards = (time[1:] < time[:-1]) | ((time[1:] == time[:-1]) & (identity[1:] < identity[:-1]))
    if np.any(backwards):
        row = int(np.flatnonzero(backwards)[0]) + 1
        raise WorkloadError(f"{source}: task {identity[row]} is out of order (sort by arrival_time, then task_id).")


def parent_rows(batch: TaskBatch, source: str = "workload") -> IntColumn:
    """Return, for the flat column of parents, the row of each one; refuse parents that do not exist."""
    order = np.argsort(batch.task_id, kind="stable")
    positions = np.searchsorted(batch.task_id, batch.parent_ids, sorter=order)
    rows = order[np.minimum(positions, len(batch) - 1)]
    unknown = np.flatnonzero(batch.task_id[rows] != batch.parent_ids)
    if len(unknown):
        place = int(unknown[0])
        child = int(np.searchsorted(batch.parent_offsets, place, side="right")) - 1
        raise WorkloadError(
            f"{source}: task {batch.task_id[child]} depends on task {batch.parent_ids[place]}, which does not exist."
        )
    return rows.astype(np.int64)


def _check_acyclic(batch: TaskBatch, rows: IntColumn, source: str) -> None:
    """Peel off tasks whose parents are gone (Kahn); whatever remains holds a cycle."""
    count = len(batch)
    child_of = np.repeat(np.arange(count), np.diff(batch.parent_offsets))
    own = np.flatnonzero(rows == child_of)
    if len(own):
        raise WorkloadError(f"{source}: task {batch.task_id[child_of[own[0]]]} depends on itself.")
    waiting = np.diff(batch.parent_offsets).copy()
    children: dict[int, list[int]] = {}
    for parent, child in zip(rows.tolist(), child_of.tolist(), strict=True):
        children.setdefault(parent, []).append(child)
    free = np.flatnonzero(waiting == 0).tolist()
    done = 0
    while free:
        done += 1
        for child in children.get(free.pop(), ()):
            waiting[child] -= 1
            if waiting[child] == 0:
                free.append(child)
    if done < count:
        raise WorkloadError(f"{source}: tasks {_cycle(batch, rows, waiting)} depend on each other in a cycle.")


def _cycle(batch: TaskBatch, rows: IntColumn, waiting: IntColumn) -> str:
    """Walk from a stuck task to stuck parents until one repeats: that is a cycle."""
    row = int(np.flatnonzero(waiting > 0)[0])
    seen: list[int] = []
    while row not in seen:
        seen.append(row)
        begin, end = batch.parent_offsets[row], batch.parent_offsets[row + 1]
        row = next(int(parent) for parent in rows[begin:end] if waiting[parent] > 0)
    members = seen[seen.index(row) :]
    shown = ", ".join(str(batch.task_id[member]) for member in members[:8])
    return shown + (", ..." if len(members) > 8 else "")
