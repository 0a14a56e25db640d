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
from hybrid_ml_scheduler.physics.node import GPU_ONLY, WHOLE, MemoryRule

__all__ = [
    "alone_on_cpu",
    "completion_s",
    "fastest_split",
    "fastest_splits",
    "least_backlog",
    "least_charge",
    "least_charge_within",
    "row_terms",
    "split_on",
]

_TO_CPU, _FAIL = int(MemoryRule.CPU), int(MemoryRule.FAIL)


@compiled(allocates=False, nogil=True, inline="always")
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


@compiled(allocates=False, nogil=True, inline="always")
def least_backlog(gpu_backlog: FloatColumn) -> int:
    """The GPU with the least backlog, the lowest id among equals."""
    best = 0
    for gpu in range(1, gpu_backlog.shape[0]):
        if gpu_backlog[gpu] < gpu_backlog[best]:
            best = gpu
    return best


@compiled(allocates=False, inline="always")
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


@compiled(allocates=False, inline="always")
def split_on(gpu: int, fraction: float, terms: Terms) -> tuple[float, float, float, int]:
    """What comes of a share on one GPU, as `resolve` gives it: fraction, CPU part, GPU part and status."""
    rule = terms[6]
    return _parts_on(gpu, allowed_share(fraction, rule), rule % WHOLE, terms)


@compiled(allocates=False, inline="always")
def _parts_on(gpu: int, fraction: float, rule: int, terms: Terms) -> tuple[float, float, float, int]:
    """`split_on` for a share that the task allows, under its memory rule alone: what loops over shares ask."""
    cpu_seconds, gpu_seconds, paged_seconds, gpu_kind, memory_mb, gpu_memory_mb, _, _ = terms
    kind = gpu_kind[gpu]
    paged = paged_seconds[kind] if paged_seconds.shape[0] > 0 else 0.0
    return resolve(fraction, cpu_seconds, gpu_seconds[kind], paged, memory_mb, gpu_memory_mb[gpu], rule)


@compiled(allocates=False, inline="always")
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


@compiled(allocates=False, inline="always")
def _stride(rule: int, points: int) -> int:
    """How far apart the shares to try lie in the grid: a task that must not be cut tries its two ends alone."""
    return max(points - 1, 1) if rule >= WHOLE else 1


@compiled(allocates=False)
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


@compiled(allocates=False, nogil=True, forceinline=True)
def least_charge(
    terms: Terms, cpu_backlog: float, gpu_backlog: FloatColumn, grid: FloatColumn, price: float
) -> tuple[float, int]:
    """The split with the least completion + price x device-seconds; price 0 is the earliest finish."""
    # Without limits nothing is read of the last argument; an array of its own would have to be made for every task.
    fraction, gpu = least_charge_within(terms, cpu_backlog, gpu_backlog, grid, price, False, gpu_backlog)
    return (fraction, gpu) if gpu >= 0 else (1.0, least_backlog(gpu_backlog))  # one that runs nowhere fails anywhere


@compiled(inner=True, nogil=True, forceinline=True)
def least_charge_within(
    terms: Terms,
    cpu_backlog: float,
    gpu_backlog: FloatColumn,
    grid: FloatColumn,
    price: float,
    limited: bool,
    longest_s: FloatColumn,
) -> tuple[float, int]:
    """`least_charge` among the splits whose parts the devices take: none longer than `longest_s` (CPU first).

    Ties: least charge, then the smaller fraction, then the lower GPU. The GPU is -1 if no split is left.
    """
    if not limited and _are_alike(terms, gpu_backlog.shape[0]):
        # Behind the least backlog no split ends later than behind another; a lower GPU may be as good for the best one.
        best_gpu = least_backlog(gpu_backlog)
        best, best_point = _least_on(best_gpu, terms, cpu_backlog, gpu_backlog, grid, price, math.inf, math.inf)
        for gpu in range(best_gpu):
            if _charge_at(best_point, gpu, terms, cpu_backlog, gpu_backlog[gpu], grid, price)[0] == best:
                best_gpu = gpu
                break
    else:
        best, best_point, best_gpu = math.inf, 0, -1
        for gpu in range(gpu_backlog.shape[0]):
            if not _is_dominated(gpu, terms, gpu_backlog, limited, longest_s):
                cpu_limit, gpu_limit = (longest_s[0], longest_s[gpu + 1]) if limited else (math.inf, math.inf)
                charge, point = _least_on(gpu, terms, cpu_backlog, gpu_backlog, grid, price, cpu_limit, gpu_limit)
                if charge < best or (charge == best < math.inf and point < best_point):
                    best, best_point, best_gpu = charge, point, gpu
    return allowed_share(grid[best_point], terms[6]), best_gpu if best < math.inf else -1


@compiled(inner=True, forceinline=True)
def _least_on(
    gpu: int,
    terms: Terms,
    cpu_backlog: float,
    gpu_backlog: FloatColumn,
    grid: FloatColumn,
    price: float,
    cpu_limit: float,
    gpu_limit: float,
) -> tuple[float, int]:
    """The least charge on one GPU and the first point of the grid that has it; infinite if the devices take none."""
    cpu_s, gpu_s = terms[0], terms[1][terms[3][gpu]]
    is_plain = price == 0.0 and not terms[7] and (terms[6] == _TO_CPU or terms[6] == _FAIL)
    if is_plain and _is_ordinary(cpu_s) and _is_ordinary(gpu_s):
        return _crossing(
            cpu_s, gpu_s, terms[4], terms[5][gpu], cpu_backlog, gpu_backlog[gpu], grid, cpu_limit, gpu_limit
        )
    return _scanned(gpu, terms, cpu_backlog, gpu_backlog[gpu], grid, price, cpu_limit, gpu_limit)


