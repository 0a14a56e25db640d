"""Choices that follow from durations and backlogs alone, compiled once for kernel and strategies.

Ties are broken as declared: least value first, then the smaller fraction, then the lower GPU.
"""

from __future__ import annotations

import math

import numpy as np

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.core.terms import BatchTerms, Terms
from hybrid_ml_scheduler.physics.formulas import execution_s, resolve

__all__ = ["completion_s", "fastest_split", "fastest_splits", "least_backlog", "least_charge", "row_terms", "split_on"]


@compiled(nogil=True, inline="always")
def row_terms(tasks: BatchTerms, row: int) -> Terms:
    """The terms of one task of a batch."""
    return (
        tasks.cpu_s[row],
        tasks.gpu_s[row],
        tasks.paged_s[row],
        tasks.gpu_kind,
        tasks.memory_mb[row],
        tasks.gpu_memory_mb,
        tasks.memory_rule[row],
        tasks.serial,
    )


@compiled(nogil=True, inline="always")
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
def split_on(gpu: int, fraction: float, terms: Terms) -> tuple[float, float, float, int]:
    """What comes of a share on one GPU, as `resolve` gives it: fraction, CPU part, GPU part and status."""
    cpu_seconds, gpu_seconds, paged_seconds, gpu_kind, memory_mb, gpu_memory_mb, memory_rule, _ = terms
    kind = gpu_kind[gpu]
    paged = paged_seconds[kind] if paged_seconds.shape[0] > 0 else 0.0
    return resolve(fraction, cpu_seconds, gpu_seconds[kind], paged, memory_mb, gpu_memory_mb[gpu], memory_rule)


@compiled()
def fastest_split(terms: Terms, gpu_backlog: FloatColumn, grid: FloatColumn) -> tuple[float, int]:
    """The fraction of the grid with the least execution time; among equally fast GPUs the least backlog."""
    serial = terms[7]
    best_time, best_fraction, best_gpu = math.inf, 0.0, -1
    for point in range(grid.shape[0]):
        for gpu in range(gpu_backlog.shape[0]):
            _, cpu_part, gpu_part, status = split_on(gpu, grid[point], terms)
            if status == FAILED:
                continue
            time = execution_s(cpu_part, gpu_part, serial)
            closer = best_gpu >= 0 and grid[point] == best_fraction and gpu_backlog[gpu] < gpu_backlog[best_gpu]
            if time < best_time or (time == best_time and closer):
                best_time, best_fraction, best_gpu = time, grid[point], gpu
    return best_fraction, best_gpu


@compiled(nogil=True)
def fastest_splits(tasks: BatchTerms, grid: FloatColumn, out_fraction: FloatColumn, out_execution: FloatColumn) -> None:
    """The fastest split of every task on idle devices: its fraction after the memory rule and its execution time."""
    idle = np.zeros(tasks.gpu_kind.shape[0])
    for row in range(tasks.cpu_s.shape[0]):
        terms = row_terms(tasks, row)
        fraction, gpu = fastest_split(terms, idle, grid)
        fraction, cpu_part, gpu_part, _ = split_on(gpu, fraction, terms)
        out_fraction[row], out_execution[row] = fraction, execution_s(cpu_part, gpu_part, tasks.serial)


@compiled()
def least_charge(
    terms: Terms, cpu_backlog: float, gpu_backlog: FloatColumn, grid: FloatColumn, price: float
) -> tuple[float, int]:
    """The split with the least completion + price x device-seconds; price 0 is the earliest finish."""
    serial = terms[7]
    best, best_fraction, best_gpu = math.inf, 0.0, -1
    for point in range(grid.shape[0]):
        for gpu in range(gpu_backlog.shape[0]):
            _, cpu_part, gpu_part, status = split_on(gpu, grid[point], terms)
            if status == FAILED:
                continue
            charge = completion_s(cpu_part, gpu_part, cpu_backlog, gpu_backlog[gpu], serial)
            charge += price * (cpu_part + gpu_part)
            if charge < best:
                best, best_fraction, best_gpu = charge, grid[point], gpu
            if grid[point] == 0.0:
                break  # every GPU is the same to a task that uses none
    return best_fraction, best_gpu
