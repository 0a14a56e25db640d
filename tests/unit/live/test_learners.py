"""How often the agent updates: as asked for, unless the race runs too fast for that."""

from __future__ import annotations

from typing import Any

import pytest

from hybrid_ml_scheduler.live.checkpoints import packed, unpacked
from hybrid_ml_scheduler.live.course import Course
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.workload import preset


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
    again.restore(unpacked(packed(race.capture())))
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
