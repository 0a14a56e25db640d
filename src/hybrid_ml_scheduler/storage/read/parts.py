"""What the devices of a run did: the parts of its tasks as they are stored, around the last arrival or in order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.core import held_gpus
from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import scheduler_results, tasks
from hybrid_ml_scheduler.storage.read.bands import (
    SIDES,
    Stretch,
    TaskRange,
    among,
    newest,
    open_ranges,
    overlaps,
    reach_of,
)
from hybrid_ml_scheduler.storage.read.history import end_tasks

__all__ = ["ChangeRow", "PartRow", "PartsAroundNow", "QueueRow", "last_finish", "parts_around_now", "parts_in_order"]

# Many rows at once would keep the event loop from everybody else.
_TASKS_PER_READ = 500
# Parts on one side of a strategy, those next to now.
_MOST_ROWS = 4000


class PartRow(NamedTuple):
    """Where and when one strategy ran a task; a start on a device that is not used is missing."""

    scheduler_name: str
    task_id: int
    gpu_id: int
    device: str
    gpu_fraction: float
    latency: float
    ready_time: float
    finish_time: float
    cpu_start: float | None
    cpu_part: float
    gpu_start: float | None
    gpu_part: float

    def places(self) -> Iterator[tuple[int, float, float]]:
        """Yield each device that was used (the CPU is 0), when the part on it began, and its seconds."""
        if self.cpu_start is not None and self.cpu_part > 0.0:
            yield 0, self.cpu_start, self.cpu_part
        if self.gpu_start is not None and self.gpu_part > 0.0:
            for gpu in held_gpus(self.gpu_id, self.device):
                yield gpu + 1, self.gpu_start, self.gpu_part


class QueueRow(NamedTuple):
    """What a strategy has promised of its CPU, and of GPUs, to tasks that a GPU leads (or none: -1) on one device.

    Of each: parts that wait, parts that run, seconds of work from now on, and when the last part ends.
    """

    scheduler_name: str
    gpu_id: int
    device: str
    cpu_waiting: int
    cpu_running: int
    cpu_ahead_s: float
    cpu_end: float | None
    gpu_waiting: int
    gpu_running: int
    gpu_ahead_s: float
    gpu_end: float | None


class ChangeRow(NamedTuple):
    """How many parts joined the queues of a strategy between two moments before now, less those that left them.

    Moments are equal steps that end with now; `step` is the number of the later one.
    """

    scheduler_name: str
    step: int
    joined: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartsAroundNow:
    """Parts around the last arrival, how the queues changed shortly before it, and what they were then.

    Of each strategy `unread` says how many parts more there were; `reaches_back` whether all that wait are counted.
    """

    now_s: float
    rows: Sequence[PartRow] = ()
    unread: Mapping[str, int] = field(default_factory=dict)
    changes: Sequence[ChangeRow] = ()
    queues: Sequence[QueueRow] = ()
    reaches_back: bool = True


def _wanted(schedulers: Sequence[str]) -> sa.Select[Any]:
    results = scheduler_results.c
    columns = [results[name] for name in PartRow._fields]
    return sa.select(*columns).where(results.scheduler_name.in_(schedulers), results.finish_time.is_not(None))


async def parts_around_now(
    store: Store,
    *,
    run_id: int,
    schedulers: Sequence[str],
    seconds: float,
    steps: int = 60,
    last_task: int | None = None,
    is_over: bool = False,
) -> PartsAroundNow:
    """Return what some strategies do from `seconds` before the last arrival of a run to as long after it.

    With `last_task`, as it was when that task arrived; where the run `is_over`, as it was at their last finish.

    The changes of the queues are counted in `steps` equal steps from then, or from the run's beginning, until now.
    """
    async with store.reading() as connection:
        first, last = (await connection.execute(end_tasks(run_id))).one()
        if last is None:
            return PartsAroundNow(now_s=0.0)
        last = last if last_task is None else max(first, min(last, last_task))
        arrival = sa.select(tasks.c.arrival_time).where(tasks.c.task_id == last)
        now_s = float((await connection.execute(arrival)).scalar_one())
        if is_over:
            finish_s = (await connection.execute(last_finish(schedulers, first, last))).scalar_one()
            now_s = max(now_s, float(finish_s or 0.0))
        around = [await _seen(connection, run_id, name, (first, last), now_s, seconds) for name in schedulers]
        begin_s = max(0.0, now_s - seconds)
        changing = newest(await open_ranges(connection, run_id, schedulers, (first, last), begin_s))
        waiting = await open_ranges(connection, run_id, schedulers, (first, last), now_s)
        counted = newest(waiting)
        changed = _changes(store, _wanted(schedulers).where(among(changing)), (begin_s, now_s), steps)
        return PartsAroundNow(
            now_s=now_s,
            rows=[row for one in around for row in one.rows],
            unread={name: one.unread for name, one in zip(schedulers, around, strict=True)},
            changes=[ChangeRow(*row) for row in await connection.execute(changed)],
            queues=[QueueRow(*row) for row in await connection.execute(_queues(schedulers, counted, now_s))],
            reaches_back=counted == waiting,
        )


def last_finish(schedulers: Sequence[str], first: int, last: int) -> sa.Select[Any]:
    """When the last of some tasks was finished by one of some strategies."""
    results = scheduler_results.c
    own = sa.and_(results.task_id.between(first, last), results.scheduler_name.in_(schedulers))
    return sa.select(sa.func.max(results.finish_time)).where(own)


class _Seen(NamedTuple):
    """Tasks of one strategy with parts around now, and how many parts more there are."""

    rows: Sequence[PartRow]
    unread: int


async def _seen(
    connection: AsyncConnection, run_id: int, scheduler: str, ends: TaskRange, now_s: float, seconds: float
) -> _Seen:
    """Read the parts that lie around now; of too many, those next to it."""
    stretch, rows, unread = Stretch(now_s - seconds, now_s + seconds), dict[int, PartRow](), 0
    for side in SIDES:
        ranges, _ = await reach_of(connection, run_id, scheduler, side, ends, stretch)
        near = sa.func.abs(scheduler_results.c[f"{side}_start"] - now_s)
        wanted = _wanted([scheduler]).where(among(ranges), overlaps(side, stretch))
        some = wanted.add_columns(sa.func.count().over()).order_by(near).limit(_MOST_ROWS)
        found = (await connection.execute(some)).all()
        rows |= {row.task_id: PartRow(*row[:-1]) for row in found}
        unread += found[0][-1] - len(found) if found else 0
    return _Seen(list(rows.values()), unread)


def _changes(store: Store, wanted: sa.Select[Any], ends_s: tuple[float, float], steps: int) -> sa.Select[Any]:
    """Count who became ready and who began in each step, where the rows are: with long queues they are many."""
    results, (begin_s, now_s) = scheduler_results.c, ends_s
    width_s = max(now_s - begin_s, 1e-9) / steps

    def step(moment: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
        place = (moment - begin_s) / width_s
        whole = sa.cast(sa.func.floor(place) if store.is_postgres else place, sa.Integer)
        return sa.case((sa.and_(moment > begin_s, moment <= now_s), whole + sa.case((place > whole, 1), else_=0)))

    on_cpu = sa.and_(results.cpu_start.is_not(None), results.cpu_part > 0.0)
    on_gpu = sa.and_(results.gpu_start.is_not(None), results.gpu_part > 0.0)
    recent = wanted.with_only_columns(
        results.scheduler_name,
        step(results.ready_time).label("ready"),
        (sa.case((on_cpu, 1), else_=0) + sa.case((on_gpu, 1), else_=0)).label("parts"),
        sa.case((on_cpu, step(results.cpu_start))).label("cpu"),
        sa.case((on_gpu, step(results.gpu_start))).label("gpu"),
    )
    moments = (results.ready_time, results.cpu_start, results.gpu_start)
    seen = recent.where(sa.or_(*(moment.between(begin_s, now_s) for moment in moments))).cte("seen")
    joined = sa.select(seen.c.scheduler_name, seen.c.ready.label("step"), seen.c.parts.label("joined"))
    left = [sa.select(seen.c.scheduler_name, seen.c[device].label("step"), sa.literal(-1)) for device in ("cpu", "gpu")]
    each = sa.union_all(joined, *left).subquery()
    counted = sa.select(each.c.scheduler_name, each.c.step, sa.func.sum(each.c.joined)).where(each.c.step.is_not(None))
    return counted.group_by(each.c.scheduler_name, each.c.step)


def _queues(schedulers: Sequence[str], ranges: Sequence[TaskRange], now_s: float) -> sa.Select[Any]:
    results = scheduler_results.c
    own = (results.scheduler_name, results.gpu_id, results.device)
    on_cpu = _promised(results.cpu_start, results.cpu_part, now_s)
    on_gpu = _promised(results.gpu_start, results.gpu_part, now_s)
    return (
        sa.select(*own, *on_cpu, *on_gpu)
        .where(among(ranges), results.scheduler_name.in_(schedulers), results.finish_time > now_s)
        .group_by(*own)
    )


def _promised(start: sa.Column[Any], part: sa.Column[Any], now_s: float) -> list[sa.ColumnElement[Any]]:
    """How many parts wait, how many run, their seconds from now on, and when the last of them ends."""
    end = start + part
    runs = sa.and_(start <= now_s, end > now_s)
    from_now_on = sa.case((start > now_s, part), (runs, end - now_s), else_=0.0)
    sums = (sa.case((start > now_s, 1), else_=0), sa.case((runs, 1), else_=0), from_now_on)
    return [*(sa.func.coalesce(sa.func.sum(one), 0) for one in sums), sa.func.max(end)]


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
