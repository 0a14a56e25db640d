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
from hybrid_ml_scheduler.physics.formulas import allowed_share, execution_s, resolve
from hybrid_ml_scheduler.physics.node import GPU_ONLY, WHOLE

__all__ = [
    "alone_on_cpu",
    "completion_s",
    "fastest_split",
    "fastest_splits",
    "least_backlog",
    "least_charge",
    "row_terms",
    "split_on",
]


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


def alone_on_cpu(tasks: BatchTerms) -> FloatColumn:
    """Seconds of every whole task on the CPU; infinite for those that run on GPUs only (`cpu_alone_s`)."""
    return np.where(tasks.memory_rule >= GPU_ONLY, math.inf, tasks.cpu_s)


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
    rule = terms[6]
    return _parts_on(gpu, allowed_share(fraction, rule), rule % WHOLE, terms)


@compiled(inline="always")
def _parts_on(gpu: int, fraction: float, rule: int, terms: Terms) -> tuple[float, float, float, int]:
    """`split_on` for a share that the task allows, under its memory rule alone: what loops over shares ask."""
    cpu_seconds, gpu_seconds, paged_seconds, gpu_kind, memory_mb, gpu_memory_mb, _, _ = terms
    kind = gpu_kind[gpu]
    paged = paged_seconds[kind] if paged_seconds.shape[0] > 0 else 0.0
    return resolve(fraction, cpu_seconds, gpu_seconds[kind], paged, memory_mb, gpu_memory_mb[gpu], rule)


@compiled(inline="always")
def _candidates(terms: Terms, gpu_backlog: FloatColumn) -> tuple[int, int]:
    """The GPUs to try, from the first up to before the second: all, or of equal GPUs the one with the least backlog.

    On equal GPUs a share takes as long, and behind the least backlog no part ends later than behind another.
    """
    gpu_kind, gpu_memory_mb, count = terms[3], terms[5], gpu_backlog.shape[0]
    for gpu in range(1, count):
        if gpu_kind[gpu] != gpu_kind[0] or gpu_memory_mb[gpu] != gpu_memory_mb[0]:
            return 0, count
    nearest = least_backlog(gpu_backlog)
    return nearest, nearest + 1


@compiled(inline="always")
def _stride(rule: int, points: int) -> int:
    """How far apart the shares to try lie in the grid: a task that must not be cut tries its two ends alone."""
    return max(points - 1, 1) if rule >= WHOLE else 1


@compiled()
def fastest_split(terms: Terms, gpu_backlog: FloatColumn, grid: FloatColumn) -> tuple[float, int]:
    """The fraction of the grid with the least execution time; among equally fast GPUs the least backlog."""
    rule, serial = terms[6], terms[7]
    first, end = _candidates(terms, gpu_backlog)
    best_time, best_fraction, best_gpu = math.inf, 0.0, -1
    for point in range(0, grid.shape[0], _stride(rule, grid.shape[0])):
        share = allowed_share(grid[point], rule)
        for gpu in range(first, end):
            _, cpu_part, gpu_part, status = _parts_on(gpu, share, rule % WHOLE, terms)
            if status == FAILED:
                continue
            time = execution_s(cpu_part, gpu_part, serial)
            closer = best_gpu >= 0 and share == best_fraction and gpu_backlog[gpu] < gpu_backlog[best_gpu]
            if time < best_time or (time == best_time and closer):
                best_time, best_fraction, best_gpu = time, share, gpu
    if best_gpu < 0:  # it fits no GPU and must not run elsewhere: it fails wherever it goes
        return 1.0, least_backlog(gpu_backlog)
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
    rule, serial = terms[6], terms[7]
    first, end = _candidates(terms, gpu_backlog)
    best, best_fraction, best_gpu = math.inf, 0.0, -1
    for point in range(0, grid.shape[0], _stride(rule, grid.shape[0])):
        share = allowed_share(grid[point], rule)
        for gpu in range(first, end):
            _, cpu_part, gpu_part, status = _parts_on(gpu, share, rule % WHOLE, terms)
            if status == FAILED:
                continue
            charge = completion_s(cpu_part, gpu_part, cpu_backlog, gpu_backlog[gpu], serial)
            charge += price * (cpu_part + gpu_part)
            if charge < best:
                best, best_fraction, best_gpu = charge, share, gpu
            if share == 0.0:
                break  # every GPU is the same to a task that uses none
    if best_gpu < 0:
        return 1.0, least_backlog(gpu_backlog)
    for gpu in range(best_gpu if end - first == 1 else 0):  # an equal GPU with a lower id may be as good
        _, cpu_part, gpu_part, _ = _parts_on(gpu, best_fraction, rule % WHOLE, terms)
        charge = completion_s(cpu_part, gpu_part, cpu_backlog, gpu_backlog[gpu], serial)
        if charge + price * (cpu_part + gpu_part) == best:
            return best_fraction, gpu
    return best_fraction, best_gpu
