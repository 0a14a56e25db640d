"""Real servers that really go away, and a writing process that is really killed."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import time
from collections.abc import Callable

import psutil
import pytest

from hybrid_ml_scheduler.storage import (
    StorageError,
    Store,
    StoreUnavailableError,
    StoreWriter,
    data_counts,
    integrity,
    latest_checkpoint,
    next_task_id,
    open_store,
    ping,
    upgrade,
    verify_replay,
)
from hybrid_ml_scheduler.storage.connect.store import connect
from hybrid_ml_scheduler.storage.write import writer as writing
from tests import services
from tests.conftest import administer, alone_in
from tests.contracts.storage import samples
from tests.waiting import within

# Writes batches of 20 tasks for ever, each with its checkpoint, and says so.
KILLED_PROGRAM = """
import sys
from dataclasses import replace
from hybrid_ml_scheduler.storage import StoreWriter
from tests.contracts.storage import samples
url, run_id, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
writer = StoreWriter(url, capacity_rows=2000)
writer.start()
while True:
    batch = samples.batch(run_id, first, 20)
    first += 20
    writer.put(replace(batch, checkpoint=samples.checkpoint(run_id, first)))
    print(first, flush=True)
"""


PATIENCE_S = 60.0


def wait_until(holds: Callable[[], bool]) -> bool:
    deadline_s = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.01)
    return True


async def test_a_killed_writer_leaves_no_gap_no_duplicate_no_orphan(store: Store, store_url: str) -> None:
    run_id = await samples.new_run(store)
    for pause_s in (0.0, 0.05):
        boundary = await next_task_id(store)
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED_PROGRAM, store_url, str(run_id), str(max(0, boundary - 40))],
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        for _ in range(30):  # more than the backlog holds: some are stored for certain
            process.stdout.readline()
        time.sleep(pause_s)
        process.kill()
        process.communicate()
        if store.is_postgres:
            alone_in(store_url)
        found = await integrity(store)
        checkpoint = await latest_checkpoint(store, run_id)
        assert found.whole, found
        assert checkpoint is None or checkpoint.boundary == found.tasks == await next_task_id(store)
    assert found.tasks > 0
    await verify_replay(store, samples.batch(run_id, 0, found.tasks))
    counts = await data_counts(store)
    assert (counts.tasks, counts.results) == (found.tasks, found.results)


async def test_postgres_stopped_under_writes_loses_nothing_and_repeats_nothing() -> None:
    with services.postgres() as server:
        await upgrade(server.url)
        store = await open_store(server.url)
        run_id = await samples.new_run(store)
        writer = StoreWriter(server.url, capacity_rows=4000)
        writer.start()
        first = 0
        for end in (server.stop, server.kill):
            for _ in range(5):
                writer.put(samples.batch(run_id, first, 20))
                first += 20
            end()
            writer.put(samples.batch(run_id, first, 20))
            first += 20
            assert wait_until(lambda: writer.health().state == "down")
            health = writer.health()
            assert health.down_since is not None
            assert health.backlog_rows > 0
            assert health.last_error is not None
            assert not (await ping(store)).ok
            with pytest.raises(StoreUnavailableError):
                await next_task_id(store)
            server.start()
            assert writer.flush(PATIENCE_S)
            assert writer.health().state == "ok"
            assert (await ping(store, timeout_s=PATIENCE_S)).ok
        assert writer.close(PATIENCE_S)
        found = await integrity(store)
        assert found.whole
        assert found.tasks == first
        await verify_replay(store, samples.batch(run_id, 0, first))
        await store.close()


def test_an_idle_writer_knows_of_an_outage_after_two_seconds_at_most() -> None:
    """How often it looks, and how long it waits for the answer; what a busy machine adds is not its doing."""
    waits_s = inspect.signature(ping).parameters["timeout_s"].default
    assert writing._IDLE_CHECK_S + waits_s <= 2.0
    assert writing._SILENCE_S <= 2.0


async def test_an_idle_writer_notices_an_outage_and_its_end() -> None:
    with services.postgres() as server:
        await upgrade(server.url)
        writer = StoreWriter(server.url)
        writer.start()
        time.sleep(0.2)
        server.stop()
        assert wait_until(lambda: writer.health().state == "down")
        server.start()
        assert wait_until(lambda: writer.health().state == "ok")
        assert writer.close(PATIENCE_S)


async def test_a_database_that_hangs_counts_as_down_and_catches_up_when_it_wakes() -> None:
    with services.postgres() as server:
        await upgrade(server.url)
        store = await open_store(server.url)
        run_id = await samples.new_run(store)
        writer = StoreWriter(server.url)
        writer.start()
        writer.put(samples.batch(run_id, 0, 20))
        assert writer.flush(PATIENCE_S)
        processes = [psutil.Process(server.pid), *psutil.Process(server.pid).children()]
        for process in processes:
            process.suspend()
        writer.put(samples.batch(run_id, 20, 20))
        assert wait_until(lambda: writer.health().state == "down")
        # Which of its questions was the first to wait in vain is a matter of chance.
        assert re.search("has not answered|did not answer|unreachable", str(writer.health().last_error))
        assert not (await ping(store, timeout_s=0.3)).ok
        for process in processes:
            process.resume()
        assert writer.close(PATIENCE_S)
        assert (await integrity(store)).tasks == 40
        await store.close()


async def test_a_lost_answer_to_a_commit_does_not_repeat_rows(postgres_url: str, migrated_postgres_url: str) -> None:
    """Kill every connection again and again while writing; whatever had been committed is recognised."""
    store_url = migrated_postgres_url
    store = await open_store(store_url)
    run_id = await samples.new_run(store)
    writer = StoreWriter(store_url, capacity_rows=1000)
    writer.start()
    name = store_url.rsplit("/", 1)[1]
    for first in range(0, 600, 20):
        writer.put(samples.batch(run_id, first, 20))
        if first % 60 == 0:
            administer(postgres_url, f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    assert writer.close(PATIENCE_S)
    assert (await integrity(store)).whole
    assert await next_task_id(store) == 600
    await store.close()


async def test_an_unreachable_database_says_how_long_it_tried_and_no_secret() -> None:
    url = f"postgresql://hms:geheim@127.0.0.1:{services.free_port()}/history"
    begin_s = time.monotonic()
    async with within(PATIENCE_S):
        with pytest.raises(StoreUnavailableError, match=r"unreachable; tried for \d+\.\d s") as caught:
            await open_store(url, timeout_s=0.6)
    assert time.monotonic() - begin_s > 0.2
    assert "geheim" not in str(caught.value)


async def test_an_unknown_database_is_refused_at_once(postgres_url: str) -> None:
    async with within(PATIENCE_S):
        with pytest.raises(StorageError, match="does not exist"):
            await connect(postgres_url.rsplit("/", 1)[0] + "/nowhere", timeout_s=100 * PATIENCE_S)
