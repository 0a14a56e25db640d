"""Who a database is, so that what several of them keep in one Redis stays apart."""

from __future__ import annotations

import hashlib
from pathlib import Path

import sqlalchemy as sa

from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import totals

__all__ = ["identity"]


async def identity(store: Store) -> str:
    """Return a name that no other database has: drawn when it was made, and its place, since files are copied."""
    async with store.reading() as connection:
        drawn = (await connection.execute(sa.select(totals.c.identity))).scalar_one()
        if store.is_postgres:
            place = str((await connection.execute(sa.select(sa.func.current_database()))).scalar_one())
        else:
            place = str(Path(str(store.engine.url.database)).resolve())
    return hashlib.sha256(f"{drawn} {place}".encode()).hexdigest()[:16]
