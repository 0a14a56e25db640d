"""What the devices of a run did: the parts of its tasks as they are stored, around the last arrival or in order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import scheduler_results, tasks
from hybrid_ml_scheduler.storage.read.history import end_tasks

__all__ = ["PartRow", "PartsAroundNow", "QueueRow", "parts_around_now", "parts_in_order"]

# Many rows at once would keep the event loop from everybody else.
_TASKS_PER_READ = 500
# How far back unfinished tasks are looked for: a little at first, and further where the queues are long.
_REACHES = (2000, 10_000, 50_000)
_MOST_ROWS = 4000
_OLDEST = 10


class PartRow(NamedTuple):
    """Where and when one strategy ran a task; a start on a device that is not used is missing."""

    scheduler_name: str
    task_id: int
    gpu_id: int
    gpu_fraction: float
    latency: float
    ready_time: float
    finish_time: float
    cpu_start: float | None
    cpu_part: float
    gpu_start: float | None
    gpu_part: float


class QueueRow(NamedTuple):
    """What a strategy has promised of its CPU, and of one GPU, to tasks that chose this GPU (or none: -1)."""

    scheduler_name: str
    gpu_id: int
    cpu_waiting: int
    cpu_end: float | None
    gpu_waiting: int
    gpu_end: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsAroundNow:
    """Parts around the last arrival, those that became ready shortly before it, and the queues then."""

    now_s: float
    rows: Sequence[PartRow] = ()
    ready: Sequence[PartRow] = ()
    queues: Sequence[QueueRow] = ()
    reaches_back: bool = True


def _wanted(schedulers: Sequence[str]) -> sa.Select[Any]:
    results = scheduler_results.c
    columns = [results[name] for name in PartRow._fields]
    return sa.select(*columns).where(results.scheduler_name.in_(schedulers), results.finish_time.is_not(None))


async def parts_around_now(store: Store, *, run_id: int, schedulers: Sequence[str], seconds: float) -> PartsAroundNow:
    """Return what some strategies do from `seconds` before the last arrival of a run to as long after it."""
    results = scheduler_results.c
    async with store.reading() as connection:
        first, last = (await connection.execute(end_tasks(run_id))).one()
        if last is None:
            return PartsAroundNow(now_s=0.0)
        arrival = sa.select(tasks.c.arrival_time).where(tasks.c.task_id == last)
        now_s = float((await connection.execute(arrival)).scalar_one())
        oldest, reaches_back = await _reach(connection, schedulers, (first, last), now_s - seconds)
        wanted = _wanted(schedulers).where(results.task_id.between(oldest, last))
        seen = wanted.where(_overlaps(now_s - seconds, now_s + seconds)).limit(_MOST_ROWS * len(schedulers))
        fresh = wanted.where(results.ready_time > now_s - seconds)
        return PartsAroundNow(
            now_s=now_s,
            rows=[PartRow(*row) for row in await connection.execute(seen)],
            ready=[PartRow(*row) for row in await connection.execute(fresh)],
            queues=[QueueRow(*row) for row in await connection.execute(_queues(schedulers, (oldest, last), now_s))],
            reaches_back=reaches_back,
        )


def _overlaps(begin_s: float, end_s: float) -> sa.ColumnElement[bool]:
    """Whether a part on either device lies in a stretch of time; that its task does would not be enough."""
    results = scheduler_results.c
    on_cpu = sa.and_(results.cpu_start < end_s, results.cpu_start + results.cpu_part > begin_s)
    on_gpu = sa.and_(results.gpu_start < end_s, results.gpu_start + results.gpu_part > begin_s)
    return sa.or_(on_cpu, on_gpu)


async def _reach(
    connection: AsyncConnection, schedulers: Sequence[str], ends: tuple[int, int], begin_s: float
) -> tuple[int, bool]:
    """Return the task from which on some are unfinished, and whether it is certain that none before it is."""
    (first, last), results, oldest = ends, scheduler_results.c, ends[0]
    for reach in _REACHES:
        oldest = last - reach + 1
        if oldest <= first:
            return first, True
        latest = sa.select(sa.func.max(results.finish_time)).where(
            results.task_id.between(oldest, oldest + _OLDEST - 1), results.scheduler_name.in_(schedulers)
        )
        finish = (await connection.execute(latest)).scalar_one()
        if finish is not None and finish <= begin_s:
            return oldest, True
    return oldest, False


def _queues(schedulers: Sequence[str], ends: tuple[int, int], now_s: float) -> sa.Select[Any]:
    results = scheduler_results.c
    waiting = [
        sa.func.coalesce(sa.func.sum(sa.case((start > now_s, 1), else_=0)), 0)
        for start in (results.cpu_start, results.gpu_start)
    ]
    ends_s = [sa.func.max(results.cpu_start + results.cpu_part), sa.func.max(results.gpu_start + results.gpu_part)]
    return (
        sa.select(results.scheduler_name, results.gpu_id, waiting[0], ends_s[0], waiting[1], ends_s[1])
        .where(results.task_id.between(*ends), results.scheduler_name.in_(schedulers), results.finish_time > now_s)
        .group_by(results.scheduler_name, results.gpu_id)
    )


async def parts_in_order(
    store: Store, *, run_id: int, scheduler: str, most_tasks: int
) -> AsyncIterator[Sequence[PartRow]]:
    """Yield what the newest tasks of a run did on one strategy's devices, oldest first, some at a time."""
    async with store.reading() as connection:
        first, last = (await connection.execute(end_tasks(run_id))).one()
    if last is None:
        return
    query = _wanted([scheduler]).order_by(scheduler_results.c.task_id)
    for begin in range(max(first, last - most_tasks + 1), last + 1, _TASKS_PER_READ):
        some = query.where(scheduler_results.c.task_id.between(begin, min(last, begin + _TASKS_PER_READ - 1)))
        async with store.reading() as connection:
            yield [PartRow(*row) for row in await connection.execute(some)]
