"""Statistics over the newest tasks: two bounded queries, the rest in columns."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa

from hybrid_ml_scheduler.core import FloatColumn
from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import scheduler_results, tasks, training_data
from hybrid_ml_scheduler.storage.errors import StorageError
from hybrid_ml_scheduler.storage.read.heat import INTENSITY_BOUNDS, SIZE_STEPS, heat_cells, size_bounds
from hybrid_ml_scheduler.storage.records import METRICS, Metric, Percentiles, Statistics

__all__ = ["statistics"]

# Thousands of rows at once would keep the event loop from everybody else for a twentieth of a second.
_TASKS_PER_READ = 100
_LARGEST_WINDOW = 10_000
_HISTOGRAM_STEPS = 20
_MARKS = (50.0, 95.0, 99.0, 99.9, 100.0)  # the percentiles that are told
_FEATURES = ("size", "compute_intensity", "memory_required")
_OUTCOMES = ("gpu_fraction", *METRICS)
_CORRELATED = (*_FEATURES, *_OUTCOMES)

Matrix = list[list[float | None]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Window:
    """The newest tasks as columns, and one row of values a strategy (NaN where there is no result, or it failed)."""

    task_id: np.ndarray
    waits: np.ndarray
    features: Mapping[str, FloatColumn]
    optimal: FloatColumn
    schedulers: Sequence[str]
    outcomes: Mapping[str, np.ndarray]


async def statistics(
    store: Store,
    *,
    window: int = 1000,
    scheduler: str = "hybrid_ml",
    run_id: int | None = None,
    first_task: int | None = None,
    last_task: int | None = None,
) -> Statistics:
    """Return the statistics over the newest `window` tasks of a run, or of all; correlations are of one strategy.

    With `first_task`, older tasks than that one are left out; with `last_task`, newer ones.
    """
    if not 0 < window <= _LARGEST_WINDOW:
        raise StorageError(f"Statistics look at 1 to {_LARGEST_WINDOW} tasks.")
    rows = await _read(store, window, run_id, (first_task, last_task))
    return await asyncio.to_thread(_summary, *rows, scheduler)  # the event loop has better things to do


def _summary(found_tasks: Sequence[Any], results: Sequence[Any], scheduler: str) -> Statistics:
    found = _columns(found_tasks, results)
    complete = _complete(found, scheduler)
    sizes = found.features["size"]
    histogram = size_bounds(sizes, _HISTOGRAM_STEPS)
    return Statistics(
        tasks=len(found.task_id),
        first_task=int(found.task_id[0]) if len(found.task_id) else None,
        last_task=int(found.task_id[-1]) if len(found.task_id) else None,
        schedulers=found.schedulers,
        win_loss={metric: _win_loss(found, metric) for metric in METRICS},
        compared={metric: _compared(found, metric) for metric in METRICS},
        correlation_scheduler=scheduler,
        correlated=complete.shape[1],
        correlation_names=_CORRELATED,
        correlations=_correlations(complete),
        size_bounds=size_bounds(sizes, SIZE_STEPS),
        intensity_bounds=INTENSITY_BOUNDS,
        heat_map=heat_cells(sizes, found.features["compute_intensity"], found.optimal),
        histogram_bounds=histogram,
        histogram_counts=np.histogram(sizes, histogram)[0].tolist() if histogram else [],
        spreads=[_spread(found, place, metric) for place in range(len(found.schedulers)) for metric in METRICS],
    )


async def _read(
    store: Store, window: int, run_id: int | None, ends: tuple[int | None, int | None]
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the newest tasks, oldest first, and their results."""
    joined = tasks.outerjoin(training_data, training_data.c.task_id == tasks.c.task_id)
    columns = (tasks.c.task_id, *(tasks.c[name] for name in _FEATURES), training_data.c.optimal_gpu_fraction)
    newest = sa.select(*columns).select_from(joined).order_by(tasks.c.task_id.desc()).limit(window)
    if run_id is not None:
        newest = newest.where(tasks.c.run_id == run_id)
    first_task, last_task = ends
    if first_task is not None:
        newest = newest.where(tasks.c.task_id >= first_task)
    if last_task is not None:
        newest = newest.where(tasks.c.task_id <= last_task)
    results = scheduler_results.c
    async with store.reading() as connection:
        found = (await connection.execute(newest)).all()[::-1]
        if not found:
            return [], []
        wanted = sa.select(results.task_id, results.scheduler_name, *(results[name] for name in _OUTCOMES))
        rows: list[Any] = []
        for begin in range(0, len(found), _TASKS_PER_READ):
            some = found[begin : begin + _TASKS_PER_READ]
            rows += (await connection.execute(wanted.where(results.task_id.between(some[0][0], some[-1][0])))).all()
        return found, rows


