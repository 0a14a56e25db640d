"""Which database URLs are understood: how each may begin, and the asynchronous driver that serves it."""

from __future__ import annotations

__all__ = ["DRIVERS"]

_SQLITE = "sqlite+aiosqlite"
_POSTGRESQL = "postgresql+asyncpg"

DRIVERS = {
    "sqlite": _SQLITE,
    _SQLITE: _SQLITE,
    "postgres": _POSTGRESQL,
    "postgresql": _POSTGRESQL,
    _POSTGRESQL: _POSTGRESQL,
}
