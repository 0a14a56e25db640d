"""Opening a database: one `Store` for one event loop, whichever database it is."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from hybrid_ml_scheduler.storage.connect.address import parse_address, public_name
from hybrid_ml_scheduler.storage.errors import (
    DRIVER_ERRORS,
    NotOwnerError,
    StorageError,
    StoreUnavailableError,
    is_refusal,
    short_reason,
    storage_error,
)
from hybrid_ml_scheduler.storage.records import StoreHealth

__all__ = ["Store", "cancel_and_wait", "connect", "open_store", "ping", "require_file"]

_CONNECT_TIMEOUT_S = 2.0
_COMMAND_TIMEOUT_S = 10.0
_POOL_TIMEOUT_S = 5.0
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 0.5

_PRAGMAS = (
    "PRAGMA busy_timeout = 10000",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",  # a power cut may cost the newest commits, never the order of them
    "PRAGMA foreign_keys = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -8192",  # for each connection; a large removal fills it and never gives it back
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """An open database; belongs to the event loop that opened it. Plans name files of the folder `files`."""

    engine: AsyncEngine
    name: str
    owner: str | None = None
    files: Path | None = None

    @property
    def is_postgres(self) -> bool:
        """Whether this is PostgreSQL (else SQLite)."""
        return self.engine.dialect.name == "postgresql"

    @contextlib.asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection for queries; whatever the driver raises becomes a `StorageError`."""
        try:
            async with self.engine.connect() as connection:
                yield connection
        except DRIVER_ERRORS as problem:
            raise storage_error(problem, self.name) from problem

    @contextlib.asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """Give a connection inside a transaction that is committed at the end, or not at all.

        A store that was opened by its owner is committed to only while its mark stands there (`storage.ownership`).
        """
        try:
            async with self.engine.connect() as connection:
                await connection.execution_options(hms_writes=True)
                async with connection.begin():
                    await self._require_mark(connection)
                    yield connection
        except DRIVER_ERRORS as problem:
            raise storage_error(problem, self.name) from problem

    async def _require_mark(self, connection: AsyncConnection) -> None:
        """Hold the mark until the end of the transaction: whoever signs next waits for it and sees what it has written.

        All who write lock this line first, so none of them waits for another crosswise. On SQLite the lock on the file
        is enough: it cannot be lost.
        """
        if self.owner is None or not self.is_postgres:
            return
        if (await connection.execute(sa.text("SELECT owner FROM totals FOR UPDATE"))).scalar_one() != self.owner:
            raise NotOwnerError(f"{self.name} was taken over by another service; this one writes nothing more.")

    async def close(self) -> None:
        """Give back every connection."""
        await self.engine.dispose()


async def open_store(
    url: str,
    *,
    timeout_s: float = 5.0,
    command_timeout_s: float = _COMMAND_TIMEOUT_S,
    owner: str | None = None,
    files: Path | None = None,
) -> Store:
    """Open a database whose schema is up to date; try for `timeout_s` seconds if it does not answer.

    Later, a PostgreSQL that takes longer than `command_timeout_s` for one command counts as away. With the mark of an
    `owner`, nothing is written once another service owns the database.
    """
    from hybrid_ml_scheduler.storage.connect.schema import require_current

    store = await connect(url, timeout_s=timeout_s, command_timeout_s=command_timeout_s)
    try:
        await require_current(store)
    except StorageError:
        await store.close()
        raise
    return replace(store, owner=owner, files=files)


async def connect(
    url: str, *, timeout_s: float, command_timeout_s: float = _COMMAND_TIMEOUT_S, create: bool = False
) -> Store:
    """Open a database whatever its schema; a missing SQLite file is an error unless `create`."""
    address = parse_address(url)
    if address.drivername.startswith("sqlite"):
        require_file(address, create)
    store = Store(engine=_engine(address, command_timeout_s), name=public_name(address))
    try:
        await _await_answer(store, timeout_s)
    except StorageError:
        await store.close()
        raise
    return store


async def ping(store: Store, *, timeout_s: float = 1.0) -> StoreHealth:
    """Ask the database for a sign of life; never raises."""
    begin_s = time.perf_counter()
    try:
        await asyncio.wait_for(_touch(store), timeout_s)
    except asyncio.TimeoutError:
        return StoreHealth(ok=False, latency_s=None, sentence=f"{store.name} did not answer within {timeout_s:g} s.")
    except StorageError as problem:
        return StoreHealth(ok=False, latency_s=None, sentence=str(problem))
    return StoreHealth(ok=True, latency_s=time.perf_counter() - begin_s, sentence=f"{store.name} answers.")


async def _touch(store: Store) -> None:
    async with store.reading() as connection:
        await connection.execute(sa.text("SELECT 1"))


def require_file(address: URL, create: bool) -> None:
    """Refuse a SQLite file that is not there; with `create`, make its folder instead."""
    path = Path(str(address.database))
    if create:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise StorageError(f"The folder of {public_name(address)} cannot be made: {problem.strerror}.") from problem
    elif not path.is_file():
        raise StorageError(f"{public_name(address)} does not exist; run 'hms db upgrade' to create it.")


def _engine(address: URL, command_timeout_s: float) -> AsyncEngine:
    if address.drivername.startswith("sqlite"):
        engine = create_async_engine(address, pool_size=4, max_overflow=4, pool_timeout=_POOL_TIMEOUT_S)
        sa.event.listen(engine.sync_engine, "connect", _prepare_sqlite)
        sa.event.listen(engine.sync_engine, "begin", _begin_sqlite)
        return engine
    return create_async_engine(
        address,
        pool_size=4,
        max_overflow=8,
        pool_timeout=_POOL_TIMEOUT_S,
        pool_pre_ping=True,
        connect_args={"timeout": _CONNECT_TIMEOUT_S, "command_timeout": command_timeout_s},
    )


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # we begin transactions ourselves, see below
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    """Take the write lock at the beginning: a reader that turns writer half-way cannot be made to wait."""
    writes = connection.get_execution_options().get("hms_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


async def _await_answer(store: Store, timeout_s: float) -> None:
    begin_s, pause_s = time.monotonic(), _FIRST_PAUSE_S
    while True:
        try:
            async with store.engine.connect() as connection:
                await connection.execute(sa.text("SELECT 1"))
            return
        except DRIVER_ERRORS as problem:
            if is_refusal(problem):
                raise StorageError(f"{store.name} refused: {short_reason(problem).rstrip('.')}.") from problem
            tried_s = time.monotonic() - begin_s
            if tried_s + pause_s > timeout_s:
                raise StoreUnavailableError(
                    f"{store.name} is unreachable; tried for {tried_s:.1f} s ({short_reason(problem).rstrip('.')})."
                ) from problem
        await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


_ASK_AGAIN_S = 0.5


async def cancel_and_wait(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait until they have ended; what they raise is for others to look at.

    They are asked again: up to Python 3.11 `asyncio.wait_for`, which drivers use too, forgets a cancellation that comes
    together with what it waits for, and the task goes on as if nothing had been said.
    """
    going_on = {task for task in tasks if not task.done()}
    while going_on:
        for task in going_on:
            task.cancel()
        _, going_on = await asyncio.wait(going_on, timeout=_ASK_AGAIN_S)