def _columns(found: Sequence[Any], rows: Sequence[Any]) -> _Window:
    # Plain tuples: numpy would ask every row of SQLAlchemy for attributes that it does not have.
    table = np.array([tuple(row) for row in found], dtype=np.float64).reshape(len(found), 2 + len(_FEATURES))
    task_id = table[:, 0].astype(np.int64)
    schedulers = sorted({str(row[1]) for row in rows})
    place_of = {name: place for place, name in enumerate(schedulers)}
    shape = (len(schedulers), len(task_id))
    outcomes, waits = {name: np.full(shape, np.nan) for name in _OUTCOMES}, np.ones(shape, dtype=bool)
    if rows:
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
        where = [place_of[str(name)] for name in columns[1]], np.searchsorted(task_id, columns[0])
        waits[where] = False
        for name, values in zip(_OUTCOMES, columns[2:], strict=True):
            outcomes[name][where] = np.array(values, dtype=np.float64)
    return _Window(
        task_id=task_id,
        waits=waits,
        features={name: table[:, 1 + place] for place, name in enumerate(_FEATURES)},
        optimal=table[:, -1],
        schedulers=schedulers,
        outcomes=outcomes,
    )


def _win_loss(found: _Window, metric: Metric) -> Matrix:
    """Return the share of common tasks where the row is lower than the column; equal values count for nobody.

    A strategy that lets some of the tasks wait has no share: it would win by those that it left out.
    """
    values = found.outcomes[metric]
    finishes = [not waits.any() for waits in found.waits]
    known = np.isfinite(values)
    common = (known[:, None, :] & known[None, :, :]).sum(axis=2)
    wins = (values[:, None, :] < values[None, :, :]).sum(axis=2)  # no number is lower than not-a-number
    names = range(len(values))

    def share(i: int, j: int) -> float | None:
        return _share(wins[i, j], common[i, j]) if i != j and finishes[i] and finishes[j] else None

    return [[share(i, j) for j in names] for i in names]


def _share(wins: np.int64, common: np.int64) -> float | None:
    return float(wins / common) if common else None


def _compared(found: _Window, metric: Metric) -> int:
    """Return how many tasks two strategies at least have a value of: no other task is in the matrix."""
    values = found.outcomes[metric][~found.waits.any(axis=1)]
    return int((np.isfinite(values).sum(axis=0) > 1).sum())


def _complete(found: _Window, scheduler: str) -> np.ndarray:
    """Return features and one strategy's outcomes, row by row, of the tasks that have them all."""
    if scheduler not in found.schedulers:
        return np.empty((len(_CORRELATED), 0))
    place = found.schedulers.index(scheduler)
    columns = np.array([*found.features.values(), *(found.outcomes[name][place] for name in _OUTCOMES)])
    # What is never known, as the joules of a real task, does not vary and keeps nothing else from being compared.
    columns[~np.isfinite(columns).any(axis=1)] = 0.0
    return columns[:, np.isfinite(columns).all(axis=0)]


def _correlations(complete: np.ndarray) -> Matrix:
    return _pearson(complete) if complete.shape[1] > 1 else [[None] * len(complete) for _ in complete]


def _pearson(columns: np.ndarray) -> Matrix:
    """Return the correlation of every pair of rows, or nothing where one is constant (to rounding)."""
    centred = columns - columns.mean(axis=1, keepdims=True)
    lengths = np.sqrt((centred * centred).sum(axis=1))
    varies = lengths > 1e-12 * columns.shape[1] * np.abs(columns).max(axis=1)
    unit = centred / np.where(varies, lengths, 1.0)[:, None]
    matrix = np.clip(unit @ unit.T, -1.0, 1.0)
    names = range(len(columns))
    return [[float(matrix[i, j]) if varies[i] and varies[j] else None for j in names] for i in names]


def _spread(found: _Window, place: int, metric: Metric) -> Percentiles:
    values = found.outcomes[metric][place]
    values, waiting = values[np.isfinite(values)], int(found.waits[place].sum())
    known = len(values) > 0 and not waiting
    marks = np.percentile(values, _MARKS).tolist() if known else [None] * len(_MARKS)
    return Percentiles(
        scheduler=found.schedulers[place],
        metric=metric,
        tasks=len(values),
        waiting=waiting,
        mean=float(values.mean()) if known else None,
        p50=marks[0],
        p95=marks[1],
        p99=marks[2],
        p99_9=marks[3],
        longest=marks[4],
    )
