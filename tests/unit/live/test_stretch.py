"""Tasks taken many at once: the very rows, totals and device states of single steps."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.core.knowledge import EXACT, LEVELS, Level
from hybrid_ml_scheduler.live.pace import _AT_FULL_SPEED
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.racer import DECISION_BUCKETS_S
from hybrid_ml_scheduler.live.records import Course, Retraining
from hybrid_ml_scheduler.physics import CoExecution, CostModel, Gpu, MemoryRule, Node
from hybrid_ml_scheduler.physics.truth import Truth
from hybrid_ml_scheduler.workload import preset
from tests.unit.live.spelled import spelled_out

ALL = (
    "round_robin",
    "random",
    "greedy",
    "hybrid_ml",
    "rl_agent",
    "rl_split",
    "oracle",
    "cpu_only",
    "earliest_finish",
    "earliest_device",
)
RULES = ("round_robin", "random", "greedy", "hybrid_ml", "oracle", "earliest_finish", "earliest_device@exact")
NODES = {
    "four equal GPUs": Node(),
    "two GPUs, serial, paging": Node(
        gpus=Node.uniform(2).gpus, co_execution=CoExecution.SERIAL, memory_rule=MemoryRule.PAGE
    ),
    "small memory, failing": Node(memory_rule=MemoryRule.FAIL),
    "unlike GPUs, paid by electricity": Node(
        gpus=(Gpu(), Gpu(speed=2.0, memory_mb=4_000.0, power_w=120.0), Gpu(speed=0.5, memory_mb=24_000.0)),
        cost_model=CostModel.ELECTRICITY,
    ),
}


NOISY = {"noise_sigma": 0.2}
HIDDEN = {"noise_sigma": 0.2, "kinds": 4}


def new_race(
    node: Node,
    *,
    retraining: Retraining = "background",
    laws: Mapping[str, float] | None = None,
    knowledge: Level = EXACT,
    schedulers: tuple[str, ...] = ALL,
) -> Race:
    course = Course(
        seed=3,
        node=node,
        preset="mixed",
        workload=preset("mixed").with_values(laws or {}),
        schedulers=schedulers,
        options={"hybrid_ml": {"mode": "share"}}
        if "hybrid_ml" in schedulers
        else {},  # together only where nobody holds
        retraining=retraining,
        knowledge=knowledge,
        truth=Truth(kind_spread=0.5 if laws == HIDDEN else 0.0),
    )
    return Race(course, run_id=1, first_task_id=5)


def foreign(race: Race, ahead_s: float, *parents: int) -> Task:
    return Task(
        task_id=0,
        size=700.0,
        compute_intensity=0.4,
        memory_required=40.0,
        arrival_time=race.now_s + ahead_s,
        dependencies=parents,
    )


def lived(race: Race, most: int) -> list[str]:
    """All there is to tell about a race with everything in it that can happen, taken `most` tasks at a time."""
    go(race, 150, most)
    job = race.learners.request(race.next_task_id)
    race.shift("heavy", preset("heavy").with_values({"memory_range": (10.0, 20_000.0)}), at=0.0)
    go(race, 90, most)
    told = [repr(spelled_out(race.take_rows()))]  # nothing was held back yet: the very order of the rows
    if job is not None:
        race.learners.pending = None
        race.activate(job, replace(job.run(), duration_s=0.0), at=0.0)
    told.append(state_of(race))
    race.admit(foreign(race, 0.0, race.next_task_id - 1, race.next_task_id - 30), at=0.0)
    race.admit(foreign(race, 2.0), at=0.0)
    race.shift("mixed", preset("mixed"), at=0.0)
    go(race, 110, most)
    rows = spelled_out(race.take_rows())
    # A strategy that holds a task back decides it among later ones, whose rows of other strategies are there already.
    rows.outcomes.sort(key=lambda one: (one[0], one[1].task_id))
    return [*told, repr(rows), state_of(race)]


def state_of(race: Race) -> str:
    """What a checkpoint would hold, and what is shown of the devices."""
    return repr((exact(race.capture()), [one.devices(race.now_s) for one in race.racers]))


def exact(value: Any) -> Any:
    """A captured value with every bit of its arrays, which their own words would round."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, hashlib.sha256(value.tobytes()).hexdigest()
    if isinstance(value, Mapping):
        return {key: exact(sorted(one) if key == "finishes" else one) for key, one in value.items()}  # kept as a heap
    return [exact(one) for one in value] if isinstance(value, list | tuple) else value


