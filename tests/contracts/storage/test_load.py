"""The load of the devices where queues are far longer than what is read at once, and where old rows were removed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hybrid_ml_scheduler.storage import (
    ResultRow,
    Store,
    apply_retention,
    device_load,
    parts_around_now,
    write_batch,
)
from hybrid_ml_scheduler.storage.read.bands import Stretch, band
from tests.contracts.storage import samples

TASKS, CPU_S, GPU_S = 12_000, 1.0, 0.1
NOW_S = (TASKS - 1) / 6


def _overloaded(row: ResultRow) -> ResultRow:
    """A split of which the CPU's second waits behind all others, while GPU 1 is done with its share at once."""
    arrival, begin = row.task_id / 6, row.task_id * CPU_S
    split = row._replace(device="cpu+gpu_1", gpu_id=1, gpu_fraction=0.5, cpu_part=CPU_S, gpu_part=GPU_S)
    return split._replace(ready_time=arrival, cpu_start=begin, gpu_start=arrival, finish_time=begin + CPU_S)


@pytest.fixture
async def jammed(store: Store) -> int:
    """A run whose CPU has ten thousand tasks before it."""
    run_id = await samples.new_run(store)
    one = samples.result(0, "greedy")
    for first in range(0, TASKS, 2000):
        batch = samples.batch(run_id, first, 2000, schedulers=())
        results = [_overloaded(one._replace(task_id=first + i)) for i in range(2000)]
        await write_batch(store, replace(batch, results=results))
    return run_id


async def test_a_jammed_device_is_seen_at_work_however_long_ago_its_tasks_came(store: Store, jammed: int) -> None:
    found = await device_load(store, run_id=jammed, scheduler="greedy", span_s=60.0, steps=30)
    assert found.edges_s == pytest.approx(np.linspace(NOW_S - 60.0, NOW_S, 31))
    assert found.busy["cpu"] == pytest.approx([1.0] * 30)
    assert found.busy["gpu_1"] == pytest.approx([6 * GPU_S] * 30, abs=0.5 * GPU_S + 1e-9)
    early = await device_load(store, run_id=jammed, scheduler="greedy", span_s=60.0, steps=30, last_task=9000)
    assert early.edges_s[-1] == 1500.0
    assert early.busy["cpu"] == pytest.approx([1.0] * 30)


async def test_what_a_jammed_device_does_now_is_found_in_a_narrow_band_of_tasks(store: Store, jammed: int) -> None:
    stretch = Stretch(NOW_S - 20.0, NOW_S + 20.0)
    async with store.reading() as connection:
        first, last, _ = await band(connection, "greedy", "cpu", (0, TASKS - 1), stretch)
        nothing = await band(connection, "nobody", "cpu", (0, TASKS - 1), stretch)
    assert NOW_S - 20 - 600 < first <= NOW_S - 21
    assert NOW_S + 20 <= last < NOW_S + 20 + 600
    assert nothing[:2] == (0, TASKS - 1), "where nothing tells, everything is looked at"
    found = await parts_around_now(store, run_id=jammed, schedulers=("greedy",), seconds=20.0)
    on_cpu = [row.task_id for row in found.rows if stretch.begin_s - CPU_S < (row.cpu_start or 0.0) < stretch.end_s]
    assert sorted(on_cpu) == [task for task in range(TASKS) if stretch.begin_s - CPU_S < task < stretch.end_s]
    assert sum(row.cpu_waiting for row in found.queues) == sum(task > NOW_S for task in range(TASKS))


async def test_what_ran_before_all_that_is_kept_is_unknown_and_not_idle(store: Store, jammed: int) -> None:
    await apply_retention(store, keep_tasks=4000)
    found = await device_load(store, run_id=jammed, scheduler="greedy", span_s=60.0, steps=30)
    assert found.busy["cpu"] == [None] * 30
    assert None not in found.busy["gpu_1"]
