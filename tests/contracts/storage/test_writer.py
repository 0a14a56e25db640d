"""The writer's thread: back-pressure, order, refusal, and what health says."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from hybrid_ml_scheduler.storage import (
    NotificationRow,
    RowBatch,
    StorageError,
    Store,
    StoreWriter,
    integrity,
    latest_checkpoint,
    next_task_id,
    write_batch,
)
from tests.contracts.storage import samples

PATIENCE_S = 60.0


async def test_everything_handed_over_is_stored_once_and_in_order(store: Store, store_url: str) -> None:
    run_id = await samples.new_run(store)
    writer = StoreWriter(store_url)
    writer.start()
    for first in range(0, 200, 10):
        writer.put(replace(samples.batch(run_id, first, 10), checkpoint=samples.checkpoint(run_id, first + 10)))
    assert writer.flush(PATIENCE_S)
    found = await integrity(store)
    assert found.whole
    assert found.tasks == 200
    newest = await latest_checkpoint(store, run_id)
    assert newest is not None
    assert newest.boundary == 200
    health = writer.health()
    assert (health.state, health.backlog_rows, health.last_error) == ("ok", 0, None)
    assert health.written_rows >= 200 * 8
    assert writer.close(PATIENCE_S)
    assert writer.health().state == "closed"


async def test_a_full_backlog_makes_the_race_wait(store: Store, store_url: str) -> None:
    run_id = await samples.new_run(store)
    writer = StoreWriter(store_url, capacity_rows=100)
    writer.put(samples.batch(run_id, 0, 10))
    with pytest.raises(StorageError, match="no room"):
        writer.put(samples.batch(run_id, 10, 10), timeout_s=0.05)
    writer.start()
    writer.put(samples.batch(run_id, 10, 10), timeout_s=PATIENCE_S)
    assert writer.close(PATIENCE_S)
    assert await next_task_id(store) == 20


async def test_a_batch_larger_than_the_backlog_still_passes(store: Store, store_url: str) -> None:
    run_id = await samples.new_run(store)
    writer = StoreWriter(store_url, capacity_rows=10)
    writer.start()
    writer.put(samples.batch(run_id, 0, 50), timeout_s=PATIENCE_S)
    assert writer.close(PATIENCE_S)
    assert await next_task_id(store) == 50


async def test_a_refused_row_stops_the_race_with_its_sentence(store: Store, store_url: str) -> None:
    writer = StoreWriter(store_url)
    writer.start()
    writer.put(RowBatch(results=[samples.result(5, "greedy")]))
    assert not writer.flush(timeout_s=PATIENCE_S)
    deadline_s = time.monotonic() + PATIENCE_S
    while writer.health().state != "failed" and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert writer.health().state == "failed"
    with pytest.raises(StorageError, match="refused"):
        writer.put(RowBatch())
    assert not writer.close(timeout_s=1.0)


async def test_after_a_refused_row_a_new_run_can_be_stored(store: Store, store_url: str) -> None:
    broken, sound = await samples.new_run(store), await samples.new_run(store)
    writer = StoreWriter(store_url)
    writer.put(RowBatch(models=[samples.model(broken, 1)._replace(samples=None)]))  # type: ignore[arg-type]
    writer.put(samples.batch(broken, 0, 10))
    writer.start()
    assert not writer.flush(PATIENCE_S)
    assert writer.renew()
    health = writer.health()
    assert (health.state, health.last_error, health.backlog_rows) == ("ok", None, 0)
    writer.put(samples.batch(sound, 0, 10))
    assert writer.flush(PATIENCE_S)
    assert not writer.renew(), "there is nothing to mend"
    assert writer.close(PATIENCE_S)
    found = await integrity(store)
    assert (found.whole, found.tasks) == (True, 10)
    assert await next_task_id(store) == 10


async def test_text_that_no_database_can_hold_fails_its_run_and_not_the_writer(store: Store, store_url: str) -> None:
    broken, sound = await samples.new_run(store), await samples.new_run(store)
    writer = StoreWriter(store_url)
    writer.start()
    odd = NotificationRow(broken, "halt-1", "error", "The file \ud800 is broken.", 1.0)
    writer.put(replace(samples.batch(broken, 0, 10), notifications=[odd]))
    assert not writer.flush(PATIENCE_S)
    with pytest.raises(StorageError):
        writer.put(samples.batch(broken, 10, 10))
    health = writer.health()
    assert health.state == "failed"
    assert str(health.last_error).encode(), "it can be shown"
    assert writer.renew()
    writer.put(samples.batch(sound, 0, 10))
    assert writer.close(PATIENCE_S)
    found = await integrity(store)
    assert (found.whole, found.tasks) == (True, 10)


async def test_a_closed_writer_takes_nothing_more_and_wakes_who_waits(store: Store, store_url: str) -> None:
    run_id = await samples.new_run(store)
    writer = StoreWriter(store_url, capacity_rows=10)
    writer.put(samples.batch(run_id, 0, 5))
    refused: list[str] = []

    def wait_for_room() -> None:
        try:
            writer.put(samples.batch(run_id, 5, 5))
        except StorageError as problem:
            refused.append(str(problem))

    waiting = threading.Thread(target=wait_for_room)
    waiting.start()
    time.sleep(0.05)
    assert not writer.close(timeout_s=0.1)
    waiting.join(PATIENCE_S)
    assert refused == ["The writer is closed."]


async def test_a_replay_through_the_writer_is_counted_and_differences_are_kept(store: Store, store_url: str) -> None:
    run_id = await samples.new_run(store)
    batch = samples.batch(run_id, 0, 10)
    await write_batch(store, batch)
    writer = StoreWriter(store_url)
    writer.start()
    writer.put(replace(batch, tasks=[batch.tasks[0]._replace(size=1.0), *batch.tasks[1:]]))
    assert writer.close(PATIENCE_S)
    health = writer.health()
    assert health.repeated_rows == 80
    assert len(health.differences) == 1
    assert "size" in health.differences[0]
