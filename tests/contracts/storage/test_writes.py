"""One batch is one transaction: whole or absent, and never twice."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlalchemy as sa

from hybrid_ml_scheduler.storage import (
    ReplayError,
    RowBatch,
    StorageError,
    Store,
    data_counts,
    events_since,
    integrity,
    latest_checkpoint,
    model_history,
    next_task_id,
    notification_history,
    results_between,
    task_history,
    training_records,
    verify_replay,
    write_batch,
)
from hybrid_ml_scheduler.storage.connect.tables import checkpoints
from tests.contracts.storage import samples


async def test_what_is_written_is_read_back_to_the_last_bit(store: Store) -> None:
    run_id = await samples.new_run(store)
    batch = samples.batch(run_id, 0, 120)
    report = await write_batch(store, batch)
    assert (report.inserted, report.repeated, report.skipped) == (120 * 8, 0, 0)
    assert await results_between(store, 0, 119) == sorted(batch.results, key=lambda row: row[:2])
    assert await training_records(store) == list(batch.training)[::-1]
    found = await task_history(store, 4)
    assert found is not None
    assert found.task == batch.tasks[4]
    assert found.task.dependencies == "[3]"
    assert set(found.results) == set(samples.SCHEDULERS)


async def test_one_refused_row_leaves_nothing_of_its_batch(store: Store) -> None:
    run_id = await samples.new_run(store)
    good = samples.batch(run_id, 0, 10)
    orphan = samples.result(99, "greedy")
    bad = replace(good, results=[*good.results, orphan], checkpoint=samples.checkpoint(run_id, 10))
    with pytest.raises(StorageError):
        await write_batch(store, bad)
    counts = await data_counts(store)
    assert (counts.tasks, counts.results, counts.training, counts.next_task_id) == (0, 0, 0, 0)
    assert (await integrity(store)).tasks == 0
    assert await latest_checkpoint(store, run_id) is None


async def test_a_row_twice_in_one_batch_is_refused(store: Store) -> None:
    run_id = await samples.new_run(store)
    good = samples.batch(run_id, 0, 3)
    with pytest.raises(StorageError):
        await write_batch(store, replace(good, results=[*good.results, good.results[0]]))
    assert (await integrity(store)).results == 0


async def test_writing_the_same_batch_again_changes_nothing(store: Store) -> None:
    run_id = await samples.new_run(store)
    batch = replace(
        samples.batch(run_id, 0, 40),
        models=[samples.model(run_id, 1)],
        notifications=[samples.notification(run_id, "a")],
        events=[samples.event(run_id, 0, 20)],
        checkpoint=samples.checkpoint(run_id, 40),
    )
    await write_batch(store, batch)
    before = await data_counts(store)
    report = await write_batch(store, batch)
    assert (report.repeated, report.differences) == (40 * 8, ())
    assert await data_counts(store) == before
    assert len(await notification_history(store)) == len(await model_history(store)) == 1
    assert len(await events_since(store, run_id)) == 1
    assert (await integrity(store)).whole


async def test_a_replay_that_reaches_further_stores_the_missing_rows_only(store: Store) -> None:
    run_id = await samples.new_run(store)
    await write_batch(store, samples.batch(run_id, 0, 30))
    report = await write_batch(store, samples.batch(run_id, 20, 30))
    assert (report.repeated, report.inserted, report.differences) == (10 * 8, 20 * 8, ())
    found = await integrity(store)
    assert found.whole
    assert found.tasks == 50
    assert await next_task_id(store) == 50


async def test_a_replay_that_differs_is_told_and_the_stored_row_stays(store: Store) -> None:
    run_id = await samples.new_run(store)
    batch = samples.batch(run_id, 0, 5)
    await write_batch(store, batch)
    first = batch.results[0]
    other = first._replace(latency=(first.latency or 0.0) * (1 + 1e-15))
    assert other.latency != first.latency
    changed = replace(batch, results=[other, *batch.results[1:]])
    report = await write_batch(store, changed)
    assert len(report.differences) == 1
    assert "latency" in report.differences[0]
    assert "task 0 of round_robin" in report.differences[0]
    with pytest.raises(ReplayError, match="latency"):
        await verify_replay(store, changed)
    await verify_replay(store, batch)


async def test_verify_replay_misses_rows_that_are_not_stored(store: Store) -> None:
    run_id = await samples.new_run(store)
    with pytest.raises(ReplayError, match="lacks"):
        await verify_replay(store, samples.batch(run_id, 0, 2))


async def test_a_result_may_come_later_than_its_task(store: Store) -> None:
    run_id = await samples.new_run(store)
    whole = samples.batch(run_id, 0, 10)
    late, early = list(whole.results[:3]), list(whole.results[3:])
    await write_batch(store, replace(whole, results=early))
    assert (await integrity(store)).incomplete_tasks == [0]
    await write_batch(store, RowBatch(results=late))
    assert (await integrity(store)).whole
    assert (await data_counts(store)).collected_by_scheduler == dict.fromkeys(samples.SCHEDULERS, 10)


async def test_a_failed_task_has_no_times_and_keeps_its_mark(store: Store) -> None:
    run_id = await samples.new_run(store)
    row = samples.failed(0, "greedy")
    await write_batch(store, RowBatch(tasks=[samples.task(run_id, 0)], results=[row]))
    assert await results_between(store, 0, 0) == [row]


async def test_only_the_newest_checkpoints_of_a_run_are_kept(store: Store) -> None:
    run_id, other = await samples.new_run(store), await samples.new_run(store)
    await write_batch(store, RowBatch(checkpoint=samples.checkpoint(other, 5, b"other")))
    for boundary in (10, 20, 30):
        await write_batch(store, RowBatch(checkpoint=samples.checkpoint(run_id, boundary, bytes([boundary]) * 1000)))
    newest = await latest_checkpoint(store, run_id)
    assert newest == samples.checkpoint(run_id, 30, bytes([30]) * 1000)
    assert await latest_checkpoint(store, other) == samples.checkpoint(other, 5, b"other")
    async with store.reading() as connection:
        query = sa.select(checkpoints.c.boundary).where(checkpoints.c.run_id == run_id).order_by("boundary")
        assert list((await connection.execute(query)).scalars()) == [20, 30]


async def test_events_come_back_in_order_from_a_boundary_on(store: Store) -> None:
    run_id = await samples.new_run(store)
    rows = [samples.event(run_id, number, 10 * number) for number in range(4)]
    await write_batch(store, RowBatch(events=rows[::-1]))
    assert await events_since(store, run_id, 20) == rows[2:]


async def test_merged_batches_keep_every_row_and_the_newest_checkpoint(store: Store) -> None:
    run_id = await samples.new_run(store)
    parts = [
        replace(samples.batch(run_id, 10 * place, 10), checkpoint=samples.checkpoint(run_id, 10 * place))
        for place in range(3)
    ]
    merged = RowBatch.merge(parts)
    assert len(merged) == sum(map(len, parts)) - 2
    await write_batch(store, merged)
    assert (await integrity(store)).whole
    newest = await latest_checkpoint(store, run_id)
    assert newest is not None
    assert newest.boundary == 20
