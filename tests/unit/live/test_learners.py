"""How often learners learn: the agent as asked for, unless the race is too fast for that; all others in their turn."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import pytest

from hybrid_ml_scheduler.core import ClusterView, Decision, Task
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.live.checkpoints import pack_state, unpack_state
from hybrid_ml_scheduler.live.learners import Learners
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.racer import Racer
from hybrid_ml_scheduler.live.records import Course
from hybrid_ml_scheduler.live.replay import replay
from hybrid_ml_scheduler.live.worker import TrainingWorker
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.workload import preset
from tests.unit.live.house import CHEAP, mixed_course


def race_of_the_agent(updates_per_task: float) -> Race:
    course = Course(
        seed=1,
        node=Node(),
        preset="mixed",
        workload=preset("mixed"),
        schedulers=("rl_agent",),
        options={"rl_agent": {"updates_per_task": updates_per_task}},
    )
    return Race(course, run_id=1, first_task_id=0)


def agent(race: Race) -> Any:
    return race.racers[0].scheduler


def test_an_agent_that_learns_twice_a_task_still_does_after_a_restart() -> None:
    race = race_of_the_agent(2.0)
    for _ in range(120):
        race.step()
    again = race_of_the_agent(2.0)
    again.restore(unpack_state(pack_state(race.capture())))
    assert agent(again).options.updates_per_task == 2.0
    before = agent(again).dqn.updates
    for one in (race, again):
        for _ in range(60):
            one.step()
    assert agent(again).dqn.updates == agent(race).dqn.updates > before + 90


@pytest.mark.parametrize(("asked", "stride", "expected"), [(2.0, 1, 2.0), (2.0, 7, 1 / 7), (0.05, 7, 0.05)])
def test_a_stride_is_an_upper_limit_and_goes_away_again(asked: float, stride: int, expected: float) -> None:
    race = race_of_the_agent(asked)
    race.set_stride(stride, at=0.0)
    assert agent(race).options.updates_per_task == expected
    race.set_stride(1, at=0.0)
    assert agent(race).options.updates_per_task == asked


@dataclass
class Model:
    """A model that says nothing."""

    samples: int = 1


class Pupil:
    """Trains apart, again after every ten tasks."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._new = 0

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        self._new += 1
        return Decision(gpu_fraction=0.5)

    def training_due(self) -> bool:
        return self._new >= 10

    def training_data(self) -> Any:
        self._new = 0
        return self

    def fit(self, data: Any) -> Model:
        return Model()

    def activate(self, model: Any, data: Any) -> None:
        self.model = model


def race_of_pupils(*names: str) -> Race:
    course = mixed_course(CHEAP[:1], retrain_interval=10)
    race = Race(course, run_id=1, first_task_id=0)
    race.racers = [Racer(course.node, Pupil(name), seed=1) for name in names]
    race.learners = Learners(race.racers, course)
    return race


def trained(race: Race, trainings: int) -> list[str]:
    """Train whatever is asked for, with enough tasks before each that all are due again, as at full speed."""
    names = []
    for _ in range(trainings):
        for _ in range(35):
            race.step()
        job = race.learners.request(race.next_task_id)
        assert job is not None
        names.append(job.scheduler)
        race.learners.pending = None
        race.activate(job, job.run(), at=0.0)
    return names


def test_strategies_that_are_always_due_are_trained_in_turn() -> None:
    assert trained(race_of_pupils("a", "b", "c"), 7) == ["a", "b", "c", "a", "b", "c", "a"]


def test_a_replay_counts_as_many_trainings_merged_as_the_race_did() -> None:
    race, again = race_of_pupils("a", "b"), race_of_pupils("a", "b")
    trained(race, 6)
    assert {name: one.coalesced for name, one in race.learners.states(1).items()} == {"a": 12, "b": 12}
    replay(again, race.take_rows().events, race.next_task_id, lambda rows: None)
    assert again.learners.states(1) == race.learners.states(1)
    assert {**again.learners.capture(), "last": ()} == {**race.learners.capture(), "last": ()}


def test_a_strategy_that_cannot_be_trained_is_named() -> None:
    race = race_of_pupils("a")
    race.racers[0].scheduler.fit = lambda data: 1 / 0  # type: ignore[attr-defined]
    with pytest.raises(SchedulerError, match="The strategy 'a' cannot be trained: ZeroDivisionError: division by zero"):
        trained(race, 1)


def test_a_training_that_failed_is_not_begun_again_at_once() -> None:
    """One that fails at once, and is due until it succeeds, would be begun a hundred times a second."""
    race, worker = race_of_pupils("a"), TrainingWorker()
    race.racers[0].scheduler.fit = lambda data: 1 / 0  # type: ignore[attr-defined]
    worker.begin(race.learners.job("a", 0))
    worker.close()
    done = worker.take_finished()
    assert done is not None
    assert isinstance(done[1], SchedulerError)
    assert not worker.may_begin(time.monotonic() + 1.0)
    assert worker.may_begin(time.monotonic() + 60.0)
