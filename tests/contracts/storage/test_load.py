"""The load of the devices where queues are far longer than what is read at once, and where old rows were removed."""

from __future__ import annotations

from collections.abc import Callable
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
from hybrid_ml_scheduler.storage.read.bands import Reach, Stretch, reach_of
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
        ((first, last),), _ = await reach_of(connection, jammed, "greedy", "cpu", (0, TASKS - 1), stretch)
        nothing = await reach_of(connection, jammed, "nobody", "cpu", (0, TASKS - 1), stretch)
    assert NOW_S - 20 - 600 < first <= NOW_S - 21
    assert NOW_S + 20 <= last < NOW_S + 20 + 600
    assert nothing == Reach([], 0.0)
    found = await parts_around_now(store, run_id=jammed, schedulers=("greedy",), seconds=20.0)
    on_cpu = [row.task_id for row in found.rows if stretch.begin_s - CPU_S < (row.cpu_start or 0.0) < stretch.end_s]
    assert sorted(on_cpu) == [task for task in range(TASKS) if stretch.begin_s - CPU_S < task < stretch.end_s]
    assert sum(row.cpu_waiting for row in found.queues) == sum(task > NOW_S for task in range(TASKS))


async def test_what_ran_before_all_that_is_kept_is_unknown_and_not_idle(store: Store, jammed: int) -> None:
    await apply_retention(store, keep_tasks=4000)
    found = await device_load(store, run_id=jammed, scheduler="greedy", span_s=60.0, steps=30)
    assert found.busy["cpu"] == [None] * 30
    assert None not in found.busy["gpu_1"]


def _alone(row: ResultRow, device: int, begin_s: float, seconds: float) -> ResultRow:
    """A part on one GPU and nothing else."""
    own = row._replace(device=f"gpu_{device}", gpu_id=device, gpu_fraction=1.0, ready_time=row.task_id / 6)
    parts = own._replace(cpu_part=0.0, cpu_start=None, gpu_part=seconds, gpu_start=begin_s)
    return parts._replace(start_time=begin_s, finish_time=begin_s + seconds)


async def _stored(store: Store, count: int, made: Callable[[ResultRow], ResultRow]) -> int:
    run_id, one = await samples.new_run(store), samples.result(0, "greedy")
    for first in range(0, count, 2000):
        batch = samples.batch(run_id, first, min(2000, count - first), schedulers=())
        rows = [made(one._replace(task_id=task.task_id)) for task in batch.tasks]
        await write_batch(store, replace(batch, results=rows))
    return run_id


async def test_one_long_part_is_seen_however_many_tasks_passed_it(store: Store) -> None:
    run_id = await _stored(
        store,
        TASKS,
        lambda row: _alone(row, *((0, row.task_id / 6, 1e6) if row.task_id == 100 else (1, row.task_id / 6, 0.1))),
    )
    found = await device_load(store, run_id=run_id, scheduler="greedy", span_s=60.0, steps=6)
    assert found.busy["gpu_0"] == pytest.approx([1.0] * 6)
    assert found.busy["gpu_1"] == pytest.approx([0.6] * 6, abs=0.02)
    around = await parts_around_now(store, run_id=run_id, schedulers=("greedy",), seconds=20.0)
    assert 100 in {row.task_id for row in around.rows}
    assert sum(row.gpu_running for row in around.queues) == 2


async def test_what_was_held_while_thousands_passed_is_seen(store: Store) -> None:
    def held(row: ResultRow) -> ResultRow:
        wait_s, seconds = (3500 / 6, 6.6) if row.task_id % 40 == 0 else (0.0, 0.05)
        return _alone(row, 0, row.task_id / 6 + wait_s, seconds)

    run_id = await _stored(store, TASKS, held)
    found = await device_load(store, run_id=run_id, scheduler="greedy", span_s=60.0, steps=6)
    assert min(share or 0.0 for share in found.busy["gpu_0"]) > 0.95


async def test_a_side_that_is_never_used_has_no_queue_that_is_too_long_to_count(store: Store) -> None:
    run_id = await _stored(store, 52_000, lambda row: _alone(row, 1, row.task_id / 6, 0.1))
    around = await parts_around_now(store, run_id=run_id, schedulers=("greedy",), seconds=20.0)
    assert around.reaches_back
    assert sum(row.gpu_waiting + row.cpu_waiting for row in around.queues) == 0
