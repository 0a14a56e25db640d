"""What was known of a measured task before it ran: its request, else the mean of earlier tasks like it.

A trace tells how long tasks took. A strategy that is not told the truth must see less: the times that a user could
have named at submission. Size, where it was derived from the time, is derived anew from what was known.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn, TaskBatch
from hybrid_ml_scheduler.core.text import amount

__all__ = ["known_beforehand", "nominal_sentence"]

DERIVED_SIZE = "derived_size"


def known_beforehand(batch: TaskBatch) -> TaskBatch:
    """The batch as it could be seen before any of it ran; itself where nothing was measured."""
    measured = ~(np.isnan(batch.cpu_time) & np.isnan(batch.gpu_time))
    if not measured.any():
        return batch
    requested = batch.requested_time
    cpu_s = np.where(np.isnan(requested), _earlier_mean(batch.cpu_time, batch.kind), requested)
    gpu_s = np.where(np.isnan(requested), _earlier_mean(batch.gpu_time, batch.kind), np.nan)
    seen = replace(
        batch,
        cpu_time=_read_only(np.where(measured, cpu_s, np.nan)),
        gpu_time=_read_only(np.where(measured, gpu_s, np.nan)),
        gpu_times=_read_only(_earlier_columns(batch)),
        speedup_factor=_read_only(np.ones(len(batch))),
    )
    if not any(note.startswith(DERIVED_SIZE) for note in batch.assumptions):
        return seen
    return replace(seen, size=_read_only(_size_for(seen)))


def nominal_sentence(batch: TaskBatch) -> str:
    """In words, what a strategy that is not told the truth sees in place of measured times."""
    requested = int((~np.isnan(batch.requested_time)).sum())
    if requested == len(batch):
        return "nominal_seconds: what is known of a task before it runs is the time that its user requested."
    kinds = len(np.unique(batch.kind))
    mean = f"the mean of earlier tasks of its kind ({amount(kinds, 'kind')}), else of all earlier tasks"
    first = "the first task of all has only its own time"
    if requested:
        return (
            f"nominal_seconds: what is known of a task before it runs is the time its user requested ({requested:,} of "
            f"{len(batch):,} tasks), else {mean}; {first}."
        )
    return f"nominal_seconds: what is known of a task before it runs is {mean}; {first}."


def _earlier_mean(times: FloatColumn, kind: IntColumn) -> FloatColumn:
    """For every task the mean time of earlier tasks of its kind, else of all earlier ones, else its own."""
    known = ~np.isnan(times)
    values, counts = np.where(known, times, 0.0), known.astype(np.float64)
    overall = _mean_before(values, counts)
    own = np.full(len(times), np.nan)
    order = np.argsort(kind, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(kind[order])) + 1):
        own[rows] = _mean_before(values[rows], counts[rows])
    found = np.where(np.isnan(own), overall, own)
    found = np.where(np.isnan(found), times, found)
    return np.where(known, found, np.nan)


def _mean_before(values: FloatColumn, counts: FloatColumn) -> FloatColumn:
    """The mean of all entries before each one; NaN where there is none."""
    total, number = np.cumsum(values) - values, np.cumsum(counts) - counts
    return np.where(number > 0.0, total / np.maximum(number, 1.0), np.nan)


def _earlier_columns(batch: TaskBatch) -> FloatColumn:
    columns = [_earlier_mean(column, batch.kind) for column in batch.gpu_times.T]
    return np.column_stack(columns) if columns else np.empty((len(batch), 0))


def _size_for(seen: TaskBatch) -> FloatColumn:
    """The size for which the default physics gives the seconds that were known."""
    from hybrid_ml_scheduler.workload.traces.filling import size_for_times

    return size_for_times(seen.cpu_time, seen.gpu_time, seen.speedup_factor, seen.compute_intensity)


def _read_only(column: FloatColumn) -> FloatColumn:
    column = np.ascontiguousarray(column)
    column.flags.writeable = False
    return column
