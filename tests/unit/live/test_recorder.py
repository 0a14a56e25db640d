"""When the state of a race is taken: often enough to go on from, and never so often that it takes the race's time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from hybrid_ml_scheduler.live.checkpoints import CHECKPOINT_EVERY_TASKS
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.recorder import Recorder
from tests.unit.live.house import CHEAP, MemoryKeeper, mixed_course

COST_S = 0.05


class CostlyRace(Race):
    """One whose state takes its time, as where the queues are long."""

    def capture(self) -> Mapping[str, Any]:
        time.sleep(COST_S)
        return super().capture()


def taken_up_to(recorder: Recorder, keeper: MemoryKeeper, race: Race) -> int:
    """The boundary of the newest state that has been handed over."""
    assert recorder.hand_over(race, 0.0, checkpoint=False)
    return max((rows.checkpoint.boundary for rows in keeper.kept if rows.checkpoint is not None), default=-1)


def test_many_tasks_bring_a_checkpoint_at_once_and_costly_ones_come_a_thirtieth_of_the_time_at_most() -> None:
    keeper = MemoryKeeper()
    recorder, race = Recorder(keeper), CostlyRace(mixed_course(CHEAP), run_id=1, first_task_id=0)
    recorder.open(race)
    race.next_task_id += CHECKPOINT_EVERY_TASKS
    recorder.tend(race, 0.0)
    begin_s = time.monotonic()
    while taken_up_to(recorder, keeper, race) < CHECKPOINT_EVERY_TASKS:
        time.sleep(0.01)
        assert time.monotonic() - begin_s < 60.0
    race.next_task_id += CHECKPOINT_EVERY_TASKS
    while taken_up_to(recorder, keeper, race) < 2 * CHECKPOINT_EVERY_TASKS:
        recorder.tend(race, 0.0)
        time.sleep(0.01)
        assert time.monotonic() - begin_s < 60.0
    assert time.monotonic() - begin_s >= 30 * COST_S
    recorder.close()
