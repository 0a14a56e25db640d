"""Choices that follow from durations and backlogs alone, compiled once for kernel and strategies.

Ties are broken as declared: least value first, then the smaller fraction, then the lower GPU.
"""

from __future__ import annotations

import math

import numpy as np

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.physics.formulas import execution_s, resolve

__all__ = ["completion_s", "fastest_split", "fastest_splits", "least_backlog", "least_charge", "split_on"]


@compiled(inline="always")
def least_backlog(gpu_backlog: FloatColumn) -> int:
    """The GPU with the least backlog, the lowest id among equals."""
    best = 0
    for gpu in range(1, gpu_backlog.shape[0]):
        if gpu_backlog[gpu] < gpu_backlog[best]:
            best = gpu
    return best


@compiled(inline="always")
def completion_s(cpu_part: float, gpu_part: float, cpu_backlog: float, gpu_backlog: float, serial: bool) -> float:
    """Seconds from now until both parts are done, given the backlogs of the two devices."""
    if gpu_part <= 0.0:
        return cpu_backlog + cpu_part
    if cpu_part <= 0.0:
        return gpu_backlog + gpu_part
    cpu_end = cpu_backlog + cpu_part
    if serial:
        return max(gpu_backlog, cpu_end) + gpu_part
    return max(cpu_end, gpu_backlog + gpu_part)


@compiled(inline="always")
def split_on(
    gpu: int,
    fraction: float,
    cpu_seconds: float,
    gpu_seconds: FloatColumn,
    paged_seconds: FloatColumn,
    gpu_kind: IntColumn,
    memory_mb: float,
    gpu_memory_mb: FloatColumn,
    rule: int,
) -> tuple[float, float, float, int]:
    """What comes of a share on one GPU, as `resolve` gives it; `paged_seconds` is empty where nothing pages."""
    kind = gpu_kind[gpu]
    paged = paged_seconds[kind] if paged_seconds.shape[0] > 0 else 0.0
    return resolve(fraction, cpu_seconds, gpu_seconds[kind], paged, memory_mb, gpu_memory_mb[gpu], rule)


@compiled()
def fastest_split(
    cpu_seconds: float,
    gpu_seconds: FloatColumn,
    paged_seconds: FloatColumn,
    gpu_kind: IntColumn,
    memory_mb: float,
    gpu_memory_mb: FloatColumn,
    rule: int,
    serial: bool,
    gpu_backlog: FloatColumn,
    grid: FloatColumn,
) -> tuple[float, int]:
    """The fraction of the grid with the least execution time; among equally fast GPUs the least backlog."""
    best_time, best_fraction, best_gpu = math.inf, 0.0, -1
    for point in range(grid.shape[0]):
        for gpu in range(gpu_kind.shape[0]):
            _, cpu_part, gpu_part, status = split_on(
                gpu, grid[point], cpu_seconds, gpu_seconds, paged_seconds, gpu_kind, memory_mb, gpu_memory_mb, rule
            )
            if status == 2:
                continue
            time = execution_s(cpu_part, gpu_part, serial)
            closer = best_gpu >= 0 and grid[point] == best_fraction and gpu_backlog[gpu] < gpu_backlog[best_gpu]
            if time < best_time or (time == best_time and closer):
                best_time, best_fraction, best_gpu = time, grid[point], gpu
    return best_fraction, best_gpu


@compiled(nogil=True)
def fastest_splits(
    cpu_seconds: FloatColumn,
    gpu_seconds: FloatColumn,
    paged_seconds: FloatColumn,
    gpu_kind: IntColumn,
    memory_mb: FloatColumn,
    gpu_memory_mb: FloatColumn,
    rule: int,
    serial: bool,
    grid: FloatColumn,
    out_fraction: FloatColumn,
    out_execution: FloatColumn,
) -> None:
    """The fastest split of every task on idle devices: its fraction after the memory rule and its execution time."""
    idle = np.zeros(gpu_kind.shape[0])
    none = np.zeros(0)
    for row in range(cpu_seconds.shape[0]):
        paged = paged_seconds[row] if paged_seconds.shape[0] > 0 else none
        fraction, gpu = fastest_split(
            cpu_seconds[row], gpu_seconds[row], paged, gpu_kind, memory_mb[row], gpu_memory_mb, rule, serial, idle, grid
        )
        fraction, cpu_part, gpu_part, _ = split_on(
            gpu, fraction, cpu_seconds[row], gpu_seconds[row], paged, gpu_kind, memory_mb[row], gpu_memory_mb, rule
        )
        out_fraction[row], out_execution[row] = fraction, execution_s(cpu_part, gpu_part, serial)


@compiled()
def least_charge(
    cpu_seconds: float,
    gpu_seconds: FloatColumn,
    paged_seconds: FloatColumn,
    gpu_kind: IntColumn,
    memory_mb: float,
    gpu_memory_mb: FloatColumn,
    rule: int,
    serial: bool,
    cpu_backlog: float,
    gpu_backlog: FloatColumn,
    grid: FloatColumn,
    price: float,
) -> tuple[float, int]:
    """The split with the least completion + price x device-seconds; price 0 is the earliest finish."""
    best, best_fraction, best_gpu = math.inf, 0.0, -1
    for point in range(grid.shape[0]):
        for gpu in range(gpu_kind.shape[0]):
            _, cpu_part, gpu_part, status = split_on(
                gpu, grid[point], cpu_seconds, gpu_seconds, paged_seconds, gpu_kind, memory_mb, gpu_memory_mb, rule
            )
            if status == 2:
                continue
            charge = completion_s(cpu_part, gpu_part, cpu_backlog, gpu_backlog[gpu], serial)
            charge += price * (cpu_part + gpu_part)
            if charge < best:
                best, best_fraction, best_gpu = charge, grid[point], gpu
            if grid[point] == 0.0:
                break  # every GPU is the same to a task that uses none
    return best_fraction, best_gpu
