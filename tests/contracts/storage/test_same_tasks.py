"""What is stored of strategies that let tasks wait is compared over the same tasks, on both databases."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest

from hybrid_ml_scheduler.live.frames import Window, idle_frame
from hybrid_ml_scheduler.live.framing import Framer
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.plans.plan import plan_from_mapping
from hybrid_ml_scheduler.service.control.keeper import stored_rows
from hybrid_ml_scheduler.service.explain.adapting import adaptation_view
from hybrid_ml_scheduler.service.explain.moments import snapshot_at
from hybrid_ml_scheduler.service.views.runs import run_card
from hybrid_ml_scheduler.storage import (
    Store,
    around_change,
    compared_tasks,
    create_run,
    get_run,
    paired_stretches,
    run_totals,
    statistics,
    trend,
    write_batch,
)
from tests.unit.live.test_same_tasks import AT_ONCE, SKIPS_LONG, bounded, counted, overloaded

STRATEGIES = ("sjf", SKIPS_LONG, *AT_ONCE)
STEPS = (40, 160, 300, 220)  # up to moments within the first stretch of 500 tasks, at its end, behind it


async def raced(store: Store, first_task: int = 30) -> list[tuple[int, Race, Window]]:
    """A race that is stored as it goes, and what it showed on the way."""
    plan = plan_from_mapping({"simulation": {"num_gpus": 2}, "workload": {"preset": "heavy"}})
    run_id = await create_run(
        store, plan=plan.to_mapping(), seed=11, versions={}, controls={"first_task_id": first_task}
    )
    race = overloaded(*STRATEGIES)
    race.take_place(run_id, first_task)
    shown = []
    for steps in STEPS:
        for _ in range(steps):
            race.step()
        await write_batch(store, stored_rows(race.take_rows()))
        frame = Framer(race).frame(idle_frame(0.0).status, at=0.0)
        bounded(frame.windows["run"], frame)
        shown.append(await compared(store, run_id, race, frame.windows))
    return shown


async def compared(store: Store, run_id: int, race: Race, live: Any) -> Any:
    """Hold what is made from the rows against what the race shows at the same moment."""
    run = await get_run(store, run_id)
    assert run is not None
    update = (await snapshot_at(store, run, race.next_task_id - 1)).update
    assert update.compared_tasks == live["run"].compared_tasks
    windows = {**update.windows, "run": live["run"].__class__(**_whole(update, live["run"]))}
    for name, window in windows.items():
        counted(window)
        own = {row.name: row for row in live[name].comparison}
        assert window.compared_tasks == live[name].compared_tasks
        for row in window.comparison:
            wanted = own[row.name]
            assert (row.finished, row.waiting, row.is_behind) == (wanted.finished, wanted.waiting, wanted.is_behind)
            for metric in ("avg_latency", "avg_time", "p95_latency", "makespan"):
                value, expected = getattr(row, metric), getattr(wanted, metric)
                if metric == "makespan" and row.is_behind:  # the race knows the bound, too
                    assert value <= expected
                else:
                    assert value == (expected if expected is None else pytest.approx(expected, rel=0.006)), metric
            mine, theirs = row.at_least or {}, wanted.at_least or {}
            assert set(mine) == set(theirs)
            assert all(value <= theirs[metric] * (1.0 + 1e-9) for metric, value in mine.items())
    return run_id, race, live["run"]


def _whole(update: Any, run: Window) -> dict[str, Any]:
    return {
        "name": "run",
        "first_task_id": run.first_task_id,
        "last_task_id": run.last_task_id,
        "tasks": update.tasks_processed,
        "compared_tasks": update.compared_tasks,
        "begin_s": run.begin_s,
        "end_s": run.end_s,
        "comparison": tuple(update.comparison),
    }


async def test_a_moment_of_a_stored_run_shows_what_the_race_showed(store: Store) -> None:
    shown = await raced(store)
    assert any(row.is_behind for _, _, window in shown for row in window.comparison)


async def test_a_stored_run_is_summed_up_over_the_compared_tasks(store: Store) -> None:
    run_id, _, window = (await raced(store))[-1]
    run = await get_run(store, run_id)
    assert run is not None
    card = run_card(run, (await run_totals(store, [run_id]))[run_id], present=None, has_picture=False)
    assert card.tasks == window.tasks == sum(STEPS)
    assert card.compared_tasks == window.compared_tasks
    shown = {row.name: row for row in window.comparison}
    for standing in card.standings:
        row = shown[standing.name]
        assert (standing.finished, standing.waiting, standing.is_behind) == (row.finished, row.waiting, row.is_behind)
        if row.is_behind:
            assert standing.avg_latency is standing.makespan is standing.longest_latency is None
        else:
            assert standing.avg_latency == pytest.approx(row.avg_latency, rel=1e-9)
            assert standing.makespan == pytest.approx(row.makespan, rel=1e-9)
            assert "avg_latency" in standing.undecided  # what waits could still end sooner
    assert [one.name for one in card.standings if one.is_behind] == ["sjf", "skips_long"]


async def test_the_trend_has_a_gap_where_tasks_wait(store: Store) -> None:
    run_id, _, window = (await raced(store))[-1]
    found = await trend(store, points=20, run_id=run_id)
    lacking = {row.name: row.waiting for row in window.comparison if row.waiting}
    assert {name: sum(point.waiting.get(name, 0) for point in found.points) for name in lacking} == lacking
    for point in found.points:
        for name, waiting in point.waiting.items():
            assert waiting > 0
            assert point.avg_latency[name] is None
        assert point.avg_latency["greedy"] is not None


async def test_nobody_wins_by_the_tasks_that_it_lets_wait(store: Store) -> None:
    run_id, race, window = (await raced(store))[-1]
    ends = await compared_tasks(store, run_id)
    assert ends.up_to == race.compared_task
    found = await statistics(store, window=10_000, run_id=run_id, last_task=ends.up_to)
    behind = {"sjf", "skips_long"}
    for matrix in found.win_loss.values():
        for i, row in enumerate(found.schedulers):
            for j, column in enumerate(found.schedulers):
                assert (matrix[i][j] is None) == (i == j or bool(behind & {row, column})), (row, column)
    assert found.compared["latency"] == window.compared_tasks
    assert all((one.mean is None) == (one.waiting > 0) for one in found.spreads)
    assert {one.scheduler for one in found.spreads if one.waiting} == behind


async def test_two_runs_of_the_same_tasks_are_compared_although_tasks_wait(store: Store) -> None:
    first, _, _ = (await raced(store))[-1]
    second, _, _ = (await raced(store, first_task=20_000))[-1]
    found = await paired_stretches(store, first, second)
    assert found.tasks == sum(STEPS), "the same seed draws the same tasks"
    assert len(found.means["latency"]["greedy"]) == 1, "one whole stretch"
    assert found.means["latency"]["skips_long"] == []


async def test_what_a_change_cost_is_not_said_of_one_that_is_behind(store: Store) -> None:
    run_id, _, _ = (await raced(store))[-1]
    ends = await compared_tasks(store, run_id)
    found = await around_change(store, run_id=run_id, boundary=300, most_tasks=400, until=ends.up_to + 1)
    view = adaptation_view(run_id, [], None, found, ends.behind)
    said = {one.name: one for one in view.strategies}
    for name in ("sjf", "skips_long"):
        assert said[name].is_behind
        assert said[name].after_s is None
        assert all(value is None for value in view.regret[name])
    assert said["greedy"].after_s is not None
    assert fmean(value for value in view.regret["greedy"] if value is not None) > 0.0
