"""Migrations: they travel inside the package, so an installed wheel can bring a database up to date."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from hybrid_ml_scheduler.storage.connect.store import Store, connect
from hybrid_ml_scheduler.storage.errors import StorageError

__all__ = ["SchemaState", "check", "require_current", "upgrade"]

_LOCK = 0x484D5331  # any number that only this product locks

_STEP_TIMEOUT_S = 3600.0  # a step over a large history takes its time


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaState:
    """Which revision a database has (`None`: it is empty), and which one this version of the product needs."""

    name: str
    current: str | None
    head: str
    known: bool

    @property
    def behind(self) -> bool:
        """Whether the database must be upgraded."""
        return self.known and self.current != self.head

    @property
    def sentence(self) -> str:
        """Say it to a person."""
        if not self.known:
            return f"{self.name} has schema {self.current}, which is newer than this version of hms knows."
        if self.current is None:
            return f"{self.name} is empty; run 'hms db upgrade'."
        if self.behind:
            return f"{self.name} has schema {self.current} and needs {self.head}; run 'hms db upgrade'."
        return f"{self.name} is up to date (schema {self.current})."


async def upgrade(url: str, *, timeout_s: float = 5.0) -> SchemaState:
    """Bring a database to this version's schema, creating a SQLite file where there is none; harmless when repeated."""
    store = await connect(url, timeout_s=timeout_s, command_timeout_s=_STEP_TIMEOUT_S, create=True)
    try:
        state = await _state(store)
        if not state.known:
            raise StorageError(state.sentence)
        if state.behind:
            async with store.writing() as connection:
                await connection.run_sync(_upgrade)
        return await _state(store)
    finally:
        await store.close()


async def check(url: str, *, timeout_s: float = 5.0) -> SchemaState:
    """Say whether a database is up to date, without changing it."""
    store = await connect(url, timeout_s=timeout_s)
    try:
        return await _state(store)
    finally:
        await store.close()


async def require_current(store: Store) -> None:
    """Refuse a database whose schema is not the one this version works with."""
    state = await _state(store)
    if state.behind or not state.known:
        raise StorageError(state.sentence)


async def _state(store: Store) -> SchemaState:
    async with store.reading() as connection:
        current = await connection.run_sync(_current)
    scripts = ScriptDirectory.from_config(_config())
    revisions = {script.revision for script in scripts.walk_revisions()}
    known = current is None or current in revisions
    return SchemaState(name=store.name, current=current, head=str(scripts.get_current_head()), known=known)


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config


def _current(connection: sa.Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _upgrade(connection: sa.Connection) -> None:
    if connection.dialect.name == "postgresql":  # two servers may start at the same moment
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
