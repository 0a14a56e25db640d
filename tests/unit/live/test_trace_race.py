"""A race on a trace: it places every task of the file and no other, and a replay gives the same rows."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.core.knowledge import EXACT, LEARNED, NOMINAL, Level
from hybrid_ml_scheduler.live.checkpoints import pack_state, unpack_state
from hybrid_ml_scheduler.live.lockstep import shown_to
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Course, Rows, Trace
from hybrid_ml_scheduler.live.replay import replay
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.workload import WorkloadParameters

_TASKS = 60


def _batch() -> TaskBatch:
    rng = np.random.default_rng(5)
    cpu = rng.uniform(0.2, 2.0, _TASKS)
    return TaskBatch.from_columns(
        task_id=np.arange(_TASKS) * 3 + 7,
        size=rng.uniform(100, 900, _TASKS),
        compute_intensity=rng.uniform(0, 1, _TASKS),
        memory_required=rng.uniform(1, 50, _TASKS),
        arrival_time=1000.0 + np.sort(rng.uniform(0, 20, _TASKS)),
        cpu_time=cpu,
        gpu_time=cpu / rng.uniform(1, 9, _TASKS),
        kind=rng.integers(1, 4, _TASKS),
        kind_names=("", "a", "b", "c"),
        divisible=np.zeros(_TASKS, dtype=bool),
        dependencies=[[(row - 1) * 3 + 7] if row % 10 == 9 else [] for row in range(_TASKS)],
    )


def _race(level: Level = LEARNED, first_task_id: int = 100) -> Race:
    course = Course(
        seed=1,
        node=Node.uniform(2),
        preset="jobs.csv",
        workload=WorkloadParameters(),
        schedulers=("greedy", "earliest_finish", "sjf"),
        knowledge=level,
        trace=Trace(upload="0" * 32, batch=_batch()),
    )
    return Race(course, run_id=3, first_task_id=first_task_id)


def _raced(race: Race) -> Rows:
    while not race.is_complete:
        race.step()
    return race.take_rows()


@pytest.mark.parametrize("level", [EXACT, LEARNED])
def test_every_task_of_the_file_is_placed_once_by_every_strategy_and_no_other(level: Level) -> None:
    race = _race(level)
    rows = _raced(race)
    assert [task.task_id for task in rows.tasks] == list(range(100, 100 + _TASKS))
    assert rows.tasks[0].arrival_time == 0.0
    assert rows.tasks[19].dependencies == (118,)
    for racer in race.racers:
        met = sorted(outcome.task_id for name, outcome in rows.outcomes if name == racer.name)
        assert met == list(range(100, 100 + _TASKS)), racer.name


def test_what_a_task_takes_is_what_the_file_measured_whatever_strategies_were_told() -> None:
    batch, rows = _batch(), _raced(_race())
    for name, outcome in rows.outcomes:
        row = outcome.task_id - 100
        took = batch.gpu_time[row] if outcome.gpu_fraction else batch.cpu_time[row]
        assert outcome.cpu_s + outcome.gpu_s == pytest.approx(float(took)), name


def test_a_race_that_is_brought_back_in_its_middle_ends_with_the_same_rows() -> None:
    whole, race = _raced(_race()), _race()
    for _ in range(25):
        race.step()
    before = race.take_rows()
    back = _race()
    back.restore(unpack_state(bytes(pack_state(race.capture()))))
    kept: list[Rows] = []
    replay(back, [], 100 + _TASKS, kept.append)
    assert back.is_complete
    after = [one for rows in kept for one in rows.outcomes]
    assert before.outcomes + after == whole.outcomes


@pytest.mark.parametrize("level", [EXACT, LEARNED])
def test_a_race_that_is_over_shows_the_queues_that_were_left_at_its_last_task(level: Level) -> None:
    race = _race(level)
    rows = _raced(race)
    again = _race(level)
    again.restore(unpack_state(pack_state(race.capture())))
    for racer in (*race.racers, *again.racers):
        own = [outcome for name, outcome in rows.outcomes if name == racer.name]
        seen = racer.devices(race.now_s)
        if racer.name == "greedy":
            last_s = max(outcome.finish_s for outcome in own if outcome.ready_s <= race.now_s)
            assert last_s > race.now_s + 1.0, "it is overloaded"
            longest_s = max(one.backlog_s for one in seen.values())
            assert longest_s == pytest.approx(last_s - race.now_s) if level == EXACT else longest_s > 1.0
        assert all(one.run_utilization <= 1.0 + 1e-9 for one in seen.values()), racer.name
    assert [one.devices(race.now_s) for one in again.racers] == [one.devices(race.now_s) for one in race.racers]


def test_a_strategy_that_is_asked_about_a_task_later_is_not_shown_what_the_task_took() -> None:
    for level, tells in ((EXACT, True), (LEARNED, False), (NOMINAL, False)):
        race = _race(level)
        rows = _raced(race)
        shown = shown_to(race.racers[0], rows.tasks[5], race)
        assert (shown.cpu_time == rows.tasks[5].cpu_time) == tells, level
        assert shown.task_id == rows.tasks[5].task_id
