"""A full check of the stored history: no gap, no duplicate, no orphan, no half-stored task.

A task that lacks results may be sound: see `storage.undecided`.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import scheduler_results, tasks, training_data
from hybrid_ml_scheduler.storage.read.undecided import half_stored_tasks
from hybrid_ml_scheduler.storage.records import Integrity

__all__ = ["integrity"]

_SHOWN = 20


async def integrity(store: Store) -> Integrity:
    """Read everything and say what is wrong; each list names at most twenty culprits."""
    async with store.reading() as connection:
        count_tasks = await _count(connection, tasks)
        count_results = await _count(connection, scheduler_results)
        incomplete, undecided = await half_stored_tasks(connection)
        return Integrity(
            tasks=count_tasks,
            results=count_results,
            missing_tasks=await _ids(connection, _before_gaps()),
            duplicate_results=[(row[0], row[1]) for row in await connection.execute(_duplicates())],
            orphan_results=await _ids(connection, _orphans(scheduler_results)),
            orphan_training=await _ids(connection, _orphans(training_data)),
            incomplete_tasks=incomplete[:_SHOWN],
            undecided=undecided,
        )


async def _count(connection: AsyncConnection, table: sa.Table) -> int:
    return int((await connection.execute(sa.select(sa.func.count()).select_from(table))).scalar_one())


async def _ids(connection: AsyncConnection, query: sa.Select[Any]) -> list[int]:
    return list((await connection.execute(query.limit(_SHOWN))).scalars())


def _before_gaps() -> sa.Select[Any]:
    """Select the first missing id of every gap within a run; between runs others may have been removed."""
    following = tasks.alias("following")
    joined = tasks.outerjoin(following, following.c.task_id == tasks.c.task_id + 1)
    later = tasks.alias("later")
    newest = sa.select(sa.func.max(later.c.task_id)).where(later.c.run_id == tasks.c.run_id).scalar_subquery()
    gap = sa.and_(following.c.task_id.is_(None), tasks.c.task_id < newest)
    return sa.select(tasks.c.task_id + 1).select_from(joined).where(gap).order_by(tasks.c.task_id)


def _duplicates() -> sa.Select[Any]:
    keys = (scheduler_results.c.task_id, scheduler_results.c.scheduler_name)
    return sa.select(*keys).group_by(*keys).having(sa.func.count() > 1).limit(_SHOWN)


def _orphans(table: sa.Table) -> sa.Select[Any]:
    joined = table.outerjoin(tasks, tasks.c.task_id == table.c.task_id)
    return sa.select(table.c.task_id).select_from(joined).where(tasks.c.task_id.is_(None)).order_by(table.c.task_id)
