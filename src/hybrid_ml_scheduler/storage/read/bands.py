"""Which tasks had a part on the CPU, or on GPUs, within a stretch of time, found without reading a whole run.

What runs now may have come long ago: it is long, or it waited. What is kept of every stretch of tasks says when its
last one was finished, so the others need not be read. Where very many are unfinished, because a device is jammed, what
ran in a stretch of time lies in a band, as a queue is served in order; the band's ends are searched for by halving.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.storage.connect.tables import ANY_DEVICE, scheduler_results, stretches

__all__ = ["SIDES", "Reach", "Side", "Stretch", "TaskRange", "among", "newest", "open_ranges", "overlaps", "reach_of"]

Side = Literal["cpu", "gpu"]
SIDES: tuple[Side, ...] = ("cpu", "gpu")
TaskRange = tuple[int, int]
# So many tasks behind each other tell how far the queues were at a place.
_LOOK = 64
# The least width of a band: tasks of a strategy that holds may pass each other.
_NEAR = 2000
# An end that is found to so many tasks is found.
_CLOSE = 256
# Unfinished tasks up to so many are all looked at; among more, those of the band are.
_ALL_OF = 10_000
# Of a long time, so many tasks are read: its newest.
_MOST_TASKS = 50_000


class Stretch(NamedTuple):
    """A stretch of simulated time."""

    begin_s: float
    end_s: float


class Reach(NamedTuple):
    """The tasks among which all lie that ran in a stretch; others may have run before `known_from_s`."""

    ranges: Sequence[TaskRange]
    known_from_s: float


class _Queue(NamedTuple):
    """The parts of one strategy on one side."""

    connection: AsyncConnection
    scheduler: str
    side: Side

    async def look(self, task: int) -> tuple[float | None, float | None]:
        """When the first part of the tasks from here on began, and when the last one was done."""
        start, part = scheduler_results.c[f"{self.side}_start"], scheduler_results.c[f"{self.side}_part"]
        query = sa.select(sa.func.min(start), sa.func.max(start + part)).where(
            scheduler_results.c.task_id.between(task, task + _LOOK - 1),
            scheduler_results.c.scheduler_name == self.scheduler,
            part > 0.0,
        )
        begun_s, done_s = (await self.connection.execute(query)).one()
        return begun_s, done_s

    async def is_done(self, task: int, by_s: float) -> bool:
        """Whether the parts from here on had ended by then."""
        done_s = (await self.look(task))[1]
        return done_s is not None and done_s <= by_s

    async def begins(self, task: int, before_s: float) -> bool:
        """Whether one of the parts from here on began before then, or nothing tells."""
        begun_s = (await self.look(task))[0]
        return begun_s is None or begun_s < before_s


def overlaps(side: Side, stretch: Stretch) -> sa.ColumnElement[bool]:
    """Whether the part of a task on one side lies in a stretch."""
    start, part = scheduler_results.c[f"{side}_start"], scheduler_results.c[f"{side}_part"]
    return sa.and_(part > 0.0, start < stretch.end_s, start + part > stretch.begin_s)


def among(ranges: Sequence[TaskRange]) -> sa.ColumnElement[bool]:
    """Whether a task lies in one of some ranges."""
    return sa.or_(sa.false(), *(scheduler_results.c.task_id.between(*one) for one in ranges))


async def open_ranges(
    connection: AsyncConnection,
    run_id: int,
    schedulers: Sequence[str],
    tasks: TaskRange,
    since_s: float,
    side: Side | None = None,
) -> list[TaskRange]:
    """Return ranges of a run's tasks, oldest first, in which all lie that some strategies finished after a moment."""
    kept, device = stretches.c, stretches.c.device
    on_side = {None: device == ANY_DEVICE, "cpu": device.like("cpu%"), "gpu": device.like("%gpu%")}[side]
    query = sa.select(kept.first_task, kept.last_task).where(
        kept.run_id == run_id,
        kept.scheduler_name.in_(schedulers),
        on_side,
        kept.last_finish > since_s,
        kept.first_task <= tasks[1],
        kept.last_task >= tasks[0],
    )
    merged: list[TaskRange] = []
    for first, last in (await connection.execute(query.order_by(kept.first_task))).all():
        begin, end = max(first, tasks[0]), min(last, tasks[1])
        if merged and begin <= merged[-1][1] + 1:
            begin, end = merged[-1][0], max(end, merged.pop()[1])
        merged.append((begin, end))
    return merged


async def reach_of(
    connection: AsyncConnection,
    run_id: int,
    scheduler: str,
    side: Side,
    tasks: TaskRange,
    stretch: Stretch,
    *,
    is_whole: bool = True,
) -> Reach:
    """Return the tasks among which all lie whose part on one side ran in a stretch.

    A run `is_whole` as long as none of its rows was removed.
    """
    ranges = await open_ranges(connection, run_id, [scheduler], tasks, stretch.begin_s, side)
    if not ranges:
        return Reach([], 0.0)
    queue, known_from_s = _Queue(connection, scheduler, side), 0.0
    if _tasks_in(ranges) > _ALL_OF:
        ranges = [await _band(queue, (ranges[0][0], ranges[-1][1]), stretch)]
    cut = newest(ranges)
    is_cut_off = not is_whole and cut[0][0] <= tasks[0] and not await queue.is_done(tasks[0], stretch.begin_s)
    if cut != ranges or is_cut_off:
        known_from_s = (await queue.look(cut[0][0]))[0] or 0.0
    return Reach(cut, known_from_s)


def _tasks_in(ranges: Sequence[TaskRange]) -> int:
    return sum(last - first + 1 for first, last in ranges)


def newest(ranges: list[TaskRange]) -> list[TaskRange]:
    """Return the newest of some ranges, no more than are read at once."""
    left, kept = _MOST_TASKS, list[TaskRange]()
    for first, last in reversed(ranges):
        if left > 0:
            kept.append((max(first, last - left + 1), last))
        left -= last - first + 1
    return kept[::-1]


async def _band(queue: _Queue, tasks: TaskRange, stretch: Stretch) -> TaskRange:
    """Return the tasks among which all lie that a queue served in a stretch, if it is served in order."""
    first, last = tasks
    reach = _NEAR
    while last - reach > first and not await queue.is_done(last - reach, stretch.begin_s):
        reach *= 2
    low = max(first, last - reach)
    if reach > _NEAR:
        low = min(
            await _before(low, last - reach // 2, lambda task: queue.is_done(task, stretch.begin_s)), last - _NEAR
        )
    # The block in which the first part is to come may begin with others.
    high = await _before(low, last, lambda task: queue.begins(task, stretch.end_s))
    return max(first, low), min(last, high + _CLOSE + _LOOK)


async def _before(low: int, high: int, holds: Callable[[int], Awaitable[bool]]) -> int:
    """Return the last place, closely enough, where something still holds that ends somewhere between two places."""
    while high - low > _CLOSE:
        middle = (low + high) // 2
        low, high = (middle, high) if await holds(middle) else (low, middle)
    return low
