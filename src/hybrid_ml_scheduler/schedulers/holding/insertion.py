"""Planning one task after the other into the gaps of a timetable, compiled: the engine of HEFT and PEFT.

A device's busy time is kept as intervals that do not touch; what a new task touches grows together with it, so a batch
without gaps is one interval, and a search looks at gaps only.
"""

from __future__ import annotations

import math

import numpy as np

from hybrid_ml_scheduler.core import BatchTerms, FloatColumn, IntColumn
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED
from hybrid_ml_scheduler.physics.choices import split_on

__all__ = ["depths", "planned_by_insertion", "turns_of"]


@compiled(nogil=True)
def _gap(device: int, ready: float, seconds: float, begins: FloatColumn, ends: FloatColumn, counts: IntColumn) -> float:
    """The earliest moment from `ready` on at which a device has so many seconds free."""
    start = ready
    for place in range(counts[device]):
        if start + seconds <= begins[device, place]:
            return start
        if ends[device, place] > start:
            start = ends[device, place]
    return start


@compiled(nogil=True)
def _occupy(device: int, start: float, end: float, begins: FloatColumn, ends: FloatColumn, counts: IntColumn) -> None:
    """Mark a device busy; intervals that touch become one."""
    count, place = counts[device], 0
    while place < count and ends[device, place] < start:
        place += 1
    last = place
    while last < count and begins[device, last] <= end:
        start, end = min(start, begins[device, last]), max(end, ends[device, last])
        last += 1
    shift = 1 - (last - place)
    if shift > 0:
        for other in range(count - 1, place - 1, -1):
            begins[device, other + 1], ends[device, other + 1] = begins[device, other], ends[device, other]
    elif shift < 0:
        for other in range(last, count):
            begins[device, other + shift], ends[device, other + shift] = begins[device, other], ends[device, other]
    begins[device, place], ends[device, place] = start, end
    counts[device] = count + shift


@compiled(nogil=True)
def planned_by_insertion(
    order: IntColumn,
    tasks: BatchTerms,
    grid: FloatColumn,
    parent_offsets: IntColumn,
    parents: IntColumn,
    backlog: FloatColumn,
    fractions: FloatColumn,
    gpus: IntColumn,
    starts: FloatColumn,
    finishes: FloatColumn,
) -> float:
    """Plan rows in this order, each where it is finished first; returns when the last one is.

    Ties: the smaller share, then the lower GPU. The last four columns are filled.
    """
    cpu_s, gpu_s, paged_s, gpu_kind, memory, gpu_memory, memory_rule, serial = tasks
    count, devices = order.shape[0], backlog.shape[0]
    begins, ends = np.empty((devices, count + 2)), np.empty((devices, count + 2))
    counts, last = np.zeros(devices, np.int64), 0.0
    for device in range(devices):
        if backlog[device] > 0.0:
            _occupy(device, 0.0, backlog[device], begins, ends, counts)
    for turn in range(count):
        row = order[turn]
        ready = 0.0
        for place in range(parent_offsets[row], parent_offsets[row + 1]):
            ready = max(ready, finishes[parents[place]])
        terms = (cpu_s[row], gpu_s[row], paged_s[row], gpu_kind, memory[row], gpu_memory, memory_rule[row], serial)
        best, best_fraction, best_gpu = math.inf, 0.0, 0
        best_cpu, best_gpu_start, cpu_part, gpu_part = 0.0, 0.0, 0.0, 0.0
        for point in range(grid.shape[0]):
            for gpu in range(devices - 1):
                fraction, on_cpu, on_gpu, status = split_on(gpu, grid[point], terms)
                if status >= FAILED:
                    continue
                finish, cpu_start, gpu_start = ready, ready, ready
                if on_cpu > 0.0:
                    cpu_start = _gap(0, ready, on_cpu, begins, ends, counts)
                    finish = cpu_start + on_cpu
                if on_gpu > 0.0:
                    after = finish if serial else ready
                    gpu_start = _gap(gpu + 1, after, on_gpu, begins, ends, counts)
                    finish = max(finish, gpu_start + on_gpu)
                if finish < best:
                    best, best_fraction, best_gpu = finish, fraction, gpu
                    best_cpu, best_gpu_start, cpu_part, gpu_part = cpu_start, gpu_start, on_cpu, on_gpu
                if grid[point] == 0.0:
                    break  # every GPU is the same to a task that uses none
        start = math.inf
        if cpu_part > 0.0:
            _occupy(0, best_cpu, best_cpu + cpu_part, begins, ends, counts)
            start = best_cpu
        if gpu_part > 0.0:
            _occupy(best_gpu + 1, best_gpu_start, best_gpu_start + gpu_part, begins, ends, counts)
            start = min(start, best_gpu_start)
        fractions[row], gpus[row] = best_fraction, best_gpu
        starts[row], finishes[row] = (start if start < math.inf else ready), best
        last = max(last, best)
    return last


@compiled(nogil=True)
def depths(parent_offsets: IntColumn, parents: IntColumn) -> IntColumn:
    """How many tasks the longest chain of parents above each row has; rows may come in any order."""
    found = np.zeros(parent_offsets.shape[0] - 1, np.int64)
    changed = True
    while changed:
        changed = False
        for row in range(found.shape[0]):
            for place in range(parent_offsets[row], parent_offsets[row + 1]):
                if found[parents[place]] >= found[row]:
                    found[row] = found[parents[place]] + 1
                    changed = True
    return found


def turns_of(starts: FloatColumn, depth: IntColumn) -> IntColumn:
    """The turn of every row: by its start, parents before children of the same instant."""
    turns = np.empty(len(starts), dtype=np.int64)
    turns[np.lexsort((depth, starts))] = np.arange(len(starts))
    return turns
