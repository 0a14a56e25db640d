"""What is said about the devices around a task, and whether that is all there is."""

from __future__ import annotations

import pytest

from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.service.explain.gantt import Reach, gantt_around
from hybrid_ml_scheduler.storage import RangeTotals, ResultRow
from hybrid_ml_scheduler.storage.write.summaries import SUMMED


def row(task_id: int, ready: float) -> ResultRow:
    """A task that was ready at a moment, and ran on GPU 1 for a second."""
    return ResultRow(
        task_id=task_id,
        scheduler_name="greedy",
        gpu_fraction=1.0,
        device="gpu_1",
        gpu_id=1,
        actual_time=1.0,
        latency=1.0,
        wait=0.0,
        energy_consumption=1.0,
        execution_cost=1.0,
        ready_time=ready,
        start_time=ready,
        finish_time=ready + 1.0,
        cpu_part=0.0,
        gpu_part=1.0,
        cpu_start=None,
        gpu_start=ready,
        out_of_memory=False,
        failed=False,
    )


@pytest.mark.parametrize(
    ("ready", "reach", "is_complete"),
    [
        ((10.0, 20.0, 30.0), Reach(is_first=False, is_last=False), True),
        ((19.0, 20.0, 30.0), Reach(is_first=False, is_last=False), False),
        ((10.0, 20.0, 21.0), Reach(is_first=False, is_last=False), False),
        ((19.0, 20.0, 30.0), Reach(is_first=True, is_last=False), True),
        ((10.0, 20.0, 21.0), Reach(is_first=False, is_last=True), True),
        ((19.0, 20.0, 21.0), Reach(is_first=True, is_last=True), True),
    ],
)
def test_a_strip_is_whole_where_no_task_beyond_those_at_hand_could_be_on_it(
    ready: tuple[float, float, float], reach: Reach, is_complete: bool
) -> None:
    around = [row(task_id, when) for task_id, when in enumerate(ready)]
    found = gantt_around(around[1], around, Node(), reach)
    assert (found.begin, found.end) == (18.0, 23.0)
    assert found.is_complete == is_complete
    shown = {part.task_id for part in found.intervals}
    assert shown == {task_id for task_id, when in enumerate(ready) if 17.0 < when < 23.0}
    assert {part.device for part in found.intervals} == {"gpu_1"}


def test_a_gang_is_on_the_strip_of_every_gpu_that_it_held() -> None:
    gang = row(0, 20.0)._replace(device="gpu_0+gpu_1+gpu_3")
    found = gantt_around(gang, [gang], Node(), Reach(is_first=True, is_last=True))
    assert {(part.device, part.begin, part.end) for part in found.intervals} == {
        (name, 20.0, 21.0) for name in ("gpu_0", "gpu_1", "gpu_3")
    }


def test_a_gang_counts_as_placed_on_gpus_and_keeps_each_of_them_busy() -> None:
    totals = RangeTotals()
    for device in ("gpu_0+gpu_2", "gpu_0-3", "cpu+gpu_2", "cpu"):
        totals.add(device, [1, 0, 0, 5.0, 5.0, *(1.0 for _ in SUMMED)])
    assert totals.placed == {"gpu": 2, "split": 1, "cpu": 1}
    assert totals.busy_s == {"cpu": 4.0, "gpu_0": 2.0, "gpu_1": 1.0, "gpu_2": 3.0, "gpu_3": 1.0}
