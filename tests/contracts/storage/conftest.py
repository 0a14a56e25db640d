"""Every test that takes `store_url` or `store` runs on both databases."""

from __future__ import annotations

import asyncio
import shutil
import threading
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from hybrid_ml_scheduler.storage import Store, open_store, upgrade
from hybrid_ml_scheduler.storage.connect.tables import metadata, totals
from tests.conftest import administer


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'history.db'}"
    return str(request.getfixturevalue("fresh_postgres_url"))


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the schema, to be copied: quicker than migrating for every test."""
    path = tmp_path_factory.mktemp("template") / "template.db"
    migrate(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def shared_postgres_url(postgres_url: str) -> Iterator[str]:
    """Address of a database with the schema that tests use one after the other."""
    name = f"hms_shared_{uuid.uuid4().hex}"
    administer(postgres_url, f"CREATE DATABASE {name}")
    url = postgres_url.rsplit("/", 1)[0] + "/" + name
    migrate(url)
    yield url
    administer(postgres_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def migrated_postgres_url(shared_postgres_url: str) -> str:
    """Address of a PostgreSQL database with the schema and no row."""
    names = ", ".join(table for table in metadata.tables if table != "totals")
    zero = ", ".join(f"{column.name} = 0" for column in totals.c if column.name not in ("id", "identity"))
    administer(shared_postgres_url, f"TRUNCATE {names} RESTART IDENTITY; UPDATE totals SET {zero}")
    return shared_postgres_url


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Address of a database with the schema and no row."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("migrated_postgres_url"))
    path = tmp_path / "history.db"
    shutil.copy(request.getfixturevalue("sqlite_template"), path)
    return f"sqlite:///{path}"


@pytest.fixture
async def store(store_url: str) -> AsyncIterator[Store]:
    """An open database with the schema and no row."""
    opened = await open_store(store_url)
    yield opened
    await opened.close()


def migrate(url: str) -> None:
    """Upgrade on a thread of its own, outside any test's loop."""
    thread = threading.Thread(target=lambda: asyncio.run(upgrade(url)))
    thread.start()
    thread.join()
