"""The long-term trend: averages over ranges of tasks, from the rows while they are few, from the rollups afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.plans.metrics import TASK_METRICS
from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import rollups, runs, scheduler_results, tasks
from hybrid_ml_scheduler.storage.read.history import end_tasks
from hybrid_ml_scheduler.storage.records import METRICS, TrendPoint, TrendPoints
from hybrid_ml_scheduler.storage.write.rollup import BUCKET_TASKS

__all__ = ["trend"]

_MOST_TASKS_FROM_ROWS = 5000
_SHOWN = ("time", "latency", "energy", "cost")


async def trend(
    store: Store,
    *,
    points: int = 100,
    run_id: int | None = None,
    latest: int | None = None,
    last_task: int | None = None,
) -> TrendPoints:
    """Return at most about `points` averages over the whole stored history, or over one run, or its `latest` tasks.

    With `last_task`, newer tasks are left out.
    """
    points = max(1, points)
    async with store.reading() as connection:
        first, last = await _ends(connection, run_id)
        last = last if last_task is None else min(last, last_task)
        if first is not None and last < first:
            first = None
        if first is not None and latest is not None:
            first = max(first, last + 1 - latest)
        if first is None:
            return TrendPoints(tasks_per_point=1, points=())
        count = last - first + 1
        if count <= _MOST_TASKS_FROM_ROWS and await _all_rows_kept(connection, first):
            width, origin = -(-count // points), first
            query = _from_rows(origin, width, run_id).where(scheduler_results.c.task_id <= last)
        else:
            width = -(-count // (points * BUCKET_TASKS)) * BUCKET_TASKS
            origin = first // BUCKET_TASKS * BUCKET_TASKS
            query = _from_rollups(origin, width, run_id)
            if last_task is not None:  # a range that ends later holds newer tasks, too
                query = query.where((rollups.c.bucket + 1) * BUCKET_TASKS - 1 <= last)
        records = (await connection.execute(query)).mappings().all()
    return TrendPoints(
        tasks_per_point=width, points=list(_points(records, origin, (first, last), width, is_mixed=run_id is None))
    )


async def _ends(connection: AsyncConnection, run_id: int | None) -> tuple[int | None, int]:
    """Return the range of tasks that the rollups cover: the rows may reach less far back, never further."""
    rolled = sa.select(sa.func.min(rollups.c.bucket), sa.func.min(rollups.c.run_id))
    if run_id is not None:
        rolled = rolled.where(rollups.c.run_id == run_id)
    bucket, oldest_run = (await connection.execute(rolled)).one()
    first, last = (await connection.execute(end_tasks(run_id))).one()
    if bucket is None or first is None or last is None:
        return None, 0
    if first // BUCKET_TASKS == bucket:
        return first, last
    controls = (await connection.execute(sa.select(runs.c.controls).where(runs.c.run_id == oldest_run))).scalar_one()
    return max(bucket * BUCKET_TASKS, int(controls.get("first_task_id", 0))), last


async def _all_rows_kept(connection: AsyncConnection, first: int) -> bool:
    query = sa.select(tasks.c.task_id).where(tasks.c.task_id == first)
    return (await connection.execute(query)).first() is not None


def _from_rows(origin: int, width: int, run_id: int | None) -> sa.Select[Any]:
    results = scheduler_results.c
    offset = results.task_id - origin
    step = (offset - offset % width).label("step")
    joined = scheduler_results.join(tasks, tasks.c.task_id == results.task_id)
    query = sa.select(
        step,
        results.scheduler_name,
        sa.func.count().label("results"),
        sa.func.count(results.latency).label("finished"),
        sa.func.max(tasks.c.arrival_time).label("last_arrival"),
        *(sa.func.sum(results[name]).filter(results.latency.is_not(None)).label(name) for name in METRICS),
    )
    query = query.select_from(joined).where(results.task_id >= origin)
    if run_id is not None:
        query = query.where(tasks.c.run_id == run_id)
    return query.group_by(step, results.scheduler_name).order_by(step, results.scheduler_name)


def _from_rollups(origin: int, width: int, run_id: int | None) -> sa.Select[Any]:
    offset = rollups.c.bucket * BUCKET_TASKS - origin
    step = (offset - offset % width).label("step")
    names = ("results", "finished", *METRICS)
    query = sa.select(
        step,
        rollups.c.scheduler_name,
        sa.func.max(rollups.c.last_arrival).label("last_arrival"),
        *(sa.func.sum(rollups.c[name]).label(name) for name in names),
    )
    if run_id is not None:
        query = query.where(rollups.c.run_id == run_id)
    return query.group_by(step, rollups.c.scheduler_name).order_by(step, rollups.c.scheduler_name)


def _points(
    records: Iterable[Any], origin: int, ends: tuple[int, int], width: int, *, is_mixed: bool
) -> Iterator[TrendPoint]:
    """Yield a point for every step from the origin; the tasks begin within the first one and end within the last.

    Points of several runs are mixed: their strategies differ, so that one may lack a task that it never met.
    """
    first, last = ends
    for step, members in groupby(records, key=lambda record: int(record["step"])):
        mine = list(members)
        begin, end = max(first, origin + step), min(last, origin + step + width - 1)
        results = [int(record["results"]) for record in mine]
        tasks = max(results) if is_mixed else max(end - begin + 1, *results)
        lacking = {str(record["scheduler_name"]): tasks - int(record["results"]) for record in mine}
        yield TrendPoint(
            first_task_id=begin,
            last_task_id=end,
            tasks=tasks,
            waiting={name: waiting for name, waiting in lacking.items() if waiting},
            simulated_time_s=max(float(record["last_arrival"] or 0.0) for record in mine),
            **{f"avg_{name}": _averages(mine, TASK_METRICS[name], lacking) for name in _SHOWN},
        )


def _averages(records: Sequence[Any], column: str, lacking: Mapping[str, int]) -> dict[str, float | None]:
    """Return the mean of every strategy; one that lets tasks of the stretch wait has none, as it would be of others."""
    means = {record["scheduler_name"]: _average(record, column) for record in records}
    return {name: None if lacking[name] else mean for name, mean in means.items()}


def _average(record: Any, name: str) -> float | None:
    finished = int(record["finished"])
    return float(record[name] or 0.0) / finished if finished else None