@compiled(allocates=False, inline="always")
def _charge_at(
    point: int, gpu: int, terms: Terms, cpu_backlog: float, gpu_backlog: float, grid: FloatColumn, price: float
) -> tuple[float, float, float]:
    """The charge of one point of the grid on one GPU, infinite if the task fails there, and its two parts."""
    rule = terms[6]
    share = allowed_share(grid[point], rule)
    _, cpu_part, gpu_part, status = _parts_on(gpu, share, rule % WHOLE, terms)
    if status == FAILED:
        return math.inf, cpu_part, gpu_part
    charge = completion_s(cpu_part, gpu_part, cpu_backlog, gpu_backlog, terms[7]) + price * (cpu_part + gpu_part)
    return charge, cpu_part, gpu_part


@compiled(inner=True, nogil=True, inline="always")
def _are_alike(terms: Terms, count: int) -> bool:
    """Whether all GPUs take the same seconds and hold the same memory."""
    alike = True
    for gpu in range(1, count):
        alike = alike and terms[3][gpu] == terms[3][0] and terms[5][gpu] == terms[5][0]
    return alike


@compiled(inner=True)
def _is_dominated(gpu: int, terms: Terms, gpu_backlog: FloatColumn, limited: bool, longest_s: FloatColumn) -> bool:
    """Whether a lower GPU is alike, free no later and takes no less, so that this one need not be tried."""
    for other in range(gpu):
        alike = terms[3][other] == terms[3][gpu] and terms[5][other] == terms[5][gpu]
        takes_no_less = not limited or longest_s[other + 1] >= longest_s[gpu + 1]
        if alike and takes_no_less and gpu_backlog[other] <= gpu_backlog[gpu]:
            return True
    return False


@compiled(allocates=False, nogil=True, inline="always")
def _is_ordinary(seconds: float) -> bool:
    """Whether shares of these seconds are neither zero nor infinite."""
    return 1e-200 < seconds < math.inf


@compiled(inner=True)
def _scanned(
    gpu: int,
    terms: Terms,
    cpu_backlog: float,
    gpu_backlog: float,
    grid: FloatColumn,
    price: float,
    cpu_limit: float,
    gpu_limit: float,
) -> tuple[float, int]:
    """The least charge on one GPU and the first point of the grid that has it, by trying every point."""
    best, best_point = math.inf, 0
    for point in range(0, grid.shape[0], _stride(terms[6], grid.shape[0])):
        charge, cpu_part, gpu_part = _charge_at(point, gpu, terms, cpu_backlog, gpu_backlog, grid, price)
        if cpu_part > cpu_limit or gpu_part > gpu_limit:
            continue
        if charge < best:
            best, best_point = charge, point
    return best, best_point


@compiled(inner=True, forceinline=True)
def _crossing(
    cpu_s: float,
    gpu_s: float,
    memory_mb: float,
    gpu_memory_mb: float,
    cpu_backlog: float,
    gpu_backlog: float,
    grid: FloatColumn,
    cpu_limit: float,
    gpu_limit: float,
) -> tuple[float, int]:
    """`_scanned` without looking at most points, where nothing pages and device-seconds are free.

    With a rising share the CPU part ends earlier and the GPU part later, rounded too. So the least completion lies
    where the two ends cross, and only its neighbours are computed.
    """
    last = grid.shape[0] - 1
    best = cpu_backlog + cpu_s if cpu_s <= cpu_limit else math.inf
    best_point = 0
    whole = grid[last] >= 1.0
    first_whole = last
    while first_whole > 0 and whole and grid[first_whole - 1] >= 1.0:
        first_whole -= 1
    low, high = 1, first_whole - 1 if whole else last
    while high >= low and (grid[high] * memory_mb > gpu_memory_mb or grid[high] * gpu_s > gpu_limit):
        high -= 1
    while low <= high and (1.0 - grid[low]) * cpu_s > cpu_limit:
        low += 1
    if low <= high:
        crossing = (cpu_backlog + cpu_s - gpu_backlog) / (cpu_s + gpu_s) * last
        point = low if crossing <= low else high if crossing >= high else int(crossing)
        cpu_end, gpu_end = cpu_backlog + (1.0 - grid[point]) * cpu_s, gpu_backlog + grid[point] * gpu_s
        while point < high and gpu_end < cpu_end:
            point += 1
            cpu_end, gpu_end = cpu_backlog + (1.0 - grid[point]) * cpu_s, gpu_backlog + grid[point] * gpu_s
        before = math.inf  # where the CPU part of the point before ends, which is then the later end
        while point > low:
            before = cpu_backlog + (1.0 - grid[point - 1]) * cpu_s
            if gpu_backlog + grid[point - 1] * gpu_s < before:
                break
            point, cpu_end, gpu_end, before = point - 1, before, gpu_backlog + grid[point - 1] * gpu_s, math.inf
        charge = max(cpu_end, gpu_end)
        if before <= charge:
            point, charge = point - 1, before
        while point > low and cpu_backlog + (1.0 - grid[point - 1]) * cpu_s == charge:
            point -= 1
        if charge < best:
            best, best_point = charge, point
    if whole and first_whole > 0 and memory_mb <= gpu_memory_mb and gpu_s <= gpu_limit and gpu_backlog + gpu_s < best:
        best, best_point = gpu_backlog + gpu_s, first_whole
    return best, best_point
