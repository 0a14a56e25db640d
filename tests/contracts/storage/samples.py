"""Batches with different values in every row, so that a mix-up cannot go unseen."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from hybrid_ml_scheduler.core import stream
from hybrid_ml_scheduler.storage import (
    CheckpointRow,
    EventRow,
    ModelRow,
    NotificationRow,
    ResultRow,
    RowBatch,
    Store,
    TaskRow,
    TrainingRow,
    create_run,
)

SCHEDULERS = ("round_robin", "random", "greedy", "hybrid_ml", "rl_agent", "oracle")


async def new_run(store: Store, seed: int = 7) -> int:
    return await create_run(store, plan={"simulation": {"num_gpus": 4}}, seed=seed, versions={"numpy": "2"})


def batch(run_id: int, first: int, count: int, *, seed: int = 1, schedulers: Sequence[str] = SCHEDULERS) -> RowBatch:
    """The same arguments give the same rows, to the last bit."""
    return RowBatch(
        tasks=[task(run_id, task_id, seed) for task_id in range(first, first + count)],
        results=[result(task_id, name, seed) for task_id in range(first, first + count) for name in schedulers],
        training=[label(task_id, seed) for task_id in range(first, first + count)],
    )


@cache
def task(run_id: int, task_id: int, seed: int = 1) -> TaskRow:
    draw = stream(seed, "task", task_id).random(4).tolist()
    parents = f"[{task_id - 1}]" if task_id % 5 == 4 else "[]"
    kind, deadline = ("", None) if task_id % 3 else ("sort", 1.0 + draw[3])
    facts = (100 + 4900 * draw[0], draw[1], 10 + 490 * draw[2], task_id / 6, parents, kind, deadline)
    return TaskRow(
        task_id,
        run_id,
        *facts,
        divisible=task_id % 4 != 2,
        gpus_required=2 if task_id % 8 == 6 else 1,
        runs_on="gpu" if task_id % 8 == 6 else "any",
    )


def plain(row: TaskRow) -> TaskRow:
    """The same task without what a block cannot hold."""
    return row._replace(dependencies="[]", kind="", deadline=None, divisible=True, gpus_required=1, runs_on="any")


@cache
def result(task_id: int, scheduler: str, seed: int = 1) -> ResultRow:
    draw = stream(seed, "result", task_id, scheduler).random(5).tolist()
    gpu, fraction = (-1, 0.0) if draw[0] < 0.3 else (int(draw[0] * 4), 1.0 if draw[0] < 0.6 else draw[0])
    device = "cpu" if gpu < 0 else f"gpu_{gpu}" if fraction == 1.0 else f"cpu+gpu_{gpu}"
    arrival, time, wait = task_id / 6, 0.01 + draw[1], draw[2]
    return ResultRow(
        task_id=task_id,
        scheduler_name=scheduler,
        gpu_fraction=fraction,
        device=device,
        gpu_id=gpu,
        actual_time=time,
        latency=time + wait,
        wait=wait,
        energy_consumption=50 * draw[3],
        execution_cost=1e-4 * draw[4],
        ready_time=arrival,
        start_time=arrival + wait,
        finish_time=arrival + wait + time,
        cpu_part=time,
        gpu_part=time / 2,
        cpu_start=arrival + wait,
        gpu_start=None if gpu < 0 else arrival + wait + 0.001,
        out_of_memory=task_id % 7 == 0,
        failed=False,
    )


@cache
def label(task_id: int, seed: int = 1) -> TrainingRow:
    known = task(0, task_id, seed)
    fraction = (0.0, 0.45, 1.0)[task_id % 3]
    return TrainingRow(task_id, known.size, known.compute_intensity, known.memory_required, fraction, 0.1 + task_id)


def failed(task_id: int, scheduler: str) -> ResultRow:
    nothing = {"actual_time": None, "latency": None, "wait": None, "start_time": None, "finish_time": None}
    return result(task_id, scheduler)._replace(**nothing, energy_consumption=0.0, failed=True)  # type: ignore[arg-type]


def checkpoint(run_id: int, boundary: int, blob: bytes = b"state") -> CheckpointRow:
    return CheckpointRow(run_id, boundary, blob, 1000.0 + boundary)


def model(run_id: int, version: int, boundary: int = 50) -> ModelRow:
    return ModelRow(run_id, "hybrid_ml", version, boundary, 2000.0 + version, 1000, 0.125, 0.5, "abc")


def notification(run_id: int, key: str, at: float = 3000.0) -> NotificationRow:
    return NotificationRow(run_id, key, "info", f"Message {key}", at)


def event(run_id: int, sequence: int, boundary: int) -> EventRow:
    return EventRow(run_id, sequence, boundary, "shift", '{"preset": "heavy"}', 4000.0 + sequence)


def admitted(row: TaskRow) -> EventRow:
    """The event that says that a task came from outside."""
    return EventRow(row.run_id, row.task_id, row.task_id, "task", "{}", 4000.0)