def go(race: Race, tasks: int, most: int) -> None:
    while tasks > 0:
        tasks -= race.advance(min(most, tasks))


@pytest.mark.parametrize("name", NODES)
def test_tasks_taken_together_leave_the_rows_and_states_of_single_steps(name: str) -> None:
    assert lived(new_race(NODES[name]), 32) == lived(new_race(NODES[name]), 1)


@pytest.mark.parametrize("name", NODES)
@pytest.mark.parametrize("knowledge", LEVELS)
def test_so_do_tasks_whose_durations_are_hidden_and_learned_meanwhile(name: str, knowledge: Level) -> None:
    races = [new_race(NODES[name], laws=HIDDEN, knowledge=knowledge, schedulers=RULES) for _ in range(3)]
    assert lived(races[0], 32) == lived(races[1], 1)
    assert races[2].advance(32) == 32


def test_so_does_noise_at_every_strategy() -> None:
    assert lived(new_race(Node(), laws=NOISY), 32) == lived(new_race(Node(), laws=NOISY), 1)


HOLDS_LATE = """
from hybrid_ml_scheduler import Decision

class HoldsLate:
    name = "holds_late"

    def __init__(self):
        self.asked = {}

    def decide(self, task, cluster):
        self.asked[task.task_id] = self.asked.get(task.task_id, 0) + 1
        is_last = task.task_id in (5 + 62, 5 + 63)  # of the second stretch
        return None if is_last and self.asked[task.task_id] < 4 else Decision(gpu_fraction=1.0)
"""


def test_so_does_a_strategy_that_first_holds_tasks_at_the_end_of_a_stretch(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(HOLDS_LATE, encoding="utf-8")
    told = []
    for most in (32, 1):
        race = new_race(Node(), schedulers=("greedy", f"{tmp_path / 'late.py'}:HoldsLate"))
        go(race, 100, most)
        rows = spelled_out(race.take_rows())
        rows.outcomes.sort(key=lambda one: (one[0], one[1].task_id))
        told.append((repr(rows), state_of(race)))
        assert len(rows.outcomes) == 200
    assert told[0] == told[1]


def test_the_time_of_tasks_placed_together_counts_for_each_with_their_mean() -> None:
    race = new_race(Node())
    assert race.advance(_AT_FULL_SPEED) == _AT_FULL_SPEED == 64, "the help of hms_decision_seconds names this number"
    greedy = next(racer for racer in race.racers if racer.name == "greedy")
    place = bisect_left(DECISION_BUCKETS_S, greedy.decision_s / _AT_FULL_SPEED)
    assert [where for where, count in enumerate(greedy.decision_counts) if count] == [place]
    assert greedy.decision_counts[place] == _AT_FULL_SPEED


def test_tasks_are_really_taken_together() -> None:
    assert new_race(Node()).advance(32) == 32


def test_parents_go_step_by_step() -> None:
    assert new_race(Node(), laws={"dependency_probability": 0.2}).advance(32) == 1


def test_synchronous_retraining_goes_step_by_step() -> None:
    assert new_race(Node(), retraining="synchronous").advance(32) == 1


def test_asking_for_reasons_loses_no_outcome() -> None:
    asked, unasked = (new_race(Node(), laws={"dependency_probability": 0.3}) for _ in range(2))
    for _ in range(80):
        asked.step(explain=True)
        unasked.step()
    assert repr(asked.take_rows().outcomes) == repr(unasked.take_rows().outcomes)
