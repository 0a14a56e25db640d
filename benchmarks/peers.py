"""The same job by other means: a straightforward SimPy model, heapq events, and a loop in C."""

from __future__ import annotations

import ctypes
import heapq
import math
import subprocess
import tempfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.tasks import TaskBatch

__all__ = ["c_loop", "heapq_events", "simpy_model"]

Columns = tuple[list[float], list[float], list[float], list[float]]


def _columns(batch: TaskBatch) -> Columns:
    return (
        batch.size.tolist(),
        batch.compute_intensity.tolist(),
        batch.memory_required.tolist(),
        batch.arrival_time.tolist(),
    )


def _parts(size: float, share: float, memory: float) -> tuple[float, float]:
    ratio = size / 1000.0
    base = ratio * math.sqrt(ratio) / (share + 0.5)
    return (1.0 - share) * base, share * (base / (1.0 + 3.0 * share) + memory / 16000.0)


def simpy_model(batch: TaskBatch) -> np.ndarray:
    """Processes and resources, as SimPy's own examples would write it."""
    import simpy

    environment = simpy.Environment()
    devices = [simpy.Resource(environment, 1) for _ in range(5)]
    free = [0.0] * 5
    finish = np.zeros(len(batch))

    def part(device: int, seconds: float, row: int) -> Generator[Any, Any, None]:
        with devices[device].request() as turn:
            yield turn
            yield environment.timeout(seconds)
        finish[row] = environment.now

    def source() -> Generator[Any, Any, None]:
        for row, (size, share, memory, arrival) in enumerate(zip(*_columns(batch), strict=True)):
            yield environment.timeout(max(0.0, arrival - environment.now))
            cpu_part, gpu_part = _parts(size, share, memory)
            now = environment.now
            gpu = min(range(1, 5), key=lambda one: (max(free[one] - now, 0.0), one))
            for device, seconds in ((0, cpu_part), (gpu, gpu_part)):
                if seconds > 0.0:
                    free[device] = max(free[device], now) + seconds
                    environment.process(part(device, seconds, row))

    environment.process(source())
    environment.run()
    return finish


def heapq_events(batch: TaskBatch) -> np.ndarray:
    """An event list by hand: arrivals and ends of parts in one heap."""
    finish = [0.0] * len(batch)
    free = [0.0] * 5
    events: list[tuple[float, int, int]] = []
    for row, (size, share, memory, arrival) in enumerate(zip(*_columns(batch), strict=True)):
        while events and events[0][0] <= arrival:
            end, done, _ = heapq.heappop(events)
            finish[done] = end
        cpu_part, gpu_part = _parts(size, share, memory)
        gpu = min(range(1, 5), key=lambda one: (max(free[one] - arrival, 0.0), one))
        for device, seconds in ((0, cpu_part), (gpu, gpu_part)):
            if seconds > 0.0:
                free[device] = max(free[device], arrival) + seconds
                heapq.heappush(events, (free[device], row, device))
    while events:
        end, done, _ = heapq.heappop(events)
        finish[done] = end
    return np.array(finish)


def c_loop(batch: TaskBatch) -> Callable[[], np.ndarray]:
    """Compile the C loop with gcc -O3; returns a function that runs it into buffers made once."""
    folder = Path(tempfile.mkdtemp(prefix="hms-bench-"))
    library = folder / "loop.so"
    source = Path(__file__).with_name("loop.c")
    subprocess.run(["gcc", "-O3", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"], check=True)
    run_job = ctypes.CDLL(str(library)).run_job
    count = len(batch)
    inputs = [np.array(c) for c in (batch.size, batch.compute_intensity, batch.memory_required, batch.arrival_time)]
    floats = [np.zeros(count) for _ in range(6)]
    gpu, status = np.zeros(count, dtype=np.int32), np.zeros(count, dtype=np.int8)
    outputs: list[np.ndarray] = [floats[0], gpu, *floats[1:], status]
    columns: list[np.ndarray] = [*inputs, *outputs]

    def run() -> np.ndarray:
        # The pointers are taken here, so that this closure keeps the columns alive.
        run_job(ctypes.c_int64(count), *(ctypes.c_void_p(column.ctypes.data) for column in columns))
        return floats[3]

    return run
