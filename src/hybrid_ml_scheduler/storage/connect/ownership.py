"""One service at a time writes to a database.

A lock keeps a second service from starting: on PostgreSQL an advisory lock of a session of its own, on SQLite a lock
on a file beside the database. Both end with the process, however it ends. A session can also be lost while the process
lives; so the owner's mark stands in the table of totals, and nobody else's transaction is committed (`Store.writing`).
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.storage.connect.address import parse_address, public_name
from hybrid_ml_scheduler.storage.connect.schema import upgrade
from hybrid_ml_scheduler.storage.connect.store import Store, cancel_and_wait, connect, require_file
from hybrid_ml_scheduler.storage.connect.tables import totals
from hybrid_ml_scheduler.storage.errors import DRIVER_ERRORS, StorageError, storage_error

__all__ = ["identity", "ownership"]

_LOCK = 0x484D5332  # any number that only this product locks
_FILE_PATIENCE_S = 1.0
_SERVER_PATIENCE_S = 5.0
_PAUSE_S = 0.1
_LOOK_EVERY_S = 1.0
# A machine that vanished without a word: its session ends after about this many seconds, not after hours.
_KEEPALIVES = {"tcp_keepalives_idle": 10, "tcp_keepalives_interval": 3, "tcp_keepalives_count": 3}


@contextlib.asynccontextmanager
async def ownership(url: str, *, timeout_s: float = 5.0, patience_s: float | None = None) -> AsyncIterator[str]:
    """Own a database and bring its schema up to date; gives the mark for `open_store` and `StoreWriter`.

    While there is another owner, it is tried for `patience_s` before it is refused with a sentence: what was killed
    needs a moment to be gone, and a server another one to notice.
    """
    address, mark = parse_address(url), uuid.uuid4().hex
    if address.drivername.startswith("sqlite"):
        require_file(address, create=True)
        wait_s = _FILE_PATIENCE_S if patience_s is None else patience_s
        lock = _locked_file(Path(str(address.database)), public_name(address), wait_s)
    else:
        wait_s = _SERVER_PATIENCE_S if patience_s is None else patience_s
        lock = _locked_session(url, mark, timeout_s, wait_s)
    async with lock:
        await upgrade(url, timeout_s=timeout_s)
        await _sign(url, mark, timeout_s)
        yield mark


async def _sign(url: str, mark: str, timeout_s: float) -> None:
    """Write the mark; this waits for what an earlier owner had begun, so that its rows are seen from here on."""
    store = await connect(url, timeout_s=timeout_s)
    try:
        async with store.writing() as connection:
            await connection.execute(sa.update(totals).values(owner=mark))
    finally:
        await store.close()


async def _patiently(take: Callable[[], Awaitable[bool]], name: str, patience_s: float) -> None:
    deadline_s = time.monotonic() + patience_s
    while not await take():
        if time.monotonic() >= deadline_s:
            raise StorageError(
                f"{name} is in use by another service, and only one at a time may write to it; "
                "stop that one or name another database."
            )
        await asyncio.sleep(_PAUSE_S)


@contextlib.asynccontextmanager
async def _locked_file(database: Path, name: str, patience_s: float) -> AsyncIterator[None]:
    """Lock a file beside the database; the database itself is SQLite's to lock. The file stays, the lock does not."""
    resolved = database.resolve()
    try:
        descriptor = os.open(resolved.with_name(resolved.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as problem:
        raise StorageError(f"{name} cannot be locked: {problem.strerror}.") from problem

    async def take() -> bool:
        return _take_file(descriptor, name)

    try:
        await _patiently(take, name, patience_s)
        yield
    finally:
        os.close(descriptor)


def _take_file(descriptor: int, name: str) -> bool:
    try:
        import fcntl
    except ImportError:  # a system without such locks
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as problem:
        raise StorageError(f"{name} cannot be locked: {problem.strerror}.") from problem
    return True


@contextlib.asynccontextmanager
async def _locked_session(url: str, mark: str, timeout_s: float, patience_s: float) -> AsyncIterator[None]:
    store = await connect(url, timeout_s=timeout_s)
    session = _Session(store, mark)
    try:
        await _patiently(session.take, store.name, patience_s)
        watch = asyncio.create_task(session.watch())
        try:
            yield
        finally:
            await cancel_and_wait(watch)
    finally:
        await session.drop()
        await store.close()


class _Session:
    """A connection that holds the lock, and takes it again when it was lost."""

    def __init__(self, store: Store, mark: str) -> None:
        self._store = store
        self._mark = mark
        self._connection: AsyncConnection | None = None
        self._holds = False

    async def take(self) -> bool:
        """Try to take the lock; say whether this session has it."""
        try:
            connection = await self._connected()
            taken = await connection.execute(sa.select(sa.func.pg_try_advisory_lock(_LOCK)))
            self._holds = bool(taken.scalar_one())
        except DRIVER_ERRORS as problem:
            await self.drop()
            raise storage_error(problem, self._store.name) from problem
        return self._holds

    async def watch(self) -> None:
        """Look whether the session lives, and replace it; end when another service has been here meanwhile."""
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            with contextlib.suppress(StorageError):  # the database is away: look again
                if self._holds and await self._answers():
                    continue
                await self.take()
                if await self._is_signed_by_another():
                    await self.drop()
                    return

    async def _connected(self) -> AsyncConnection:
        if self._connection is None:
            self._connection = await self._store.engine.connect()
            await self._connection.execution_options(isolation_level="AUTOCOMMIT")
            for name, value in _KEEPALIVES.items():
                await self._connection.execute(sa.text(f"SET {name} = {value}"))
        return self._connection

    async def _answers(self) -> bool:
        try:
            await (await self._connected()).execute(sa.text("SELECT 1"))
        except DRIVER_ERRORS:
            await self.drop()
            return False
        return True

    async def _is_signed_by_another(self) -> bool:
        async with self._store.reading() as connection:
            return bool((await connection.execute(sa.select(totals.c.owner))).scalar_one() != self._mark)

    async def drop(self) -> None:
        """End the session, and the lock with it."""
        self._holds = False
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with contextlib.suppress(*DRIVER_ERRORS):
                await connection.invalidate()
                await connection.close()


async def identity(store: Store) -> str:
    """Return a name that no other database has: drawn when it was made, and its place, since files are copied."""
    async with store.reading() as connection:
        drawn = (await connection.execute(sa.select(totals.c.identity))).scalar_one()
        if store.is_postgres:
            place = str((await connection.execute(sa.select(sa.func.current_database()))).scalar_one())
        else:
            place = str(Path(str(store.engine.url.database)).resolve())
    return hashlib.sha256(f"{drawn} {place}".encode()).hexdigest()[:16]
