"""Which stored tasks the strategies of a run are compared over, and which of them wait."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.plans.comparable import compared_up_to
from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import ANY_DEVICE, runs, scheduler_results, stretches, tasks
from hybrid_ml_scheduler.storage.read.history import end_tasks
from hybrid_ml_scheduler.storage.write.summaries import STRETCH_TASKS

__all__ = ["ComparedTasks", "WaitingTasks", "compared_tasks", "waiting_tasks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedTasks:
    """The tasks of a run, the last compared one, and the last up to which each strategy has a result of every task."""

    first: int
    last: int
    up_to: int
    done: Mapping[str, int]

    @property
    def behind(self) -> list[str]:
        """The strategies that the comparison goes on without."""
        return [name for name, done in self.done.items() if done < self.up_to]


class WaitingTasks(NamedTuple):
    """Tasks without a result, and how long they have waited so far, together and at most."""

    tasks: int
    together_s: float
    longest_s: float


async def compared_tasks(store: Store, run_id: int, last: int | None = None) -> ComparedTasks:
    """Return what the strategies of a run are compared over, of all its tasks or of those up to `last`."""
    line = stretches.c
    short = sa.case((line.results < STRETCH_TASKS, line.stretch))
    query = sa.select(line.scheduler_name, sa.func.min(short), sa.func.count(), sa.func.max(line.stretch))
    own = query.where(line.run_id == run_id, line.device == ANY_DEVICE).group_by(line.scheduler_name)
    done: dict[str, int] = {}
    async with store.reading() as connection:
        first, newest = (await connection.execute(end_tasks(run_id))).one()
        if first is None:
            return ComparedTasks(first=0, last=-1, up_to=-1, done={})
        origin = (await connection.execute(sa.select(runs.c.first_task).where(runs.c.run_id == run_id))).scalar_one()
        end = newest if last is None else min(newest, last)
        for name, short_one, lines, latest in (await connection.execute(own)).all():
            is_dense = lines == latest + 1  # else a whole stretch has no result
            full = 0 if not is_dense else lines if short_one is None else short_one
            begin = max(first, first if origin is None else origin + full * STRETCH_TASKS)
            done[name] = await _done_up_to(connection, run_id, name, begin, end)
    return ComparedTasks(first=first, last=end, up_to=compared_up_to(done.values(), first, end), done=done)


async def _done_up_to(connection: AsyncConnection, run_id: int, name: str, begin: int, last: int) -> int:
    query = sa.select(tasks.c.task_id).where(_waits(run_id, name, begin, last)).order_by(tasks.c.task_id).limit(1)
    missing = (await connection.execute(query)).scalar_one_or_none()
    return last if missing is None else int(missing) - 1


def _waits(run_id: int, name: str, first: int, last: int) -> sa.ColumnElement[bool]:
    """Whether a task of a run has no result of a strategy."""
    row = scheduler_results.c
    has_result = sa.exists().where(row.task_id == tasks.c.task_id, row.scheduler_name == name)
    return sa.and_(tasks.c.run_id == run_id, tasks.c.task_id.between(first, last), ~has_result)


async def waiting_tasks(
    store: Store, run_id: int, name: str, tasks_between: tuple[int, int], now_s: float
) -> WaitingTasks:
    """Return the tasks of a range that a strategy has no result of, and how long they have waited by a moment."""
    so_far_s = sa.case((tasks.c.arrival_time < now_s, now_s - tasks.c.arrival_time), else_=0.0)
    query = sa.select(sa.func.count(), sa.func.sum(so_far_s), sa.func.max(so_far_s))
    async with store.reading() as connection:
        found = (await connection.execute(query.where(_waits(run_id, name, *tasks_between)))).one()
    return WaitingTasks(int(found[0]), float(found[1] or 0.0), float(found[2] or 0.0))
