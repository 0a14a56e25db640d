"""Database addresses: what is accepted, and how one is shown without its password."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import URL

from hybrid_ml_scheduler.core.errors import ConfigurationError

__all__ = ["DRIVERS", "parse_address", "public_name"]

_SQLITE = "sqlite+aiosqlite"
_POSTGRESQL = "postgresql+asyncpg"

# How a URL may begin, and the asynchronous driver that serves it.
DRIVERS = {
    "sqlite": _SQLITE,
    _SQLITE: _SQLITE,
    "postgres": _POSTGRESQL,
    "postgresql": _POSTGRESQL,
    _POSTGRESQL: _POSTGRESQL,
}

_FORMS = "sqlite:///file.db or postgresql://user:password@host:5432/database"


def parse_address(url: str) -> URL:
    """Return the address with its async driver, or refuse it in one sentence that holds no secret."""
    try:
        address = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise ConfigurationError(f"The database URL cannot be read; it should look like {_FORMS}.") from None
    driver = DRIVERS.get(address.drivername)
    if driver is None:
        raise ConfigurationError(f"The database URL begins with {address.drivername!r}; it should look like {_FORMS}.")
    address = address.set(drivername=driver)
    return _checked_file(address) if driver.startswith("sqlite") else _checked_server(address)


def _checked_file(address: URL) -> URL:
    if not address.database or ":memory:" in address.database:
        raise ConfigurationError("The SQLite URL names no file; it should look like sqlite:///history.db.")
    if Path(address.database).is_dir():
        raise ConfigurationError(f"The SQLite URL names a folder, {address.database}; a file is needed.")
    if address.query or address.database.startswith("file:"):
        raise ConfigurationError("The SQLite URL has options; it can only name a file, as in sqlite:///history.db.")
    return address


def _checked_server(address: URL) -> URL:
    if not address.host or not address.database:
        raise ConfigurationError(f"The PostgreSQL URL names no host or no database; it should look like {_FORMS}.")
    if "sslmode" in address.query:  # libpq's name for what the driver calls ssl
        mode = str(address.query["sslmode"])
        address = address.difference_update_query(["sslmode"]).update_query_dict({"ssl": mode})
    return address


def public_name(address: URL) -> str:
    """Return the store's name for messages and health: kind and place, no user, no password."""
    if address.drivername.startswith("sqlite"):
        return f"SQLite {address.database}"
    return f"PostgreSQL {address.host}:{address.port or 5432}/{address.database}"
