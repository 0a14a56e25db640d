"""Forgetting: clearing the history and keeping it below a size. Task ids go on either way."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import (
    checkpoints,
    events,
    model_versions,
    notifications,
    rollups,
    run_pictures,
    run_summaries,
    runs,
    scheduler_results,
    stretches,
    tails,
    tasks,
    totals,
    training_data,
)
from hybrid_ml_scheduler.storage.errors import StorageError
from hybrid_ml_scheduler.storage.records import HistoryCleared
from hybrid_ml_scheduler.storage.write.measured import MEASURED

__all__ = ["apply_retention", "clear_history"]

_CLEARED = (
    scheduler_results, training_data, tasks, rollups, run_summaries, stretches, tails, run_pictures,
    model_versions, notifications,
)  # fmt: skip


async def clear_history(store: Store) -> HistoryCleared:
    """Remove every task, result, label, model and notification; the newest run keeps what it needs to come back.

    Rows of older tasks that arrive later are left out: the oldest id that is kept is noted with the totals.
    """
    async with store.writing() as connection:
        before = (await connection.execute(sa.select(totals).with_for_update())).mappings().one()
        if store.is_postgres:
            names = ", ".join(table.name for table in _CLEARED)
            await connection.execute(sa.text(f"TRUNCATE {names}"))
        else:
            for table in _CLEARED:
                await connection.execute(sa.delete(table))
        nothing = {"tasks": 0, "results": 0, "training": 0, "floor_task_id": before["next_task_id"]}
        await connection.execute(sa.update(totals).values(**nothing))
        await _forget_empty_runs(connection)
    return HistoryCleared(tasks=before["tasks"], results=before["results"])


async def apply_retention(store: Store, *, keep_tasks: int, chunk_tasks: int = 500) -> int:
    """Remove the oldest tasks beyond the newest `keep_tasks`, a little at a time; return how many went.

    With the last task of an older run its events, models, notifications and checkpoints go too. The rollups stay, so
    the long-term trend outlives the rows.
    """
    if keep_tasks < 1 or chunk_tasks < 1:
        raise StorageError("Retention must keep at least one task and work in chunks of at least one.")
    removed = 0
    while True:
        begin_s = time.monotonic()
        async with store.writing() as connection:
            count = await _remove_oldest(connection, keep_tasks, chunk_tasks)
        if count == 0:
            async with store.writing() as connection:
                await _forget_empty_runs(connection)
            return removed
        removed += count
        await asyncio.sleep(time.monotonic() - begin_s)  # the writer has at least as much of the database's time


async def _forget_empty_runs(connection: AsyncConnection) -> None:
    """Remove what older runs without tasks have left; the newest run may yet be continued and needs its own."""
    newest = sa.select(sa.func.max(runs.c.run_id)).where(runs.c.state != MEASURED).scalar_subquery()
    has_tasks = sa.exists().where(tasks.c.run_id == runs.c.run_id)
    empty = sa.select(runs.c.run_id).where(runs.c.run_id < newest, ~has_tasks)
    for table in (events, model_versions, notifications, checkpoints):
        await connection.execute(sa.delete(table).where(table.c.run_id.in_(empty)))


async def _remove_oldest(connection: AsyncConnection, keep_tasks: int, chunk_tasks: int) -> int:
    total = (await connection.execute(sa.select(totals).with_for_update())).mappings().one()
    of_races = tasks.c.task_id >= 0  # real runs are few, cannot be made again, and are removed by hand
    measured = (await connection.execute(sa.select(sa.func.count()).select_from(tasks).where(~of_races))).scalar_one()
    surplus = total["tasks"] - measured - keep_tasks
    if surplus <= 0:
        return 0
    oldest = sa.select(tasks.c.task_id).where(of_races).order_by(tasks.c.task_id).limit(min(surplus, chunk_tasks))
    floor = max((await connection.execute(oldest)).scalars().all()) + 1
    gone: dict[str, Any] = {}
    for name, table in (("results", scheduler_results), ("training", training_data), ("tasks", tasks)):
        gone[name] = (await connection.execute(sa.delete(table).where(table.c.task_id.between(0, floor - 1)))).rowcount
    changes = {name: totals.c[name] - number for name, number in gone.items()}
    await connection.execute(sa.update(totals).values(**changes, floor_task_id=floor))
    return int(gone["tasks"])
