"""One service at a time writes to a database; whoever lost it writes nothing more."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace

import pytest

from hybrid_ml_scheduler.storage import (
    NotOwnerError,
    StorageError,
    Store,
    StoreWriter,
    apply_retention,
    check,
    integrity,
    next_task_id,
    open_store,
    ownership,
    set_run_state,
    upgrade,
    write_batch,
)
from hybrid_ml_scheduler.storage.connect import ownership as owning
from tests.conftest import administer
from tests.contracts.storage import samples
from tests.waiting import within

PATIENCE_S = 60.0
HOLDER = """
import asyncio, sys
from hybrid_ml_scheduler.storage import ownership
async def hold():
    async with ownership(sys.argv[1]):
        print("owned", flush=True)
        await asyncio.sleep(600)
asyncio.run(hold())
"""
HOLDERS = (
    f"SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = {owning._LOCK}"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


async def holders(store: Store) -> list[int]:
    """The sessions that hold the lock."""
    async with store.reading() as connection:
        return list((await connection.exec_driver_sql(HOLDERS)).scalars())


def end_session(url: str) -> None:
    """Cut the connection that holds the lock."""
    administer(url, f"SELECT pg_terminate_backend(pid, 60000) FROM ({HOLDERS}) AS holder")


async def test_a_second_owner_is_refused_until_the_first_has_gone(store_url: str) -> None:
    async with ownership(store_url) as first:
        with pytest.raises(StorageError, match="in use by another service, and only one"):
            async with ownership(store_url, patience_s=0.0):
                pass
    async with ownership(store_url, patience_s=PATIENCE_S) as second:
        assert second != first


async def test_whoever_waits_long_enough_gets_it(store_url: str) -> None:
    async def successor() -> str:
        async with ownership(store_url, patience_s=PATIENCE_S) as mark:
            return mark

    async with ownership(store_url):
        waiting = asyncio.create_task(successor())
        await asyncio.sleep(0.2)
        assert not waiting.done()
    assert await waiting


async def test_an_owner_that_was_killed_holds_nobody_up(store_url: str) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLDER, store_url], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"owned\n"
    with pytest.raises(StorageError, match="in use"):
        async with ownership(store_url, patience_s=0.0):
            pass
    process.kill()
    process.communicate()
    async with ownership(store_url, patience_s=PATIENCE_S):
        pass


async def test_others_may_look_export_and_upgrade_beside_the_owner(empty_url: str) -> None:
    async with ownership(empty_url) as mark:
        assert not (await upgrade(empty_url)).behind
        assert not (await check(empty_url)).behind
        mine, visitor = await open_store(empty_url, owner=mark), await open_store(empty_url)
        await write_batch(mine, samples.batch(await samples.new_run(mine), 0, 5))
        assert (await integrity(visitor)).tasks == 5
        await mine.close()
        await visitor.close()


async def test_the_lock_is_taken_again_after_its_session_was_cut(
    migrated_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = migrated_postgres_url
    monkeypatch.setattr(owning, "_LOOK_EVERY_S", 0.01)
    async with ownership(url) as mark:
        store = await open_store(url, owner=mark)
        before = await holders(store)
        end_session(url)
        async with within(PATIENCE_S):
            while not (found := await holders(store)) or found == before:
                await asyncio.sleep(0.01)
        with pytest.raises(StorageError, match="in use"):
            async with ownership(url, patience_s=0.0):
                pass
        await samples.new_run(store)
        await store.close()


async def test_who_was_followed_by_another_writes_nothing_more_even_when_that_one_has_gone(
    migrated_postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = migrated_postgres_url
    monkeypatch.setattr(owning, "_LOOK_EVERY_S", PATIENCE_S)
    async with ownership(url) as first:
        mine, writer = await open_store(url, owner=first), StoreWriter(url, owner=first)
        run_id = await samples.new_run(mine)
        end_session(url)
        async with ownership(url, patience_s=PATIENCE_S):
            with pytest.raises(NotOwnerError, match="taken over"):
                await samples.new_run(mine)
        writer.put(samples.batch(run_id, 0, 5))
        writer.start()
        assert not writer.flush(PATIENCE_S)
        assert "taken over by another service" in str(writer.health().last_error)
        assert await next_task_id(mine) == 0
        assert not writer.close(PATIENCE_S)
        await mine.close()


async def test_what_was_begun_before_another_takes_over_is_finished_before_it(migrated_postgres_url: str) -> None:
    url = migrated_postgres_url
    async with ownership(url, patience_s=PATIENCE_S) as first:
        mine = await open_store(url, owner=first)
        run_id = await samples.new_run(mine)
        async with mine.writing() as connection:
            signing = asyncio.create_task(owning._sign(url, "another", PATIENCE_S))
            async with within(PATIENCE_S):
                while not await waiting_for_locks(mine):
                    await asyncio.sleep(0.01)
            await connection.exec_driver_sql(f"UPDATE runs SET seed = 99 WHERE run_id = {run_id}")
            assert not signing.done(), "nobody takes over between a look at the mark and the commit"
        await signing
        async with mine.reading() as connection:
            assert (await connection.exec_driver_sql("SELECT seed FROM runs")).scalar_one() == 99
        for late in (
            samples.new_run(mine),
            set_run_state(mine, run_id, "paused"),
            apply_retention(mine, keep_tasks=1),
            write_batch(mine, samples.batch(run_id, 0, 5)),
        ):
            with pytest.raises(NotOwnerError):
                await late
        await mine.close()


async def waiting_for_locks(store: Store) -> int:
    """How many sessions wait for somebody else's transaction."""
    async with store.reading() as connection:
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        return int((await connection.exec_driver_sql(waiting)).scalar_one())


async def test_writers_of_every_kind_take_turns_without_a_deadlock(migrated_postgres_url: str) -> None:
    url = migrated_postgres_url
    async with ownership(url, patience_s=PATIENCE_S) as mark:
        mine, other = await open_store(url, owner=mark), await open_store(url, owner=mark)
        run_id = await samples.new_run(mine)

        async def batches() -> None:
            for first in range(0, 400, 10):
                part = samples.batch(run_id, first, 10)
                await write_batch(mine, replace(part, checkpoint=samples.checkpoint(run_id, first + 10)))

        async def states() -> None:
            for number in range(80):
                await set_run_state(other, run_id, "paused" if number % 2 else "running", {"speed": number})

        async def retention() -> None:
            for _ in range(10):
                await apply_retention(other, keep_tasks=50, chunk_tasks=20)

        async with within(PATIENCE_S):
            await asyncio.gather(batches(), states(), retention())
        assert (await integrity(mine)).whole
        assert await next_task_id(mine) == 400
        for store in (mine, other):
            await store.close()
