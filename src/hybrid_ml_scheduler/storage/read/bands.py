"""Which tasks had a part on the CPU, or on GPUs, within a stretch of time, found without reading a whole run.

A queue may be a hundred thousand tasks long: what runs now came long ago. Queues are served in order, so the tasks that
ran in a stretch of time lie in a band, whose ends are searched for by halving. Where nothing tells, a band is longer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.storage.connect.tables import scheduler_results

__all__ = ["SIDES", "Band", "Side", "Stretch", "band", "overlaps"]

Side = Literal["cpu", "gpu"]
SIDES: tuple[Side, ...] = ("cpu", "gpu")
# So many tasks behind each other tell how far the queues were at a place.
_LOOK = 64
# Tasks of a strategy that holds may pass each other, but not by this many.
_NEAR = 2000
# An end that is found to so many tasks is found.
_CLOSE = 256


class Stretch(NamedTuple):
    """A stretch of simulated time."""

    begin_s: float
    end_s: float


class Band(NamedTuple):
    """The tasks among which all lie that ran in a stretch; older tasks may have run before `known_from_s`."""

    first: int
    last: int
    known_from_s: float


def overlaps(side: Side, stretch: Stretch) -> sa.ColumnElement[bool]:
    """Whether the part of a task on one side lies in a stretch."""
    start, part = scheduler_results.c[f"{side}_start"], scheduler_results.c[f"{side}_part"]
    return sa.and_(part > 0.0, start < stretch.end_s, start + part > stretch.begin_s)


async def band(
    connection: AsyncConnection, scheduler: str, side: Side, tasks: tuple[int, int], stretch: Stretch
) -> Band:
    """Return the tasks among which all lie whose part on one side ran in a stretch."""
    first, last = tasks
    start, part = scheduler_results.c[f"{side}_start"], scheduler_results.c[f"{side}_part"]

    async def look(task: int) -> tuple[float | None, float | None]:
        """When the first part of the tasks from here on began, and when the last one was done."""
        query = sa.select(sa.func.min(start), sa.func.max(start + part)).where(
            scheduler_results.c.task_id.between(task, task + _LOOK - 1),
            scheduler_results.c.scheduler_name == scheduler,
            part > 0.0,
        )
        begun_s, done_s = (await connection.execute(query)).one()
        return begun_s, done_s

    async def is_done(task: int) -> bool:
        done_s = (await look(task))[1]
        return done_s is not None and done_s <= stretch.begin_s

    async def is_to_come(task: int) -> bool:
        begun_s = (await look(task))[0]
        return begun_s is not None and begun_s >= stretch.end_s

    reach = _NEAR
    while last - reach > first and not await is_done(last - reach):
        reach *= 2
    low = max(first, last - reach)
    if reach > _NEAR:
        low = min(await _before(low, last - reach // 2, is_done), last - _NEAR)
    # The block in which the first part is to come may begin with others.
    high = await _before(low, last, lambda task: _negated(is_to_come(task)))
    known_from_s = 0.0
    if low <= first and not await is_done(first):
        known_from_s = (await look(first))[0] or 0.0
    return Band(max(first, low), min(last, high + _CLOSE + _LOOK), known_from_s)


async def _before(low: int, high: int, holds: Callable[[int], Awaitable[bool]]) -> int:
    """Return the last place, closely enough, where something still holds that ends somewhere between two places."""
    while high - low > _CLOSE:
        middle = (low + high) // 2
        low, high = (middle, high) if await holds(middle) else (low, middle)
    return low


async def _negated(answer: Awaitable[bool]) -> bool:
    return not await answer
