"""Running a stream of built-in tasks for real."""

from __future__ import annotations

import contextlib
import gc
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import wait
from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.core.protocols import Scheduler
from hybrid_ml_scheduler.execution.devices import Device
from hybrid_ml_scheduler.execution.executor import HybridExecutor
from hybrid_ml_scheduler.execution.futures import HybridFuture
from hybrid_ml_scheduler.execution.options import ExecutorOptions
from hybrid_ml_scheduler.execution.runs.kinds import KINDS, Sizes, warm_up
from hybrid_ml_scheduler.execution.runs.run_result import RunResult
from hybrid_ml_scheduler.execution.runs.streams import RealStream
from hybrid_ml_scheduler.execution.work import TaskRecord

__all__ = [
    "EndedTask",
    "EndedTasks",
    "Observations",
    "measure_run",
    "ready_executor",
    "short_collections",
    "wait_until",
]

Observations = Sequence[tuple[str, str, float, float]]


class EndedTask(NamedTuple):
    """The row of a task in its stream, its place, and when it began and ended."""

    row: int
    place: int
    start_s: float
    finish_s: float


def ready_executor(
    strategy: str | Scheduler,
    sizes: Sizes,
    max_workers: int | None,
    devices: Sequence[Device | str] | None,
    known: Observations = (),
) -> HybridExecutor:
    """An executor whose workers have all run every kind once, so that nothing is cold."""
    options = ExecutorOptions(
        store="", initializer=warm_up, initargs=(dict(sizes),), history=10_000_000, queue_limit=10**9
    )
    executor = HybridExecutor(max_workers, devices=devices, strategy=strategy, options=options)
    executor.durations.learn(known)
    executor.wait_until_ready()
    return executor


@contextlib.contextmanager
def short_collections() -> Iterator[None]:
    """What is there by now is left out of Python's searches for garbage until the end.

    A search of all that numba, torch and the runs before have left in memory stops the program for 0.1 to 0.3 s, and
    with it every task that comes meanwhile. That belongs to the history of the process, not to the strategy that runs.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


class EndedTasks:
    """The tasks of a run that have ended so far, to be asked for by another thread while it runs."""

    def __init__(self, executor: HybridExecutor, base_s: float, count: int) -> None:
        self._executor, self._base_s, self._count = executor, base_s, count
        counts = executor.statistics()
        self._first_id, self._seen = executor.next_task_id, sum(counts.values()) - counts["unfinished"]
        self._places = {name: index for index, name in enumerate(executor.place_names)}

    def newest(self) -> list[EndedTask]:
        """Those that ended since this was asked last."""
        records = self._executor.records(self._seen)
        self._seen += len(records)
        return [
            EndedTask(
                record.task_id - self._first_id,
                self._places[record.place],
                record.started_s - self._base_s,
                record.finished_s - self._base_s,
            )
            for record in records
            if record.state == "done" and record.task_id - self._first_id < self._count
        ]


def measure_run(
    executor: HybridExecutor,
    tasks: RealStream,
    limit_s: float = math.inf,
    watch: Callable[[EndedTasks], None] | None = None,
) -> RunResult:
    """Submit every task at its moment and wait for the last one; what has not begun after `limit_s` never runs.

    `watch` is handed the tasks that have ended so far, before the first one is submitted.
    """
    functions = [KINDS[name] for name in tasks.names()]
    sizes = [int(size) for size in tasks.size.tolist()]
    before = executor.next_task_id
    futures: list[HybridFuture] = []
    with short_collections():
        base_s = executor.now_s() + 0.01
        if watch is not None:
            watch(EndedTasks(executor, base_s, len(tasks)))
        for function, size, arrival in zip(functions, sizes, tasks.arrival_s.tolist(), strict=True):
            wait_until(executor, base_s + arrival)
            futures.append(executor.submit(function, size))
        _wait_for_all(executor, futures, base_s + limit_s)
    mine = {record.task_id - before: record for record in executor.records() if record.task_id >= before}
    return _result(executor, tasks, base_s, mine)


def _wait_for_all(executor: HybridExecutor, futures: list[HybridFuture], until_s: float) -> None:
    left_s = until_s - executor.now_s()
    _, late = wait(futures, None if math.isinf(left_s) else max(left_s, 0.0))
    for future in late:
        future.cancel()
    wait(futures)


def wait_until(executor: HybridExecutor, moment_s: float) -> None:
    """Sleep until a moment of the executor's clock: waiting awake would take a core from the workers."""
    while (left := moment_s - executor.now_s()) > 0.0:
        time.sleep(left)


def _result(executor: HybridExecutor, tasks: RealStream, base_s: float, found: dict[int, TaskRecord]) -> RunResult:
    names = executor.place_names
    count = len(tasks)
    start, finish = np.full(count, np.nan), np.full(count, np.nan)
    place, worker = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    for row, record in found.items():
        if record.state == "done":
            start[row], finish[row] = record.started_s - base_s, record.finished_s - base_s
            place[row], worker[row] = names.index(record.place), record.worker
    return RunResult(
        strategy=executor.strategy.name,
        source="measured",
        place_names=names,
        arrival_s=np.asarray(tasks.arrival_s),
        start_s=start,
        finish_s=finish,
        place=place,
        worker=worker,
    )
