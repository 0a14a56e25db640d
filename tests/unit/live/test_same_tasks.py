"""Strategies are compared over the same tasks at every moment of a race, and none leads by leaving tasks undone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import pytest

from hybrid_ml_scheduler.core import Outcome
from hybrid_ml_scheduler.live.checkpoints import pack_state, unpack_state
from hybrid_ml_scheduler.live.frames import Comparison, Frame, Window, idle_frame
from hybrid_ml_scheduler.live.framing import Framer
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Course
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.comparable import RANKED, compared_up_to, is_covered
from hybrid_ml_scheduler.workload import preset
from tests.properties.forms import HOLDING

SKIPS_LONG = f"{Path(__file__).parent / 'skips_long.py'}:SkipsLong"
AT_ONCE = ("round_robin", "greedy", "earliest_finish")
FIRST = 30
TWO_GPUS = Node.uniform(2)
MEANS = {"avg_latency": "latency_s", "avg_time": "execution_s", "avg_energy": "energy_j", "avg_cost": "cost_usd"}


def overloaded(*schedulers: str, seed: int = 11) -> Race:
    """Two GPUs and two hundred tasks a second: no strategy keeps up."""
    course = Course(seed=seed, node=TWO_GPUS, preset="heavy", workload=preset("heavy"), schedulers=schedulers)
    return Race(course, run_id=1, first_task_id=FIRST)


def frames(race: Race, tasks: int, every: int = 7) -> Iterator[Frame]:
    framer = Framer(race)
    for step in range(tasks):
        race.step()
        if step < 60 or step % every == 0:
            yield framer.frame(idle_frame(0.0).status, at=float(step))


def ranked(window: Window, metric: str) -> list[Comparison]:
    """The strategies that have a place, best first."""
    rows = [row for row in window.comparison if metric not in row.undecided and getattr(row, metric) is not None]
    return sorted(rows, key=lambda row: getattr(row, metric))


def outcomes_of(race: Race) -> dict[str, dict[int, Outcome]]:
    """What became of every task in the end, by strategy; tasks that wait are let finish."""
    found: dict[str, dict[int, Outcome]] = {racer.name: {} for racer in race.racers}
    rows = race.take_rows()
    for stretch in rows.stretches:
        for name, columns in stretch.runs.items():
            tariff = next(racer for racer in race.racers if racer.name == name).simulation.cluster.estimator.tariff
            found[name] |= {one.task_id: one for one in columns.outcomes(stretch.batch.task_id, tariff)}
    for name, outcome in rows.outcomes:
        found[name][outcome.task_id] = outcome
    for racer in race.racers:
        if racer.name != "skips_long":
            found[racer.name] |= {one.task_id: one for one in racer.drain(race.now_s)}
    return found


def bounded(window: Window, frame: Frame) -> None:
    """No figure of the whole run lies below what is proven."""
    assert frame.bound.execution_s is not None
    assert frame.bound.makespan_s is not None
    mean_s = frame.bound.execution_s / frame.bound.tasks
    assert frame.bound.tasks == window.compared_tasks
    for row in window.comparison:
        for name in ("avg_latency", "avg_time"):
            value = getattr(row, name) if row.at_least is None else row.at_least[name]
            assert value >= mean_s * (1.0 - 1e-12), (row.name, name)
        assert row.makespan >= frame.bound.makespan_s * (1.0 - 1e-12), row.name
        assert row.makespan_gap is None or row.makespan_gap >= -1e-12
        assert row.time_gap is None or row.time_gap >= -1e-12


def counted(window: Window) -> None:
    assert window.compared_tasks <= window.tasks
    for row in window.comparison:
        assert row.finished + row.waiting + row.failed == window.tasks, row.name
        if row.is_behind:
            assert row.waiting > 0
            assert row.tasks < window.compared_tasks
            assert row.avg_latency is row.avg_time is row.p95_latency is row.efficiency is row.makespan_gap is None
        else:
            assert row.tasks + row.failed == window.compared_tasks
            assert row.at_least is None


def true_to_the_end(window: Window, ends: Mapping[str, Mapping[int, Outcome]]) -> None:
    """What was shown is what the same tasks came to in the end, or less where it said "at least"."""
    assert window.first_task_id is not None
    same = range(window.first_task_id, window.first_task_id + window.compared_tasks)
    in_the_end = {
        name: {metric: fmean(getattr(own[task], key) for task in same) for metric, key in MEANS.items()}
        for name, own in ends.items()
        if window.compared_tasks and all(task in own for task in same)
    }
    for row in window.comparison:
        if row.name not in in_the_end:
            continue
        for metric, value in in_the_end[row.name].items():
            if row.at_least is not None:
                assert row.at_least[metric] <= value * (1.0 + 1e-9), (row.name, metric)
            else:
                assert getattr(row, metric) == pytest.approx(value, rel=1e-9), (row.name, metric)
        last_s = max(ends[row.name][task].finish_s for task in same) - window.begin_s
        assert row.makespan <= last_s * (1.0 + 1e-9) if row.is_behind else row.makespan == pytest.approx(last_s)
    for metric in MEANS:
        places = [row.name for row in ranked(window, metric)]
        final = sorted((one[metric], name) for name, one in in_the_end.items())
        assert [name for _, name in final][: len(places)] == places or _are_level(final, len(places)), metric


def _are_level(final: Sequence[tuple[float, str]], places: int) -> bool:
    """Whether strategies share a place, so that their order says nothing."""
    values = [value for value, _ in final][: places + 1]
    return any(one == pytest.approx(two, rel=1e-12) for one, two in pairwise(values))


@pytest.mark.parametrize("name", HOLDING)
def test_under_overload_every_figure_is_of_the_same_tasks_and_no_waiting_task_undoes_a_place(name: str) -> None:
    race = overloaded(name, *AT_ONCE)
    shown = list(frames(race, 400, every=23))
    ends = outcomes_of(race)
    for frame in shown:
        for window in frame.windows.values():
            counted(window)
            true_to_the_end(window, ends)
        bounded(frame.windows["run"], frame)
    last = shown[-1].windows["run"]
    assert last.compared_tasks >= 0.9 * last.tasks


@pytest.mark.parametrize("seed", [1, 6, 11])
@pytest.mark.parametrize("others", [AT_ONCE, (*AT_ONCE, "sjf", "rl_hold")])
def test_one_that_never_starts_a_long_task_never_ranks_first_while_one_waits(
    others: tuple[str, ...], seed: int
) -> None:
    race = overloaded(SKIPS_LONG, *others, seed=seed)
    most = 0
    for frame in frames(race, 700):
        for window in frame.windows.values():
            counted(window)
            (row,) = [row for row in window.comparison if row.name == "skips_long"]
            most = max(most, row.waiting)
            if row.waiting:
                first = {places[0].name for metric in RANKED if (places := ranked(window, metric))}
                assert "skips_long" not in first, window.name
        bounded(frame.windows["run"], frame)
    assert most > 100


def test_in_a_race_that_keeps_up_the_tasks_that_wait_for_a_moment_cost_nobody_a_place() -> None:
    workload = preset("mixed").with_values({"arrival_rate": 14.0})
    course = Course(
        seed=4, node=Node(), preset="mixed", workload=workload, schedulers=("sjf", "rl_hold", "earliest_finish")
    )
    race = Race(course, run_id=1, first_task_id=FIRST)
    shown = list(frames(race, 500, every=3))[100:]
    waiting = [row.waiting for frame in shown for row in frame.windows["run"].comparison]
    assert max(waiting) > 0
    led = [ranked(frame.windows["run"], "avg_latency") for frame in shown]
    assert fmean(len(places) == 3 for places in led) > 0.9
    assert {places[0].name for places in led if places} & {"sjf", "rl_hold"}


def test_a_race_brought_back_shows_what_the_race_that_went_on_shows() -> None:
    whole, first, second = (overloaded("sjf", SKIPS_LONG, "greedy") for _ in range(3))
    for race in (whole, first):
        list(frames(race, 150))
    second.restore(unpack_state(bytes(pack_state(first.capture()))))
    list(frames(whole, 120))  # looked at often, and never
    for _ in range(120):
        second.step()
    mine, other = (Framer(race).frame(idle_frame(0.0).status, 0.0) for race in (whole, second))
    # The bound is a sum whose last digits depend on how often it was asked for.
    assert mine.windows["latest"] == other.windows["latest"]
    for one, two in zip(mine.windows["run"].comparison, other.windows["run"].comparison, strict=True):
        assert (one.at_least or {}) == pytest.approx(two.at_least or {}, rel=1e-9)
        assert replace(one, at_least=None, time_gap=None) == replace(two, at_least=None, time_gap=None)


def test_where_nobody_finishes_everything_no_one_is_given_a_place() -> None:
    race = overloaded("sjf", SKIPS_LONG)
    *_, frame = frames(race, 600)
    window = frame.windows["run"]
    assert window.compared_tasks < 0.9 * window.tasks
    assert all(ranked(window, metric) == [] for metric in RANKED)


def test_a_comparison_ends_where_all_that_keep_up_have_finished() -> None:
    assert compared_up_to([], 1, 100) == 0
    assert compared_up_to([100, 100], 1, 100) == 100
    assert compared_up_to([100, 95], 1, 100) == 95
    assert compared_up_to([100, 95, 17], 1, 100) == 95
    assert compared_up_to([100, 89], 1, 100) == 100
    assert compared_up_to([99, 98], 1, 99) == 99
    assert compared_up_to([100_000, 99_500, 98_999], 1, 100_000) == 99_500
    assert compared_up_to([100, 95], 1, 100, before=97) == 100
    assert not is_covered(0, 0)
    assert is_covered(90, 100)
    assert not is_covered(89, 100)
