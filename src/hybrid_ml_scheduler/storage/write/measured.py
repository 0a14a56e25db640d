"""Real runs among the stored ones: their tasks have ids below zero, so that no race is in their way or they in its.

A race counts its tasks upwards and goes on while a real run is stored. Ids below zero are the oldest in every query
that asks for the newest tasks, and belong to a range that was set aside when the run began.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import runs, totals
from hybrid_ml_scheduler.storage.errors import StorageError

__all__ = ["MEASURED", "begin_measured_run", "note_measured_run"]

# The state of a run that was measured: it is never continued, and never ends because another one begins.
MEASURED = "measured"


async def begin_measured_run(
    store: Store,
    *,
    plan: Mapping[str, Any],
    seed: int,
    versions: Mapping[str, Any],
    facts: Mapping[str, Any],
    tasks: int,
    name: str = "",
) -> int:
    """Begin a real run of so many tasks and return its id; `first_task` of its record is its first task's id."""
    async with store.writing() as connection:
        await connection.execute(sa.select(totals.c.id).with_for_update())
        taken = (await connection.execute(sa.select(sa.func.min(runs.c.first_task)))).scalar_one()
        values = {"plan": dict(plan), "seed": seed, "versions": dict(versions), "controls": dict(facts)}
        insert = sa.insert(runs).values(
            **values, state=MEASURED, created_at=time.time(), name=name, first_task=min(taken or 0, 0) - tasks
        )
        return int((await connection.execute(insert.returning(runs.c.run_id))).scalar_one())


async def note_measured_run(store: Store, run_id: int, facts: Mapping[str, Any]) -> None:
    """Replace what is known about a real run."""
    own = sa.and_(runs.c.run_id == run_id, runs.c.state == MEASURED)
    async with store.writing() as connection:
        changed = await connection.execute(sa.update(runs).where(own).values(controls=dict(facts)))
    if changed.rowcount != 1:
        raise StorageError(f"{store.name} has no real run {run_id}.")
