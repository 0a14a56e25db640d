"""Stored runs: named, summed up, compared, removed."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command

from hybrid_ml_scheduler.storage import (
    RowBatch,
    StorageError,
    Store,
    create_run,
    data_counts,
    describe_run,
    get_run,
    integrity,
    keep_picture,
    paired_stretches,
    remove_run,
    run_picture,
    run_totals,
    stored_runs,
    write_batch,
)
from hybrid_ml_scheduler.storage.connect import schema
from hybrid_ml_scheduler.storage.connect.tables import run_summaries, runs, stretches
from tests.contracts.storage import samples

STRATEGIES = ("greedy", "oracle")


async def stored(store: Store, first: int, count: int, *, like: int | None = None) -> RowBatch:
    """A run of `count` tasks; with `like` its tasks are those that begin at this number, decided otherwise."""
    run_id = await samples.new_run(store)
    batch = samples.batch(run_id, first, count, schedulers=STRATEGIES)
    results = [samples.failed(9, one.scheduler_name) if one.task_id == 9 else one for one in batch.results]
    tasks = list(batch.tasks)
    if like is not None:
        models = [samples.task(0, like + place) for place in range(count)]
        tasks = [one._replace(task_id=first + i, run_id=run_id, dependencies="[]") for i, one in enumerate(models)]
    whole = RowBatch(tasks=tasks, results=results, training=batch.training)
    await write_batch(store, whole)
    return whole


async def all_of(store: Store, table: sa.Table) -> list[dict[str, Any]]:
    order = list(table.primary_key.columns)
    async with store.reading() as connection:
        return [dict(row) for row in (await connection.execute(sa.select(table).order_by(*order))).mappings()]


async def test_a_run_has_a_name_and_a_note_and_stays_the_same_otherwise(store: Store) -> None:
    run_id = await samples.new_run(store)
    before = await get_run(store, run_id)
    assert await describe_run(store, run_id, name="Shift to CPU", note="Greedy fails here.")
    assert await describe_run(store, run_id, note="")
    after = await get_run(store, run_id)
    assert before is not None
    assert after is not None
    assert (after.name, after.note, after.plan, after.state) == ("Shift to CPU", "", before.plan, before.state)
    assert not await describe_run(store, 4711, name="nobody")


async def test_what_a_run_adds_up_to_is_what_its_rows_add_up_to(store: Store) -> None:
    batch = await stored(store, 0, 1203)
    totals = (await run_totals(store, [1]))[1]
    for name in STRATEGIES:
        own = [row for row in batch.results if row.scheduler_name == name]
        done = [row for row in own if not row.failed]
        summary = totals[name]
        assert (summary.results, summary.finished) == (1203, 1202)
        assert summary.means["latency"] == pytest.approx(fmean(row.latency or 0.0 for row in done), rel=1e-12)
        assert summary.last_finish_s == max(row.finish_time or 0.0 for row in done)
        assert summary.device_s == pytest.approx(sum((row.cpu_part or 0.0) + (row.gpu_part or 0.0) for row in done))


async def test_only_runs_with_rows_and_the_newest_are_listed(store: Store) -> None:
    for first in (0, 30):
        await stored(store, first, 30)
    await samples.new_run(store)
    await samples.new_run(store)
    listed, total = await stored_runs(store, limit=10)
    assert ([run.run_id for run in listed], total) == ([4, 2, 1], 3)
    assert [run.run_id for run in (await stored_runs(store, limit=1, before=4))[0]] == [2]


async def test_runs_on_the_same_tasks_are_paired_and_others_are_not(store: Store) -> None:
    first = await stored(store, 0, 1300)
    second = await stored(store, 1300, 1300, like=0)
    await stored(store, 2600, 1300)
    paired = await paired_stretches(store, 1, 2)
    assert (paired.tasks, paired.stretches) == (1300, 3)
    means = paired.means["latency"]["oracle"]
    assert len(means) == 1, "in the first stretch a task failed, and the last is not full"
    for place, batch in ((0, first), (1, second)):
        base = 1300 * place
        some = [r for r in batch.results if r.scheduler_name == "oracle" and 500 <= r.task_id - base < 1000]
        assert means[0][place] == pytest.approx(fmean(row.latency or 0.0 for row in some), rel=1e-12)
    assert (await paired_stretches(store, 1, 3)).tasks == 0


async def test_a_branch_is_paired_with_the_run_that_it_left_from_there_on(store: Store) -> None:
    parent = await stored(store, 0, 1737)
    branch = await stored(store, 1737, 1300, like=237)
    assert (await paired_stretches(store, 1, 2)).tasks == 0, "their beginnings are other tasks"
    for pair, begin, first in (((1, 2), (237, 1737), (parent, 237)), ((2, 1), (1737, 237), (branch, 1737))):
        paired = await paired_stretches(store, *pair, begin=begin)
        assert paired.tasks == 1300
        batch, task = first
        some = [r for r in batch.results if r.scheduler_name == "oracle" and task <= r.task_id < task + 500]
        assert paired.means["latency"]["oracle"][0][0] == pytest.approx(
            fmean(row.latency or 0.0 for row in some), rel=1e-12
        )
    shorter = await paired_stretches(store, 1, 2, begin=(700, 1737 + 463))
    assert shorter.tasks == 837


async def test_a_stretch_with_a_failed_task_is_not_compared(store: Store) -> None:
    await stored(store, 0, 1000)  # task 9 fails
    await stored(store, 1000, 1000, like=0)
    paired = await paired_stretches(store, 1, 2)
    assert (paired.tasks, paired.stretches) == (1000, 2)
    assert len(paired.means["latency"]["greedy"]) == 1


async def test_removing_a_run_leaves_the_others_whole(store: Store) -> None:
    for first, count in ((0, 2600), (2600, 40), (2640, 700)):
        await stored(store, first, count)
    await keep_picture(store, 1, "{}")
    removed = await remove_run(store, 1)
    assert (removed.tasks, removed.results) == (2600, 5200)
    assert await get_run(store, 1) is None
    assert await run_picture(store, 1) is None
    counts = await data_counts(store)
    assert (counts.tasks, counts.results, counts.runs) == (740, 1480, 2)
    found = await integrity(store)
    assert found.whole, found
    assert {row["run_id"] for table in (stretches, run_summaries) for row in await all_of(store, table)} == {2, 3}
    with pytest.raises(StorageError, match="newest"):
        await remove_run(store, 3)


async def test_a_history_from_before_is_summed_up_by_the_migration(store: Store) -> None:
    await stored(store, 0, 1203)
    await stored(store, 1203, 640)
    expected = {table.name: await all_of(store, table) for table in (stretches, run_summaries, runs)}

    def go(connection: sa.Connection, way: Any, to: str) -> None:
        config = schema._config()
        config.attributes["connection"] = connection
        way(config, to)

    async with store.writing() as connection:
        await connection.run_sync(go, command.downgrade, "0003")
    async with store.writing() as connection:
        await connection.run_sync(go, command.upgrade, "head")
    for table in (stretches, run_summaries, runs):
        rows = await all_of(store, table)
        assert [row.keys() for row in rows] == [row.keys() for row in expected[table.name]]
        for row, wanted in zip(rows, expected[table.name], strict=True):
            for name, value in wanted.items():
                assert row[name] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value), name


async def test_a_migrated_plan_says_which_algorithm_hybrid_ml_was_in_a_live_run(store: Store) -> None:
    race = ["greedy", "hybrid_ml"]
    exact: dict[str, Any] = {"schedulers": {"race": race}}
    plans: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "share": (exact, {"first_task_id": 0}),
        "at_once": ({**exact, "knowledge": {"level": "learned"}}, {"first_task_id": 0}),
        "time": ({"schedulers": {"race": race, "hybrid_ml": {"mode": "time"}}}, {"first_task_id": 0}),
        "": (exact, {"places": []}),  # a measured run
    }
    made = {
        mode: await create_run(store, plan=plan, seed=1, versions={}, controls=controls)
        for mode, (plan, controls) in plans.items()
    }

    def go(connection: sa.Connection, way: Any, to: str) -> None:
        config = schema._config()
        config.attributes["connection"] = connection
        way(config, to)

    for way, to in ((command.downgrade, "0010"), (command.upgrade, "head")):
        async with store.writing() as connection:
            await connection.run_sync(go, way, to)
    for mode, run_id in made.items():
        run = await get_run(store, run_id)
        assert run is not None
        assert run.plan["schedulers"].get("hybrid_ml", {}).get("mode", "") == mode
        assert run.plan["schedulers"]["race"] == race


async def test_the_last_picture_of_a_run_takes_the_place_of_the_one_before(store: Store) -> None:
    run_id = await samples.new_run(store)
    assert await run_picture(store, run_id) is None
    for text in ('{"a": 1}', '{"a": 2}'):
        await keep_picture(store, run_id, text)
    assert await run_picture(store, run_id) == '{"a": 2}'
