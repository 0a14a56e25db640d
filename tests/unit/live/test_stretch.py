"""Tasks taken many at once: the very rows, totals and device states of single steps."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.live.course import Course, Retraining
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.physics import CoExecution, MemoryRule, Node
from hybrid_ml_scheduler.workload import preset

ALL = ("round_robin", "random", "greedy", "hybrid_ml", "rl_agent", "oracle", "cpu_only", "earliest_finish")
NODES = {
    "four equal GPUs": Node(),
    "two GPUs, serial, paging": Node(
        gpus=Node.uniform(2).gpus, co_execution=CoExecution.SERIAL, memory_rule=MemoryRule.PAGE
    ),
    "small memory, failing": Node(memory_rule=MemoryRule.FAIL),
}


def new_race(node: Node, *, retraining: Retraining = "background", laws: Mapping[str, float] | None = None) -> Race:
    workload = preset("mixed").with_values(laws or {})
    return Race(
        Course(seed=3, node=node, preset="mixed", workload=workload, schedulers=ALL, retraining=retraining),
        run_id=1,
        first_task_id=5,
    )


def foreign(race: Race, ahead_s: float, *parents: int) -> Task:
    return Task(
        task_id=0,
        size=700.0,
        compute_intensity=0.4,
        memory_required=40.0,
        arrival_time=race.now_s + ahead_s,
        dependencies=parents,
    )


def lived(race: Race, most: int) -> str:
    """All there is to tell about a race with everything in it that can happen, taken `most` tasks at a time."""
    go(race, 150, most)
    job = race.learners.request(race.next_task_id)
    race.shift("heavy", preset("heavy").with_values({"memory_range": (10.0, 20_000.0)}), at=0.0)
    go(race, 90, most)
    if job is not None:
        race.learners.pending = None
        race.activate(job, job.run(), at=0.0)
    race.admit(foreign(race, 0.0, race.next_task_id - 1, race.next_task_id - 30), at=0.0)
    race.admit(foreign(race, 2.0), at=0.0)
    race.shift("mixed", preset("mixed"), at=0.0)
    go(race, 110, most)
    rows = race.take_rows()
    decided = sorted(rows.outcomes, key=lambda one: (one[0], one[1].task_id))
    states = [(one.tally.time_s, one.tally.makespan_s, one.devices(race.now_s)) for one in race.racers]
    return repr((rows.tasks, rows.labels, decided, states, race.oracle_s, race.next_task_id, race.now_s))


def go(race: Race, tasks: int, most: int) -> None:
    while tasks > 0:
        tasks -= race.advance(min(most, tasks))


@pytest.mark.parametrize("name", NODES)
def test_tasks_taken_together_leave_the_rows_and_states_of_single_steps(name: str) -> None:
    assert lived(new_race(NODES[name]), 32) == lived(new_race(NODES[name]), 1)


def test_tasks_are_really_taken_together() -> None:
    assert new_race(Node()).advance(32) == 32


@pytest.mark.parametrize("laws", [{"noise_sigma": 0.2}, {"dependency_probability": 0.2}])
def test_luck_and_parents_go_step_by_step(laws: dict[str, float]) -> None:
    assert new_race(Node(), laws=laws).advance(32) == 1


def test_synchronous_retraining_goes_step_by_step() -> None:
    assert new_race(Node(), retraining="synchronous").advance(32) == 1


def test_asking_for_reasons_loses_no_outcome() -> None:
    asked, unasked = (new_race(Node(), laws={"dependency_probability": 0.3}) for _ in range(2))
    for _ in range(80):
        asked.step(explain=True)
        unasked.step()
    assert repr(asked.take_rows().outcomes) == repr(unasked.take_rows().outcomes)
