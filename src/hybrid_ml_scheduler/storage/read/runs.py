"""Runs: what was asked for, the state it is in, and how to come back to it after a crash."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import sqlalchemy as sa

from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import (
    checkpoints,
    events,
    run_pictures,
    run_summaries,
    runs,
    totals,
)
from hybrid_ml_scheduler.storage.errors import StorageError
from hybrid_ml_scheduler.storage.read.named_files import as_kept, as_placed
from hybrid_ml_scheduler.storage.read.replay import row_columns
from hybrid_ml_scheduler.storage.records import RunRecord
from hybrid_ml_scheduler.storage.rows import CheckpointRow, EventRow
from hybrid_ml_scheduler.storage.write.measured import MEASURED

__all__ = [
    "ENDED",
    "create_run",
    "event_history",
    "events_since",
    "get_run",
    "kept_pictures",
    "latest_checkpoint",
    "latest_run",
    "list_runs",
    "next_task_id",
    "run_picture",
    "set_run_state",
    "stored_runs",
]

# The state of a run that another one has followed; a real run keeps its own, and so does one whose trace has ended.
ENDED = "ended"
COMPLETE = "complete"


async def create_run(
    store: Store,
    *,
    plan: Mapping[str, Any],
    seed: int,
    versions: Mapping[str, Any],
    state: str = "stopped",
    controls: Mapping[str, Any] | None = None,
) -> int:
    """Begin a run and return its id. All others have ended with that: only the newest is ever continued."""
    values = {"plan": as_kept(plan, store.files), "seed": seed, "versions": dict(versions), "state": state}
    insert = sa.insert(runs).values(**values, controls=dict(controls or {}), created_at=time.time())
    async with store.writing() as connection:
        goes_on = runs.c.state.not_in([ENDED, MEASURED, COMPLETE])
        await connection.execute(sa.update(runs).where(goes_on).values(state=ENDED))
        await connection.execute(sa.delete(checkpoints))
        return int((await connection.execute(insert.returning(runs.c.run_id))).scalar_one())


async def get_run(store: Store, run_id: int) -> RunRecord | None:
    """Return one run."""
    found = await _runs(store, sa.select(runs).where(runs.c.run_id == run_id))
    return found[0] if found else None


async def latest_run(store: Store) -> RunRecord | None:
    """Return the newest run that may be continued; a real run never is."""
    raced = sa.select(runs).where(runs.c.state != MEASURED).order_by(runs.c.run_id.desc()).limit(1)
    found = await _runs(store, raced)
    return found[0] if found else None


async def list_runs(store: Store, *, limit: int = 50, before: int | None = None) -> list[RunRecord]:
    """Return runs, newest first, older than `before` where it is given."""
    query = sa.select(runs).order_by(runs.c.run_id.desc()).limit(limit)
    return await _runs(store, query if before is None else query.where(runs.c.run_id < before))


async def stored_runs(store: Store, *, limit: int, before: int | None = None) -> tuple[list[RunRecord], int]:
    """Return the runs that hold rows, and the newest, newest first, older than `before`; and how many there are."""
    newest = sa.select(sa.func.max(runs.c.run_id)).scalar_subquery()
    has_rows = sa.exists().where(run_summaries.c.run_id == runs.c.run_id)
    shown = sa.or_(has_rows, runs.c.run_id == newest)
    query = sa.select(runs).where(shown).order_by(runs.c.run_id.desc()).limit(limit)
    found = await _runs(store, query if before is None else query.where(runs.c.run_id < before))
    async with store.reading() as connection:
        total = (await connection.execute(sa.select(sa.func.count()).select_from(runs).where(shown))).scalar_one()
    return found, int(total)


async def run_picture(store: Store, run_id: int) -> str | None:
    """Return the last that was shown of a run, if it was kept."""
    query = sa.select(run_pictures.c.picture).where(run_pictures.c.run_id == run_id)
    async with store.reading() as connection:
        return (await connection.execute(query)).scalar_one_or_none()


async def kept_pictures(store: Store, run_ids: Iterable[int]) -> set[int]:
    """Return those of the runs whose last picture is kept."""
    query = sa.select(run_pictures.c.run_id).where(run_pictures.c.run_id.in_(list(run_ids)))
    async with store.reading() as connection:
        return set((await connection.execute(query)).scalars())


async def _runs(store: Store, query: sa.Select[Any]) -> list[RunRecord]:
    async with store.reading() as connection:
        found = (await connection.execute(query)).mappings().all()
    return [RunRecord(**{**record, "plan": as_placed(record["plan"], store.files)}) for record in found]


async def set_run_state(store: Store, run_id: int, state: str, controls: Mapping[str, Any] | None = None) -> None:
    """Note the state (and, where given, the controls) that a run is in, so that a restart finds it again.

    A run that has ended stays so, whatever is noted late.
    """
    values: dict[str, Any] = {"state": state} if controls is None else {"state": state, "controls": dict(controls)}
    goes_on = sa.and_(runs.c.run_id == run_id, runs.c.state != ENDED)
    async with store.writing() as connection:
        outcome = await connection.execute(sa.update(runs).where(goes_on).values(**values))
    if outcome.rowcount != 1 and await get_run(store, run_id) is None:
        raise StorageError(f"{store.name} has no run {run_id}.")


async def next_task_id(store: Store) -> int:
    """Return the lowest task id that was never stored, in any run, cleared or not."""
    async with store.reading() as connection:
        return int((await connection.execute(sa.select(totals.c.next_task_id))).scalar_one())


async def latest_checkpoint(store: Store, run_id: int) -> CheckpointRow | None:
    """Return the newest checkpoint of a run."""
    columns = row_columns(checkpoints, CheckpointRow)
    query = sa.select(*columns).where(checkpoints.c.run_id == run_id).order_by(checkpoints.c.boundary.desc()).limit(1)
    async with store.reading() as connection:
        record = (await connection.execute(query)).one_or_none()
    return None if record is None else CheckpointRow(*record)


async def events_since(store: Store, run_id: int, boundary: int = 0) -> list[EventRow]:
    """Return the events of a run at or after a task boundary, in the order they happened."""
    query = sa.select(*row_columns(events, EventRow)).where(events.c.run_id == run_id, events.c.boundary >= boundary)
    async with store.reading() as connection:
        return [EventRow(*record) for record in await connection.execute(query.order_by(events.c.sequence))]


async def event_history(
    store: Store, *, kind: str | None = None, run_id: int | None = None, limit: int = 100
) -> list[EventRow]:
    """Return the newest events of one run, or of all, newest first."""
    order = (events.c.run_id.desc(), events.c.sequence.desc())
    query = sa.select(*row_columns(events, EventRow)).order_by(*order).limit(limit)
    if kind is not None:
        query = query.where(events.c.kind == kind)
    if run_id is not None:
        query = query.where(events.c.run_id == run_id)
    async with store.reading() as connection:
        return [EventRow(*record) for record in await connection.execute(query)]
