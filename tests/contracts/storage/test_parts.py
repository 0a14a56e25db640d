"""The queues of a node as the stored parts tell them, held against a plain reading of the same rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from hybrid_ml_scheduler.service.explain.motion import node_motion
from hybrid_ml_scheduler.storage import (
    ResultRow,
    Store,
    device_load,
    devices_free,
    get_run,
    parts_around_now,
    write_batch,
)
from tests.contracts.storage import samples

STEPS = 20


def _moments(row: ResultRow) -> list[tuple[float, int]]:
    """When parts of a task join the queues, and when they leave them."""
    begins = [(row.cpu_start, row.cpu_part), (row.gpu_start, row.gpu_part)]
    begun = [start for start, seconds in begins if start is not None and seconds]
    assert row.ready_time is not None
    return [(row.ready_time, len(begun)), *((start, -1) for start in begun)]


async def test_changes_of_the_queues_are_those_of_the_rows_in_every_step(store: Store) -> None:
    run_id = await samples.new_run(store)
    batch = samples.batch(run_id, 0, 300)
    await write_batch(store, batch)
    found = await parts_around_now(store, run_id=run_id, schedulers=("greedy", "oracle"), seconds=25.0, steps=STEPS)
    assert found.now_s == 299 / 6
    edges = np.linspace(found.now_s - 25.0, found.now_s, STEPS + 1)
    for name in ("greedy", "oracle"):
        moments = [one for row in batch.results if row.scheduler_name == name for one in _moments(row)]
        expected = [sum(n for at, n in moments if begin < at <= end) for begin, end in pairwise(edges)]
        known = {row.step: row.joined for row in found.changes if row.scheduler_name == name}
        assert [known.get(step, 0) for step in range(1, STEPS + 1)] == expected
        assert any(expected)


async def test_a_gang_counts_on_every_gpu_that_it_holds(store: Store) -> None:
    run_id = await samples.new_run(store)
    batch = samples.batch(run_id, 0, 2, schedulers=("greedy",))
    first, second = (
        row._replace(cpu_start=None, cpu_part=0.0, gpu_fraction=1.0, gpu_id=2, ready_time=0.0) for row in batch.results
    )
    first = first._replace(device="gpu_2+gpu_3", gpu_start=0.0, gpu_part=0.1, finish_time=0.1)
    second = second._replace(device="gpu_0-3", gpu_start=1.0, gpu_part=2.0, finish_time=3.0)
    await write_batch(store, replace(batch, results=[first, second]))
    free_s = await devices_free(store, run_id=run_id, scheduler="greedy", before_task=1, reach=10, num_gpus=4)
    assert free_s == [0.0, 0.0, 0.0, 0.1, 0.1]
    load = await device_load(store, run_id=run_id, scheduler="greedy", steps=5)
    assert load.busy["gpu_3"] == load.busy["gpu_2"]
    assert sum(share or 0.0 for share in load.busy["gpu_3"]) > 1.0
    found = await parts_around_now(store, run_id=run_id, schedulers=("greedy",), seconds=30.0)
    run = await get_run(store, run_id)
    assert run is not None
    (motion,) = node_motion(run, found, ["greedy"], 30.0).strategies
    assert sorted(zip(motion.parts.task_id, motion.parts.device, strict=True)) == [
        *((0, place) for place in (3, 4)),
        *((1, place) for place in (1, 2, 3, 4)),
    ]
    assert motion.waiting_now == [0, 1, 1, 1, 1]
    assert motion.waiting[-1] == 1, "it is one part that waits"
    assert motion.free_in_s == [0.0, *[3.0 - found.now_s] * 4]
