"""Migrations: from nothing to today's schema, the same on both databases."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from hybrid_ml_scheduler.storage import (
    StorageError,
    Store,
    TaskRow,
    check,
    identity,
    open_store,
    task_history,
    upgrade,
)
from hybrid_ml_scheduler.storage.connect.store import connect
from hybrid_ml_scheduler.storage.connect.tables import metadata
from tests.contracts.storage import samples


async def test_an_empty_database_comes_up_to_date_and_a_second_time_changes_nothing(empty_url: str) -> None:
    first = await upgrade(empty_url)
    assert not first.behind
    assert first.current == first.head
    assert await upgrade(empty_url) == first


async def test_check_says_that_an_empty_database_is_behind(empty_url: str) -> None:
    store = await connect(empty_url, timeout_s=60.0, create=True)
    await store.close()
    state = await check(empty_url)
    assert state.behind
    assert state.current is None
    assert "hms db upgrade" in state.sentence


async def test_opening_a_database_that_is_behind_is_refused_with_the_way_out(empty_url: str) -> None:
    store = await connect(empty_url, timeout_s=60.0, create=True)
    await store.close()
    with pytest.raises(StorageError, match="hms db upgrade"):
        await open_store(empty_url)


async def test_a_database_from_the_future_is_refused(empty_url: str) -> None:
    await upgrade(empty_url)
    store = await open_store(empty_url)
    async with store.writing() as connection:
        await connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    await store.close()
    assert not (await check(empty_url)).known
    for attempt in (upgrade, open_store):
        with pytest.raises(StorageError, match="newer"):
            await attempt(empty_url)


async def named(url: str) -> str:
    store = await open_store(url)
    name = await identity(store)
    await store.close()
    return name


async def test_a_database_has_a_name_of_its_own_that_stays(empty_url: str, tmp_path: Path) -> None:
    await upgrade(empty_url)
    name = await named(empty_url)
    await upgrade(empty_url)
    another = f"sqlite:///{tmp_path / 'another.db'}"
    await upgrade(another)
    assert await named(empty_url) == name
    assert await named(another) != name


async def test_a_copy_of_a_database_has_another_name(sqlite_template: Path, tmp_path: Path) -> None:
    for copy in ("one.db", "two.db"):
        shutil.copy(sqlite_template, tmp_path / copy)
    assert await named(f"sqlite:///{tmp_path / 'one.db'}") != await named(f"sqlite:///{tmp_path / 'two.db'}")


async def test_the_migrations_build_exactly_the_declared_tables(store: Store) -> None:
    def differences(connection: sa.Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), metadata))

    async with store.reading() as connection:
        assert await connection.run_sync(differences) == []


async def test_a_task_stored_before_it_could_say_more_is_divisible_without_a_deadline_on_one_gpu(store: Store) -> None:
    old: dict[str, Any] = {"task_id": 0, "run_id": await samples.new_run(store), "size": 5.0, "compute_intensity": 0.5}
    old |= {"memory_required": 1.0, "arrival_time": 0.0, "dependencies": "[]"}
    places = ", ".join(f":{name}" for name in old)
    async with store.writing() as connection:
        await connection.execute(sa.text(f"INSERT INTO tasks ({', '.join(old)}) VALUES ({places})"), old)
    found = await task_history(store, 0)
    assert found is not None
    assert found.task == TaskRow(**old)


async def test_postgresql_does_not_compress_checkpoints(migrated_postgres_url: str) -> None:
    store = await open_store(migrated_postgres_url)
    query = "SELECT attstorage::text FROM pg_attribute WHERE attrelid = 'checkpoints'::regclass AND attname = 'blob'"
    try:
        async with store.reading() as connection:
            assert (await connection.exec_driver_sql(query)).scalar_one() == "e"
    finally:
        await store.close()
