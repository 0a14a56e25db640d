"""What was known of a measured task before it ran: the time its user requested, and nothing of what it took.

A trace tells how long tasks took. A strategy below the level `exact` sees none of that: where nothing was requested,
every task is first believed to take a minute, and what tasks really take is learned as they finish
(`LearnedEstimator`, without a known scale). Size, where it was derived from the time, is derived from what was known.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hybrid_ml_scheduler.core.tasks import FloatColumn, TaskBatch
from hybrid_ml_scheduler.core.text import amount

__all__ = ["GUESS_S", "known_beforehand", "knows_scale", "nominal_sentence"]

DERIVED_SIZE = "derived_size"
# Long enough that the first tasks of a trace are spread over all devices rather than piled up on one.
GUESS_S = 60.0


def knows_scale(batch: TaskBatch) -> bool:
    """Whether the seconds that are known beforehand mean anything: the formula's, or requests of users."""
    return not batch.is_timed.any() or not np.isnan(batch.requested_time).all()


def known_beforehand(batch: TaskBatch) -> TaskBatch:
    """The batch as it could be seen before any of it ran; itself where nothing was measured."""
    timed = batch.is_timed
    if not timed.any():
        return batch
    requested_s = np.where(timed, _requested(batch), np.nan)
    guessed = timed & np.isnan(requested_s)
    by_type = np.isnan(batch.gpu_time) & ~np.isnan(batch.gpu_times).all(axis=1)
    on_gpu = by_type | ~np.isnan(batch.gpu_time)
    # Of several types the first named one takes a minute; data sheets say what the others then take.
    types = batch.gpu_types[:1] if bool((guessed & by_type).any()) else ()
    gpu_times = np.where(guessed & by_type, GUESS_S, np.nan)[:, None] if types else np.empty((len(batch), 0))
    seen = replace(
        batch,
        cpu_time=_read_only(np.where(guessed & ~on_gpu, GUESS_S, requested_s)),
        gpu_time=_read_only(np.where(guessed & on_gpu & ~by_type, GUESS_S, np.nan)),
        gpu_times=_read_only(gpu_times),
        gpu_types=types,
        speedup_factor=_read_only(np.ones(len(batch))),
    )
    if not any(note.startswith(DERIVED_SIZE) for note in batch.assumptions):
        return seen
    return replace(seen, size=_read_only(np.where(timed, _size_for(seen), batch.size)))


def nominal_sentence(batch: TaskBatch) -> str:
    """In words, what a strategy that is not told the truth sees in place of measured times."""
    timed = batch.is_timed
    requested, count = int((timed & ~np.isnan(batch.requested_time)).sum()), int(timed.sum())
    if requested == count:
        return "nominal_seconds: what is known of a task before it runs is the time that its user requested."
    if requested:
        return (
            f"nominal_seconds: what is known of a task before it runs is the time its user requested ({requested:,} of "
            f"{count:,} tasks), else the mean request of earlier tasks of its kind, else of all earlier tasks."
        )
    return (
        "nominal_seconds: nothing was requested, so the estimate of a task is the mean of the tasks of its kind "
        f"({amount(len(np.unique(batch.kind)), 'kind')}) that have finished on the strategy's own node, else of all "
        f"tasks that have. Before the first one finishes, the estimate is {GUESS_S:g} s for every task."
    )


def _requested(batch: TaskBatch) -> FloatColumn:
    """What was asked for every task, else the mean request of earlier tasks of its kind, else of all; NaN for none."""
    times = batch.requested_time
    known = ~np.isnan(times)
    if known.all() or not known.any():
        return times
    values, counts = np.where(known, times, 0.0), known.astype(np.float64)
    overall = _mean_before(values, counts)
    own = np.full(len(times), np.nan)
    order = np.argsort(batch.kind, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(batch.kind[order])) + 1):
        own[rows] = _mean_before(values[rows], counts[rows])
    return np.where(known, times, np.where(np.isnan(own), overall, own))


def _mean_before(values: FloatColumn, counts: FloatColumn) -> FloatColumn:
    """The mean of all entries before each one; NaN where there is none."""
    total, number = np.cumsum(values) - values, np.cumsum(counts) - counts
    return np.where(number > 0.0, total / np.maximum(number, 1.0), np.nan)


def _size_for(seen: TaskBatch) -> FloatColumn:
    """The size for which the default physics gives the seconds that were known."""
    from hybrid_ml_scheduler.workload.traces.filling import size_for_times

    gpu_s = np.fmin(seen.gpu_time, seen.gpu_times[:, 0]) if seen.gpu_types else seen.gpu_time
    return size_for_times(seen.cpu_time, gpu_s, seen.speedup_factor, seen.compute_intensity)


def _read_only(column: FloatColumn) -> FloatColumn:
    column = np.ascontiguousarray(column)
    column.flags.writeable = False
    return column
