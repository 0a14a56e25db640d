"""Changing stored runs: a name, a note, the last that was shown of it, and removal."""

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
from hybrid_ml_scheduler.storage.write.bulk import upsert_statement
from hybrid_ml_scheduler.storage.write.measured import MEASURED
from hybrid_ml_scheduler.storage.write.summaries import STRETCH_TASKS

__all__ = ["describe_run", "keep_picture", "remove_run"]

_STRETCHES_A_STEP = 4
_OF_A_RUN = (rollups, run_summaries, stretches, tails, run_pictures, events, model_versions, notifications, checkpoints)


async def describe_run(store: Store, run_id: int, *, name: str | None = None, note: str | None = None) -> bool:
    """Give a run a name or a note; what is None stays. Say whether there is such a run."""
    values = {key: text for key, text in (("name", name), ("note", note)) if text is not None}
    async with store.writing() as connection:
        if values:
            changed = await connection.execute(sa.update(runs).where(runs.c.run_id == run_id).values(**values))
            return changed.rowcount == 1
        found = await connection.execute(sa.select(runs.c.run_id).where(runs.c.run_id == run_id))
        return found.first() is not None


async def keep_picture(store: Store, run_id: int, picture: str) -> None:
    """Keep the last that was shown of a run, in place of what was kept before."""
    async with store.writing() as connection:
        insert = upsert_statement(connection.dialect.name, run_pictures)
        changes = {"picture": insert.excluded.picture, "created_at": insert.excluded.created_at}
        statement = insert.on_conflict_do_update(index_elements=[run_pictures.c.run_id], set_=changes)
        await connection.execute(statement, {"run_id": run_id, "picture": picture, "created_at": time.time()})


async def remove_run(store: Store, run_id: int) -> HistoryCleared:
    """Remove a run that has ended with all its rows, a little at a time; the newest run may yet be continued and stays.

    After every step what is left is whole: the sums of a stretch go with its rows.
    """
    async with store.reading() as connection:
        raced = sa.select(sa.func.max(runs.c.run_id)).where(runs.c.state != MEASURED)
        newest = (await connection.execute(raced)).scalar_one()
    if newest == run_id:
        raise StorageError(f"Run {run_id} is the newest and may yet be continued, so it cannot be removed.")
    gone = {"tasks": 0, "results": 0}
    while True:
        begin_s = time.monotonic()
        async with store.writing() as connection:
            step = await _remove_some(connection, run_id)
        if step is None:
            break
        gone = {name: gone[name] + step[name] for name in gone}
        await asyncio.sleep(time.monotonic() - begin_s)  # the writer has at least as much of the database's time
    async with store.writing() as connection:
        for table in (*_OF_A_RUN, runs):
            await connection.execute(sa.delete(table).where(table.c.run_id == run_id))
    return HistoryCleared(tasks=gone["tasks"], results=gone["results"])


async def _remove_some(connection: AsyncConnection, run_id: int) -> dict[str, int] | None:
    """Remove the oldest few stretches of a run; return how many rows went, or None where none are left."""
    own = tasks.c.run_id == run_id
    await connection.execute(sa.select(totals.c.id).with_for_update())
    oldest = (await connection.execute(sa.select(sa.func.min(tasks.c.task_id)).where(own))).scalar_one()
    if oldest is None:
        return None
    first = (await connection.execute(sa.select(runs.c.first_task).where(runs.c.run_id == run_id))).scalar_one()
    begin = oldest if first is None else first
    end = begin + ((oldest - begin) // STRETCH_TASKS + _STRETCHES_A_STEP) * STRETCH_TASKS
    newest = (await connection.execute(sa.select(sa.func.max(tasks.c.task_id)).where(own))).scalar_one()
    gone: dict[str, Any] = {}
    for name, table in (("results", scheduler_results), ("training", training_data), ("tasks", tasks)):
        some = table.c.task_id.between(oldest, min(end - 1, newest))
        gone[name] = (await connection.execute(sa.delete(table).where(some))).rowcount
    await connection.execute(sa.delete(stretches).where(stretches.c.run_id == run_id, stretches.c.first_task < end))
    last_stretch = (end - begin) // STRETCH_TASKS
    await connection.execute(sa.delete(tails).where(tails.c.run_id == run_id, tails.c.stretch < last_stretch))
    changes = {name: totals.c[name] - number for name, number in gone.items()}
    await connection.execute(sa.update(totals).values(**changes))
    return gone
