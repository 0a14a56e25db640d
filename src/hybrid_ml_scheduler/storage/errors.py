"""What can go wrong with a store, in two kinds: it is away, or it refuses."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator

import asyncpg
import sqlalchemy.exc

from hybrid_ml_scheduler.core.errors import StorageError
from hybrid_ml_scheduler.core.text import plain_text

__all__ = [
    "DRIVER_ERRORS",
    "NotOwnerError",
    "ReplayError",
    "StorageError",
    "StoreUnavailableError",
    "is_refusal",
    "short_reason",
    "storage_error",
]

# Everything that a driver, its pool or its socket may raise.
DRIVER_ERRORS = (
    sqlalchemy.exc.SQLAlchemyError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    sqlite3.Error,
    OSError,
    asyncio.TimeoutError,
)

# Classes of SQLSTATE that trying again cannot mend: data, integrity, authorisation, catalog, syntax.
_FINAL_STATES = frozenset({"22", "23", "28", "3D", "42"})


class StoreUnavailableError(StorageError):
    """The database cannot be reached now; trying again later may help (HTTP 503)."""


class NotOwnerError(StorageError):
    """Another service owns the database now; what this one holds must not be written."""


class ReplayError(StorageError):
    """What was computed again is not what had been stored."""


def _links(problem: BaseException) -> Iterator[BaseException]:
    """Yield the problem and what lies under it: SQLAlchemy wraps its own form of the driver's error."""
    link: BaseException | None = problem
    seen = 0
    while link is not None and seen < 6:
        yield link
        link = getattr(link, "orig", None) or link.__cause__
        seen += 1


def is_refusal(problem: BaseException) -> bool:
    """Whether the store answered and said no, so that trying again is useless."""
    for link in _links(problem):
        state = getattr(link, "sqlstate", None)
        if isinstance(state, str):
            return state[:2] in _FINAL_STATES
        if isinstance(link, sqlite3.OperationalError):
            return "no such" in str(link) or "has no column" in str(link)
        if isinstance(link, (sqlite3.Error, ValueError, TypeError, OverflowError)):
            return True
    return isinstance(problem, sqlalchemy.exc.SQLAlchemyError) and not isinstance(
        problem, (sqlalchemy.exc.TimeoutError, sqlalchemy.exc.DBAPIError, sqlalchemy.exc.ResourceClosedError)
    )


def short_reason(problem: BaseException) -> str:
    """Return the innermost reason as one short line that every encoder and every database takes."""
    innermost = list(_links(problem))[-1]
    silent = "no answer in time" if isinstance(innermost, asyncio.TimeoutError) else type(innermost).__name__
    text = " ".join(plain_text(innermost).split()) or silent
    return text if len(text) <= 200 else text[:197] + "..."


def storage_error(problem: BaseException, name: str) -> StorageError:
    """Return what a caller should see: one sentence naming the store, never its password."""
    reason = short_reason(problem).rstrip(".")
    if is_refusal(problem):
        return StorageError(f"{name} refused: {reason}.")
    return StoreUnavailableError(f"{name} does not answer: {reason}.")
