"""What the dashboard asks, held against a plain reading of the same rows."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from hybrid_ml_scheduler.plans.metrics import TASK_METRICS
from hybrid_ml_scheduler.storage import (
    METRICS,
    ResultRow,
    RowBatch,
    StorageError,
    Store,
    apply_retention,
    comparative_history,
    create_run,
    data_counts,
    event_history,
    get_run,
    latest_run,
    list_runs,
    model_history,
    next_task_id,
    set_run_state,
    statistics,
    task_history,
    training_records,
    training_window,
    trend,
    write_batch,
)
from tests.contracts.storage import samples


@pytest.fixture
async def filled(store: Store) -> RowBatch:
    """Sixty tasks, one of them failed with one strategy."""
    run_id = await samples.new_run(store)
    batch = samples.batch(run_id, 0, 60)
    results = [samples.failed(7, "greedy") if row[:2] == (7, "greedy") else row for row in batch.results]
    batch = replace(batch, results=results)
    await write_batch(store, batch)
    return batch


async def test_runs_are_kept_with_plan_seed_versions_and_state(store: Store) -> None:
    assert await latest_run(store) is None
    first = await create_run(store, plan={"a": [1, 2.5, None]}, seed=2**40, versions={"numpy": "2.4"})
    await set_run_state(store, first, "paused", {"speed": 0})
    found = await get_run(store, first)
    assert found is not None
    assert (found.plan, found.seed, found.versions) == ({"a": [1, 2.5, None]}, 2**40, {"numpy": "2.4"})
    assert (found.state, found.controls) == ("paused", {"speed": 0})
    second = await create_run(store, plan={}, seed=0, versions={}, state="running", controls={"speed": 10})
    latest = await latest_run(store)
    assert latest is not None
    assert (latest.run_id, latest.state, latest.controls) == (second, "running", {"speed": 10})
    assert [run.run_id for run in await list_runs(store)] == [second, first]
    assert [run.run_id for run in await list_runs(store, before=second)] == [first]
    with pytest.raises(StorageError, match="no run 99"):
        await set_run_state(store, 99, "running")


async def test_a_profile_among_the_uploads_is_found_wherever_their_folder_lies(store: Store, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    plan = {"simulation": {"seed": 1, "hardware": str(old / "3f" / "node.json")}}
    elsewhere = {"simulation": {"hardware": str(tmp_path / "mine.json")}}
    first = await create_run(replace(store, files=old), plan=plan, seed=1, versions={})
    second = await create_run(store, plan=plan, seed=1, versions={})  # as an older version has stored it
    third = await create_run(replace(store, files=old), plan=elsewhere, seed=1, versions={})
    (new / "3f").mkdir(parents=True)
    (new / "3f" / "node.json").touch()
    moved = replace(store, files=new)
    for run_id in (first, second):
        found = await get_run(moved, run_id)
        assert found is not None
        assert found.plan == {"simulation": {"seed": 1, "hardware": str(new / "3f" / "node.json")}}
    kept, other = await get_run(store, first), await get_run(moved, third)
    assert kept is not None
    assert kept.plan["simulation"]["hardware"] == "upload:3f/node.json"
    assert other is not None
    assert other.plan == elsewhere


async def test_the_first_task_id_is_zero_and_counts_go_on(store: Store) -> None:
    assert await next_task_id(store) == 0
    await write_batch(store, samples.batch(await samples.new_run(store), 0, 3))
    await write_batch(store, samples.batch(await samples.new_run(store), 3, 4))
    assert await next_task_id(store) == 7


async def test_training_records_are_the_newest_and_a_window_ends_before_its_task(
    store: Store, filled: RowBatch
) -> None:
    assert await training_records(store, limit=5) == list(filled.training)[:-6:-1]
    assert await training_window(store, before=20, size=8) == list(filled.training)[12:20]


async def test_comparative_history_has_every_strategy_newest_first(store: Store, filled: RowBatch) -> None:
    found = await comparative_history(store, limit=10)
    assert [entry.task for entry in found] == list(filled.tasks)[:-11:-1]
    expected = {row.scheduler_name: row for row in filled.results if row.task_id == 59}
    assert dict(found[0].results) == expected
    older = await comparative_history(store, limit=3, before=8)
    assert [entry.task.task_id for entry in older] == [7, 6, 5]
    assert older[0].results["greedy"].failed


async def test_an_unknown_task_is_none(store: Store, filled: RowBatch) -> None:
    assert await task_history(store, 1000) is None


async def test_win_loss_counts_lower_values_and_equal_ones_for_nobody(store: Store, filled: RowBatch) -> None:
    found = await statistics(store, window=60)
    value = {(row.task_id, row.scheduler_name): row for row in filled.results}
    for metric in METRICS:
        for i, own in enumerate(found.schedulers):
            for j, other in enumerate(found.schedulers):
                pairs = [(getattr(value[t, own], metric), getattr(value[t, other], metric)) for t in range(60)]
                both = [(a, b) for a, b in pairs if a is not None and b is not None]
                share = None if i == j else sum(a < b for a, b in both) / len(both)
                assert found.win_loss[metric][i][j] == pytest.approx(share)
    same = [row._replace(scheduler_name=name, latency=1.0) for row in filled.results[:1] for name in ("a", "b")]
    run_id = await samples.new_run(store)
    await write_batch(
        store, RowBatch(tasks=[samples.task(run_id, 60)], results=[row._replace(task_id=60) for row in same])
    )
    assert (await statistics(store, window=1)).win_loss["latency"] == [[None, 0.0], [0.0, None]]


async def test_figures_say_how_many_tasks_they_are_made_of(store: Store, filled: RowBatch) -> None:
    greedy, oracle = [await statistics(store, window=60, scheduler=name) for name in ("greedy", "oracle")]
    assert (oracle.tasks, oracle.correlated, greedy.correlated) == (60, 60, 59), "one task failed with greedy"
    assert (await statistics(store, window=60, scheduler="nobody")).correlated == 0
    assert set(greedy.compared.values()) == {60}, "all the others finished it"
    run_id, name = filled.tasks[0].run_id, filled.results[0].scheduler_name
    alone = [samples.result(60, name), samples.failed(60, "greedy")]
    await write_batch(store, RowBatch(tasks=[samples.task(run_id, 60)], results=alone))
    found = await statistics(store, window=60)
    assert (found.tasks, found.compared["latency"]) == (60, 58), "one strategy lets it wait, so that it is not compared"


async def test_correlations_agree_with_numpy(store: Store, filled: RowBatch) -> None:
    found = await statistics(store, window=60, scheduler="oracle")
    names = list(found.correlation_names)
    rows = [row for row in filled.results if row.scheduler_name == "oracle"]
    expected = np.corrcoef([task.size for task in filled.tasks], [row.latency for row in rows])[0, 1]
    assert found.correlations[names.index("size")][names.index("latency")] == pytest.approx(expected)
    assert found.correlations[names.index("wait")][names.index("wait")] == pytest.approx(1.0)
    nobody = await statistics(store, window=60, scheduler="nobody")
    assert all(value is None for line in nobody.correlations for value in line)


async def test_spreads_heat_map_and_histogram_hold_every_task(store: Store, filled: RowBatch) -> None:
    found = await statistics(store, window=60)
    assert sum(cell.tasks for cell in found.heat_map) == 60
    assert sum(found.histogram_counts) == 60
    assert {cell.best_device for cell in found.heat_map} <= {"cpu", "gpu", "split", None}
    spread = next(s for s in found.spreads if s.scheduler == "greedy" and s.metric == "latency")
    values = [row.latency for row in filled.results if row.scheduler_name == "greedy" and row.latency is not None]
    assert spread.tasks == 59
    assert spread.mean == pytest.approx(fmean(values))
    assert spread.p95 == pytest.approx(np.percentile(values, 95))


async def test_statistics_of_an_empty_store_are_empty(store: Store) -> None:
    found = await statistics(store)
    assert (found.tasks, found.schedulers, found.heat_map, found.histogram_counts) == (0, [], [], [])
    assert (await trend(store)).points == ()


async def test_the_trend_is_the_plain_average_of_each_range(store: Store, filled: RowBatch) -> None:
    found = await trend(store, points=6)
    assert [(point.first_task_id, point.last_task_id, point.tasks) for point in found.points] == [
        (first, first + 9, 10) for first in range(0, 60, 10)
    ]
    for point in found.points:
        mine = [row for row in filled.results if point.first_task_id <= row.task_id <= point.last_task_id]
        for metric in ("time", "latency", "energy", "cost"):
            for name in samples.SCHEDULERS:
                known = [row for row in mine if row.scheduler_name == name and not row.failed]
                values = [getattr(row, TASK_METRICS[metric]) for row in known]
                assert getattr(point, f"avg_{metric}")[name] == pytest.approx(fmean(values))


async def test_the_trend_of_a_long_history_comes_from_rollups_and_agrees_with_the_rows(store: Store) -> None:
    run_id, other = await samples.new_run(store), await samples.new_run(store)
    rows: list[ResultRow] = []
    for first in range(0, 5600, 700):
        part = samples.batch(run_id if first < 2100 else other, first, 700, schedulers=("greedy",))
        rows.extend(part.results)
        await write_batch(store, part)
    found = await trend(store, points=10)
    assert found.tasks_per_point == 750
    for point in found.points:
        mine = [row for row in rows if point.first_task_id <= row.task_id <= point.last_task_id]
        assert point.tasks == len(mine)
        assert point.avg_latency["greedy"] == pytest.approx(fmean(row.latency or math.nan for row in mine))
    of_run = await trend(store, points=3, run_id=run_id)
    assert sum(point.tasks for point in of_run.points) == 2100


async def test_the_trend_of_a_run_begins_with_the_run_whatever_was_removed_since(store: Store) -> None:
    begin, end = 130, 5600
    before = await samples.new_run(store)
    await write_batch(store, samples.batch(before, 0, begin, schedulers=("greedy",)))
    run_id = await create_run(store, plan={}, seed=1, versions={}, controls={"first_task_id": begin})
    for first in range(begin, end, 547):
        await write_batch(store, samples.batch(run_id, first, min(547, end - first), schedulers=("greedy",)))
    for kept in (end, 4900):
        await apply_retention(store, keep_tasks=kept)
        points = (await trend(store, points=10, run_id=run_id)).points
        assert (points[0].first_task_id, points[0].last_task_id, points[-1].last_task_id) == (begin, 749, end - 1)
        assert all(point.tasks == point.last_task_id - point.first_task_id + 1 for point in points), points


async def test_counts_and_histories_add_up(store: Store, filled: RowBatch) -> None:
    run_id = filled.tasks[0].run_id
    models = [samples.model(run_id, version) for version in (1, 2, 3)]
    await write_batch(store, RowBatch(models=models, events=[samples.event(run_id, 0, 1)]))
    assert await model_history(store, limit=2) == models[:0:-1]
    assert [event.kind for event in await event_history(store, kind="shift")] == ["shift"]
    counts = await data_counts(store)
    assert (counts.tasks, counts.results, counts.training, counts.models, counts.runs) == (60, 360, 60, 3, 1)
    assert (counts.first_task, counts.last_task, counts.next_task_id) == (0, 59, 60)


async def test_the_markers_of_an_older_run_are_found_behind_many_of_a_newer_one(store: Store) -> None:
    old, new = await samples.new_run(store), await samples.new_run(store)
    mine = RowBatch(models=[samples.model(old, 1)], events=[samples.event(old, 0, 5)])
    crowd = RowBatch(
        models=[samples.model(new, version) for version in range(2, 12)],
        events=[samples.event(new, sequence, 50) for sequence in range(10)],
    )
    await write_batch(store, mine)
    await write_batch(store, crowd)
    assert await event_history(store, kind="shift", run_id=old, limit=10) == mine.events
    assert await model_history(store, run_id=old, limit=10) == mine.models
    assert {row.run_id for row in await event_history(store, run_id=new)} == {new}
    assert len(await model_history(store, limit=100)) == 11
