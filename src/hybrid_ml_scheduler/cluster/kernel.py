"""The compiled form of the cluster for independent tasks whose durations are as estimated.

Nothing is pre-empted and every queue is first-in first-out, so a device is one number: the moment it
is free. The event loop then shrinks to a recurrence over the tasks in order of arrival.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.protocols import RuleKind
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.physics.choices import fastest_split, least_backlog, least_charge, split_on

__all__ = ["choose", "run_independent", "run_shares"]

_PRESCRIBED = int(RuleKind.PRESCRIBED)
_FASTEST = int(RuleKind.FASTEST_SPLIT)


@compiled(inline="always")
def choose(
    kind: int,
    cpu_s: float,
    gpu_s: FloatColumn,
    paged_s: FloatColumn,
    gpu_kind: IntColumn,
    memory: float,
    gpu_memory: FloatColumn,
    rule: int,
    serial: bool,
    cpu_backlog: float,
    backlog: FloatColumn,
    fraction: float,
    gpu: int,
    grid: FloatColumn,
    price: float,
) -> tuple[float, int]:
    """Take one decision by rule: a fraction and a GPU."""
    if kind == _PRESCRIBED:
        return fraction, gpu if gpu >= 0 else least_backlog(backlog)
    if kind == _FASTEST:
        return fastest_split(cpu_s, gpu_s, paged_s, gpu_kind, memory, gpu_memory, rule, serial, backlog, grid)
    return least_charge(
        cpu_s, gpu_s, paged_s, gpu_kind, memory, gpu_memory, rule, serial, cpu_backlog, backlog, grid, price
    )


@compiled()
def run_independent(
    kind: int,
    arrival: FloatColumn,
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
    grid: FloatColumn,
    price: float,
    free: FloatColumn,
    out_fraction: FloatColumn,
    out_gpu: npt.NDArray[np.int32],
    out_cpu_start: FloatColumn,
    out_gpu_start: FloatColumn,
    out_finish: FloatColumn,
    out_cpu: FloatColumn,
    out_gpu_part: FloatColumn,
    out_status: npt.NDArray[np.int8],
) -> None:
    """Run a batch; `free` (CPU first) is the state of the devices before and after."""
    num_gpus = gpu_kind.shape[0]
    backlog = np.zeros(num_gpus)
    paging = paged_s.shape[0] > 0
    no_pages = np.zeros(0)
    for row in range(arrival.shape[0]):
        now = arrival[row]
        for index in range(num_gpus):
            backlog[index] = max(free[index + 1] - now, 0.0)
        wanted = fractions[row] if fractions.shape[0] > 0 else 0.0
        named = gpus[row] if gpus.shape[0] > 0 else -1
        paged = paged_s[row] if paging else no_pages
        fraction, gpu = choose(
            kind, cpu_s[row], gpu_s[row], paged, gpu_kind, memory[row], gpu_memory, rule, serial,
            max(free[0] - now, 0.0), backlog, wanted, named, grid, price,
        )  # fmt: skip
        if gpu < 0:  # nothing fits anywhere under the failing rule: the CPU always does
            fraction, gpu = 0.0, 0
        fraction, cpu_part, gpu_part, status = split_on(
            gpu, fraction, cpu_s[row], gpu_s[row], paged, gpu_kind, memory[row], gpu_memory, rule
        )
        cpu_start, gpu_start, finish = math.nan, math.nan, now
        if cpu_part > 0.0:
            cpu_start = max(free[0], now)
            finish = cpu_start + cpu_part
            free[0] = finish
        if gpu_part > 0.0:
            gpu_start = max(free[gpu + 1], now)
            if serial:
                gpu_start = max(gpu_start, finish)
            free[gpu + 1] = gpu_start + gpu_part
            finish = max(finish, free[gpu + 1])
        out_fraction[row] = fraction
        out_gpu[row] = gpu if gpu_part > 0.0 else -1
        out_cpu_start[row] = cpu_start
        out_gpu_start[row] = gpu_start
        out_finish[row] = finish if status < 2 else math.nan
        out_cpu[row] = cpu_part
        out_gpu_part[row] = gpu_part
        out_status[row] = status


@compiled()
def run_shares(
    arrival: FloatColumn,
    cpu_s: FloatColumn,
    gpu_s: FloatColumn,
    fractions: FloatColumn,
    free: FloatColumn,
    out_fraction: FloatColumn,
    out_gpu: npt.NDArray[np.int32],
    out_cpu_start: FloatColumn,
    out_gpu_start: FloatColumn,
    out_finish: FloatColumn,
    out_cpu: FloatColumn,
    out_gpu_part: FloatColumn,
    out_status: npt.NDArray[np.int8],
) -> None:
    """The hot special case of `run_independent`: prescribed shares, equal GPUs, least backlog, everything fits."""
    num_gpus = free.shape[0] - 1
    cpu_free = free[0]
    for row in range(arrival.shape[0]):
        now, fraction = arrival[row], fractions[row]
        cpu_part = (1.0 - fraction) * cpu_s[row]
        gpu_part = fraction * gpu_s[row]
        best, least = 0, max(free[1] - now, 0.0)
        for index in range(1, num_gpus):
            backlog = max(free[index + 1] - now, 0.0)
            if backlog < least:
                best, least = index, backlog
        cpu_start, gpu_start, finish = math.nan, math.nan, now
        if cpu_part > 0.0:
            cpu_start = max(cpu_free, now)
            finish = cpu_start + cpu_part
            cpu_free = finish
        if gpu_part > 0.0:
            gpu_start = max(free[best + 1], now)
            gpu_end = gpu_start + gpu_part
            free[best + 1] = gpu_end
            finish = max(finish, gpu_end)
        out_fraction[row] = fraction
        out_gpu[row] = best if gpu_part > 0.0 else -1
        out_cpu_start[row] = cpu_start
        out_gpu_start[row] = gpu_start
        out_finish[row] = finish
        out_cpu[row] = cpu_part
        out_gpu_part[row] = gpu_part
        out_status[row] = 0
    free[0] = cpu_free
