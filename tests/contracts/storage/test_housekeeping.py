"""Forgetting keeps ids continuous and brings nothing half back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hybrid_ml_scheduler.storage import (
    RowBatch,
    StorageError,
    Store,
    apply_retention,
    clear_history,
    create_run,
    data_counts,
    event_history,
    events_since,
    integrity,
    latest_checkpoint,
    list_runs,
    model_history,
    next_task_id,
    notification_history,
    set_run_state,
    trend,
    write_batch,
)
from tests.contracts.storage import samples


async def test_clearing_removes_the_history_and_ids_go_on(store: Store) -> None:
    run_id = await samples.new_run(store)
    batch = replace(
        samples.batch(run_id, 0, 20),
        models=[samples.model(run_id, 1)],
        events=[samples.event(run_id, 0, 3)],
        checkpoint=samples.checkpoint(run_id, 15),
    )
    await write_batch(store, batch)
    cleared = await clear_history(store)
    assert (cleared.tasks, cleared.results) == (20, 120)
    counts = await data_counts(store)
    assert (counts.tasks, counts.results, counts.training, counts.models) == (0, 0, 0, 0)
    assert counts.collected_by_scheduler == {}
    assert await next_task_id(store) == 20
    assert await model_history(store) == []
    assert (await trend(store)).points == ()


async def test_a_run_can_still_come_back_after_clearing(store: Store) -> None:
    run_id = await samples.new_run(store)
    await write_batch(store, RowBatch(events=[samples.event(run_id, 0, 3)], checkpoint=samples.checkpoint(run_id, 15)))
    await clear_history(store)
    assert await latest_checkpoint(store, run_id) is not None
    assert len(await events_since(store, run_id)) == 1


async def test_clearing_forgets_what_happened_in_runs_that_have_ended(store: Store) -> None:
    old, new = await samples.new_run(store), await samples.new_run(store)
    await write_batch(store, RowBatch(events=[samples.event(old, 0, 3), samples.event(new, 0, 3)]))
    await clear_history(store)
    assert [row.run_id for row in await event_history(store)] == [new]


async def test_rows_of_cleared_tasks_that_come_late_are_left_out(store: Store) -> None:
    run_id = await samples.new_run(store)
    await write_batch(store, samples.batch(run_id, 0, 20))
    await clear_history(store)
    report = await write_batch(store, samples.batch(run_id, 15, 10))
    assert (report.skipped, report.inserted, report.differences) == (5 * 8, 5 * 8, ())
    late = await write_batch(store, RowBatch(results=[samples.result(3, "greedy")]))
    assert (late.skipped, late.inserted) == (1, 0)
    found = await integrity(store)
    assert found.whole
    assert found.tasks == 5
    assert (await data_counts(store)).first_task == 20


async def test_retention_keeps_the_newest_tasks_and_the_trend(store: Store) -> None:
    run_id = await samples.new_run(store)
    await write_batch(store, samples.batch(run_id, 0, 100))
    assert await apply_retention(store, keep_tasks=30, chunk_tasks=25) == 70
    assert await apply_retention(store, keep_tasks=30) == 0
    found, counts = await integrity(store), await data_counts(store)
    assert found.whole
    assert (found.tasks, found.results) == (30, 180)
    assert (counts.tasks, counts.results, counts.training) == (30, 180, 30)
    assert (counts.first_task, counts.last_task) == (70, 99)
    assert counts.collected_by_scheduler["oracle"] == 100
    late = await write_batch(store, RowBatch(results=[samples.result(5, "late")]))
    assert late.skipped == 1


async def test_with_its_last_task_a_run_loses_what_belonged_to_it(store: Store) -> None:
    """Of three runs the first has no task left, the second a few; the third is the newest and keeps all it has."""
    counts = (20, 20, 0)
    begun = []
    for place, count in enumerate(counts):
        run_id = await samples.new_run(store)
        begun.append(run_id)
        few = RowBatch(
            models=[samples.model(run_id, 1)],
            notifications=[samples.notification(run_id, "a")],
            events=[samples.event(run_id, 0, 3)],
        )
        await write_batch(store, few)
        if count:
            await write_batch(store, samples.batch(run_id, 20 * place, count))
    await write_batch(store, RowBatch(checkpoint=samples.checkpoint(begun[2], 40)))
    assert await apply_retention(store, keep_tasks=15) == 25
    kept = begun[1:]
    assert sorted(row.run_id for row in await model_history(store)) == kept
    assert sorted(row.run_id for row in await notification_history(store)) == kept
    assert sorted(row.run_id for row in await event_history(store)) == kept
    assert await latest_checkpoint(store, begun[2]) is not None
    assert (await data_counts(store)).runs == 3


async def test_a_run_ends_when_another_begins_and_leaves_no_checkpoint(store: Store) -> None:
    old = await samples.new_run(store)
    await set_run_state(store, old, "running")
    await write_batch(store, RowBatch(checkpoint=samples.checkpoint(old, 15)))
    new = await create_run(store, plan={}, seed=1, versions={}, state="running")
    await set_run_state(store, old, "paused", {"speed": 1.0})
    states = {run.run_id: run.state for run in await list_runs(store)}
    assert states == {old: "ended", new: "running"}
    assert await latest_checkpoint(store, old) is None
    with pytest.raises(StorageError, match="no run 99"):
        await set_run_state(store, 99, "paused")


async def test_retention_refuses_to_keep_nothing(store: Store) -> None:
    with pytest.raises(StorageError, match="at least one"):
        await apply_retention(store, keep_tasks=0)
