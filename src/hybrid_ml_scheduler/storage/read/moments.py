"""What became of a range of a run's tasks with each strategy: whole stretches from their sums, the rest from rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.core import FloatColumn
from hybrid_ml_scheduler.core.decisions import named_gpus
from hybrid_ml_scheduler.physics.optimum import bounded_slowdown
from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import (
    ANY_DEVICE,
    runs,
    scheduler_results,
    stretches,
    tails,
    tasks,
    training_data,
)
from hybrid_ml_scheduler.storage.write.summaries import STRETCH_TASKS, SUMMED
from hybrid_ml_scheduler.storage.write.tails import Spread

__all__ = ["RangeTotals", "range_totals"]

_MOST_RANKED = 5000  # percentiles of more tasks than these are made from the ranges of whole stretches


@dataclass(slots=True, kw_only=True)
class RangeTotals:
    """What one strategy did with the tasks of a range; sums are over those that finished."""

    finished: int = 0
    failed: int = 0
    out_of_memory: int = 0
    placed: dict[str, int] = field(default_factory=dict)
    busy_s: dict[str, float] = field(default_factory=dict)
    sums: dict[str, float] = field(default_factory=lambda: dict.fromkeys(SUMMED, 0.0))
    last_finish_s: float = 0.0
    p95_latency_s: float | None = None
    p99_9_latency_s: float | None = None
    longest_latency_s: float | None = None
    mean_slowdown: float | None = None
    longest_slowdown: float | None = None
    within_deadline: float | None = None

    def add(self, device: str, facts: Sequence[Any]) -> None:
        """Add the sums of some tasks on one device, on the CPU and one GPU, or on the GPUs of a gang."""
        results, failed, out_of_memory, last_finish, longest, *sums = facts
        finished = int(results) - int(failed or 0)
        self.finished += finished
        self.failed += int(failed or 0)
        self.out_of_memory += int(out_of_memory or 0)
        gpus = named_gpus(device)
        kind = "cpu" if not gpus else "split" if device.startswith("cpu+") else "gpu"
        self.placed[kind] = self.placed.get(kind, 0) + finished
        self.last_finish_s = max(self.last_finish_s, last_finish or 0.0)
        if longest is not None:
            self.longest_latency_s = max(self.longest_latency_s or 0.0, longest)
        for name, value in zip(SUMMED, sums, strict=True):
            self.sums[name] += value or 0.0
        for name, value in (("cpu", sums[-2]), *((f"gpu_{gpu}", sums[-1]) for gpu in gpus)):
            if value:
                self.busy_s[name] = self.busy_s.get(name, 0.0) + value

    def rank(self, latency_s: FloatColumn, fastest_s: FloatColumn, deadline_s: FloatColumn) -> None:
        """Add what takes every single task: its latency (NaN if it failed), fastest execution and deadline.

        The fastest execution of a real task is not known (NaN).
        """
        done, due = ~np.isnan(latency_s), ~np.isnan(deadline_s)
        if due.any():
            self.within_deadline = float((latency_s[due] <= deadline_s[due]).mean())
        if done.any():
            self.p95_latency_s, self.p99_9_latency_s = np.percentile(latency_s[done], (95.0, 99.9)).tolist()
        told = done & ~np.isnan(fastest_s)
        if told.any():
            slowdown = bounded_slowdown(latency_s[told], fastest_s[told])
            self.mean_slowdown, self.longest_slowdown = float(slowdown.mean()), float(slowdown.max())

    def tell(self, spread: Spread) -> None:
        """Add what a spread says; one that does not know every finished result says nothing."""
        if spread.finished != self.finished:
            return
        self.within_deadline = spread.within_deadline
        self.p95_latency_s, self.p99_9_latency_s = spread.percentile(95.0), spread.percentile(99.9)
        self.mean_slowdown, self.longest_slowdown = spread.slowdowns


async def range_totals(
    store: Store, run_id: int, first: int, last: int, *, is_ranked: bool = True
) -> tuple[dict[str, RangeTotals], float]:
    """Return what became of the tasks `first` to `last` of a run, by strategy, and the sum of their fastest times.

    Percentiles of a long range are half a per cent away at most; `is_ranked` says whether they are asked for.
    """
    found: dict[str, RangeTotals] = {}
    async with store.reading() as connection:
        origin = (await connection.execute(sa.select(runs.c.first_task).where(runs.c.run_id == run_id))).scalar_one()
        begin, end = _whole(origin, first, last)
        queries: list[sa.Select[Any]] = []
        whole = ((begin - origin) // STRETCH_TASKS, (end - origin) // STRETCH_TASKS) if begin < end else (0, 0)
        if begin < end:
            queries = [_from_stretches(run_id, *whole)]
        edges = [(first, begin - 1), (end, last)] if begin < end else [(first, last)]
        queries += [_from_rows(*edge) for edge in edges if edge[0] <= edge[1]]
        for query in queries:
            for name, device, *facts in await connection.execute(query):
                found.setdefault(name, RangeTotals()).add(device, facts)
        if is_ranked and last - first < _MOST_RANKED:
            for name, columns in (await _single(connection, first, last)).items():
                found[name].rank(*columns)
        elif is_ranked:
            for name, spread in (await _spreads(connection, run_id, whole, edges)).items():
                found[name].tell(spread)
        labels = sa.select(sa.func.sum(training_data.c.optimal_time)).where(
            training_data.c.task_id.between(first, last)
        )
        fastest_s = (await connection.execute(labels)).scalar_one()
    return found, float(fastest_s or 0.0)


def _whole(origin: int | None, first: int, last: int) -> tuple[int, int]:
    """Return where the whole stretches within a range begin and end."""
    if origin is None:
        return first, first
    begin = origin + -(-(first - origin) // STRETCH_TASKS) * STRETCH_TASKS
    return begin, origin + (last + 1 - origin) // STRETCH_TASKS * STRETCH_TASKS


def _from_stretches(run_id: int, first: int, end: int) -> sa.Select[Any]:
    line = stretches.c
    return (
        sa.select(
            line.scheduler_name,
            line.device,
            sa.func.sum(line.results),
            sa.func.sum(line.failed),
            sa.func.sum(line.out_of_memory),
            sa.func.max(line.last_finish),
            sa.func.max(line.high_latency),
            *(sa.func.sum(line[f"sum_{name}"]) for name in SUMMED),
        )
        .where(line.run_id == run_id, line.stretch.between(first, end - 1), line.device != ANY_DEVICE)
        .group_by(line.scheduler_name, line.device)
    )


def _from_rows(first: int, last: int) -> sa.Select[Any]:
    row = scheduler_results.c
    unfinished = sa.case((row.latency.is_(None), 1), else_=0)
    return (
        sa.select(
            row.scheduler_name,
            row.device,
            sa.func.count(),
            sa.func.sum(unfinished),
            sa.func.sum(sa.case((row.out_of_memory, 1), else_=0)),
            sa.func.max(row.finish_time),
            sa.func.max(row.latency),
            *(sa.func.sum(row[name]).filter(row.latency.is_not(None)) for name in SUMMED),
        )
        .where(row.task_id.between(first, last))
        .group_by(row.scheduler_name, row.device)
    )


async def _single(connection: AsyncConnection, first: int, last: int) -> dict[str, FloatColumn]:
    """Return latency, fastest execution and deadline of every result, by strategy; what there is not is NaN."""
    row = scheduler_results.c
    query = (
        sa.select(row.scheduler_name, row.latency, training_data.c.optimal_time, tasks.c.deadline)
        # The range is said of every table: PostgreSQL would read the whole of the others otherwise.
        .outerjoin(
            training_data,
            sa.and_(training_data.c.task_id == row.task_id, training_data.c.task_id.between(first, last)),
        )
        .join(tasks, tasks.c.task_id == row.task_id)
        .where(row.task_id.between(first, last), tasks.c.task_id.between(first, last))
    )
    facts: dict[str, list[Sequence[float | None]]] = {}
    rows: Iterable[Any] = await connection.execute(query)
    for name, *values in rows:
        facts.setdefault(name, []).append(values)
    return {name: np.array(values, dtype=np.float64).T for name, values in facts.items()}


async def _spreads(
    connection: AsyncConnection, run_id: int, whole: tuple[int, int], edges: Sequence[tuple[int, int]]
) -> dict[str, Spread]:
    """Return how the results of a long range are spread: whole stretches by what is kept of them, the rest by rows."""
    found: dict[str, Spread] = {}
    for name, ranges, told, due, in_time, slowdown, worst in await connection.execute(
        _kept_spread(connection.dialect.name, run_id, *whole)
    ):
        counts = (int(told), int(due), int(in_time))
        found.setdefault(name, Spread()).add_stretches(ranges, counts, slowdown, worst)
    for first, last in edges:
        if first <= last:
            for name, columns in (await _single(connection, first, last)).items():
                found.setdefault(name, Spread()).add_rows(*columns)
    return found


def _kept_spread(dialect: str, run_id: int, first: int, end: int) -> sa.Select[Any]:
    """Ask for what is kept of stretches, put together by the database: a line a strategy instead of thousands."""
    line = tails.c
    joined: sa.ColumnElement[Any] = sa.func.string_agg(line.ranges, sa.cast(b"", sa.LargeBinary))
    if dialect == "sqlite":
        joined = sa.cast(sa.func.group_concat(line.ranges, ""), sa.LargeBinary)
    return (
        sa.select(
            line.scheduler_name,
            sa.type_coerce(joined, sa.LargeBinary),
            *(sa.func.sum(line[name]) for name in ("told", "due", "in_time", "sum_slowdown")),
            sa.func.max(line.high_slowdown),
        )
        .where(line.run_id == run_id, line.stretch.between(first, end - 1))
        .group_by(line.scheduler_name)
    )
