"""The compiled form of the cluster for task graphs and for durations that differ from the estimates.

A task's finish is known to the simulation when it is placed, so a child's ready time is known when its last
parent is placed, and one heap by (ready time, id) orders all decisions. Strategies still see estimates only.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.cluster.kernel import choose
from hybrid_ml_scheduler.cluster.parts import PART_COLUMNS, append_part, estimated_end
from hybrid_ml_scheduler.cluster.ready import pop_ready, push_ready
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.physics.choices import split_on

__all__ = ["run_general"]


@compiled()
def run_general(
    kind: int,
    identity: IntColumn,
    arrival: FloatColumn,
    factor: FloatColumn,
    noisy: bool,
    waiting: IntColumn,
    child_offsets: IntColumn,
    child_rows: IntColumn,
    cpu_s: FloatColumn,
    gpu_s: FloatColumn,
    paged_s: FloatColumn,
    gpu_kind: IntColumn,
    memory: FloatColumn,
    gpu_memory: FloatColumn,
    rule: int,
    serial: bool,
    fractions: FloatColumn,
    gpus: IntColumn,
    by_decision: bool,
    grid: FloatColumn,
    price: float,
    ready: FloatColumn,
    out_fraction: FloatColumn,
    out_gpu: npt.NDArray[np.int32],
    out_cpu_start: FloatColumn,
    out_gpu_start: FloatColumn,
    out_finish: FloatColumn,
    out_cpu: FloatColumn,
    out_gpu_part: FloatColumn,
    out_status: npt.NDArray[np.int8],
) -> None:
    """Run a whole batch from an idle cluster; `waiting` (open parents of each row) is used up."""
    count, num_gpus = arrival.shape[0], gpu_kind.shape[0]
    heap = np.empty(count, np.int64)
    free = np.zeros(num_gpus + 1)
    backlog = np.zeros(num_gpus)
    heads, tails = np.full(num_gpus + 1, -1), np.full(num_gpus + 1, -1)
    parts = 2 * count if noisy else 0
    chain, table = np.empty(parts, np.int64), np.empty((parts, PART_COLUMNS))
    doomed = np.zeros(count, np.bool_)
    paging, no_pages = paged_s.shape[0] > 0, np.zeros(0)
    length, decided = 0, 0
    for row in range(count):
        ready[row] = arrival[row]
        if waiting[row] == 0:
            length = push_ready(heap, length, row, ready, identity)
    while length > 0:
        row = pop_ready(heap, length, ready, identity)
        length -= 1
        now = ready[row]
        status, fraction, gpu, cpu_part, gpu_part = 3, 0.0, -1, 0.0, 0.0
        cpu_end = now
        if not doomed[row]:
            # Without luck a device is believed to be free when it is free, and no queue need be walked.
            cpu_end = estimated_end(0, now, heads, tails, chain, table) if noisy else max(free[0], now)
            for index in range(num_gpus):
                device = index + 1
                end = estimated_end(device, now, heads, tails, chain, table) if noisy else max(free[device], now)
                backlog[index] = end - now
            place = decided if by_decision else row
            decided += 1
            wanted = fractions[place] if fractions.shape[0] > 0 else 0.0
            named = gpus[place] if gpus.shape[0] > 0 else -1
            paged = paged_s[row] if paging else no_pages
            fraction, gpu = choose(
                kind, cpu_s[row], gpu_s[row], paged, gpu_kind, memory[row], gpu_memory, rule, serial,
                cpu_end - now, backlog, wanted, named, grid, price,
            )  # fmt: skip
            if gpu < 0:
                fraction, gpu = 0.0, 0
            fraction, cpu_part, gpu_part, status = split_on(
                gpu, fraction, cpu_s[row], gpu_s[row], paged, gpu_kind, memory[row], gpu_memory, rule
            )
        cpu_start, gpu_start, finish, not_before = math.nan, math.nan, now, 0.0
        luck = factor[row]
        if cpu_part > 0.0:
            cpu_start = max(free[0], now)
            finish = cpu_start + cpu_part * luck
            free[0] = finish
            if noisy:
                append_part(0, 2 * row, now, cpu_start, finish, cpu_part, 0.0, heads, tails, chain, table)
            not_before = cpu_end + cpu_part if serial else 0.0
        if gpu_part > 0.0:
            device = gpu + 1
            gpu_start = max(free[device], now)
            if serial:
                gpu_start = max(gpu_start, finish)
            free[device] = gpu_start + gpu_part * luck
            finish = max(finish, free[device])
            if noisy:
                append_part(
                    device, 2 * row + 1, now, gpu_start, free[device], gpu_part, not_before,
                    heads, tails, chain, table,
                )  # fmt: skip
        out_fraction[row] = fraction
        out_gpu[row] = gpu if gpu_part > 0.0 else -1
        out_cpu_start[row] = cpu_start
        out_gpu_start[row] = gpu_start
        out_finish[row] = finish if status < 2 else math.nan
        out_cpu[row] = cpu_part * luck
        out_gpu_part[row] = gpu_part * luck
        out_status[row] = status
        for place in range(child_offsets[row], child_offsets[row + 1]):
            child = child_rows[place]
            ready[child] = max(ready[child], finish)
            doomed[child] = doomed[child] or status >= 2
            waiting[child] -= 1
            if waiting[child] == 0:
                length = push_ready(heap, length, child, ready, identity)
