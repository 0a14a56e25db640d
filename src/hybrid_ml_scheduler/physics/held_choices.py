"""Choices for tasks that are held: plans behind plans, and which of them start at once. Compiled once for all forms."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED
from hybrid_ml_scheduler.core.holding import Pick
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.terms import Terms
from hybrid_ml_scheduler.physics.choices import _parts_on, completion_s, split_on
from hybrid_ml_scheduler.physics.formulas import allowed_share, cpu_alone_s
from hybrid_ml_scheduler.physics.node import CPU_ONLY, WHOLE

__all__ = [
    "choose_split",
    "fastest_s",
    "fastest_seconds",
    "overdue_s",
    "pick_score",
    "plan_split",
    "possible_s",
    "possible_seconds",
    "pull_key",
]

_LEAST, _MOST = int(Pick.LEAST_COMPLETION), int(Pick.MOST_COMPLETION)


@compiled(nogil=True, inline="always")
def fastest_s(cpu_s: float, gpu_s: FloatColumn, splits: bool) -> float:
    """Seconds of a task at its fastest: on the best device, or divided so that CPU and best GPU end together.

    `cpu_s` is infinite for a task that never runs on the CPU (`cpu_alone_s`).
    """
    best_gpu = gpu_s[0]
    for kind in range(1, gpu_s.shape[0]):
        best_gpu = min(best_gpu, gpu_s[kind])
    if splits and cpu_s < math.inf:
        return cpu_s * best_gpu / (cpu_s + best_gpu)
    return min(cpu_s, best_gpu)


@compiled(nogil=True)
def fastest_seconds(cpu_s: FloatColumn, gpu_s: FloatColumn, splits: bool) -> FloatColumn:
    """`fastest_s` of every task."""
    found = np.empty(cpu_s.shape[0])
    for row in range(cpu_s.shape[0]):
        found[row] = fastest_s(cpu_s[row], gpu_s[row], splits)
    return found


@compiled(nogil=True, inline="always")
def possible_s(cpu_s: float, gpu_s: FloatColumn, memory_rule: int, splits: bool) -> float:
    """`fastest_s` of what the task may really do: whole if it must not be cut, and on one device only if it says so."""
    if memory_rule % WHOLE == CPU_ONLY:
        return cpu_s
    return fastest_s(cpu_alone_s(cpu_s, memory_rule), gpu_s, splits and memory_rule < WHOLE)


@compiled(nogil=True)
def possible_seconds(cpu_s: FloatColumn, gpu_s: FloatColumn, memory_rule: IntColumn, splits: bool) -> FloatColumn:
    """`possible_s` of every task."""
    found = np.empty(cpu_s.shape[0])
    for row in range(cpu_s.shape[0]):
        found[row] = possible_s(cpu_s[row], gpu_s[row], memory_rule[row], splits)
    return found


@compiled(nogil=True, inline="always")
def _has_better(gpu: int, terms: Terms, backlog: FloatColumn, longest_s: FloatColumn) -> bool:
    """Whether a GPU before this one is its like, free no later and takes no less: this one need not be tried."""
    gpu_kind, gpu_memory_mb = terms[3], terms[5]
    for other in range(gpu):
        same = gpu_kind[other] == gpu_kind[gpu] and gpu_memory_mb[other] == gpu_memory_mb[gpu]
        if same and backlog[other + 1] <= backlog[gpu + 1] and longest_s[other + 1] >= longest_s[gpu + 1]:
            return True
    return False


@compiled(nogil=True)
def _least_limited_charge(
    terms: Terms, backlog: FloatColumn, grid: FloatColumn, price: float, longest_s: FloatColumn
) -> tuple[float, int]:
    """The split with the least completion + price x device-seconds whose parts the devices take; -1 if there is none.

    `backlog` and `longest_s` have the CPU first. Ties: least charge, then the smaller fraction, then the lower GPU.
    """
    serial, num_gpus = terms[7], backlog.shape[0] - 1
    memory_rule = terms[6] % WHOLE
    tried = 0  # one bit a GPU
    for gpu in range(num_gpus):
        if gpu > 62 or not _has_better(gpu, terms, backlog, longest_s):
            tried |= 1 << min(gpu, 63)
    best, best_fraction, best_gpu = math.inf, 0.0, -1
    for point in range(grid.shape[0]):
        share = allowed_share(grid[point], terms[6])
        for gpu in range(num_gpus):
            if not tried >> min(gpu, 63) & 1:
                continue
            _, cpu_part, gpu_part, status = _parts_on(gpu, share, memory_rule, terms)
            if status == FAILED or cpu_part > longest_s[0] or gpu_part > longest_s[gpu + 1]:
                continue
            charge = completion_s(cpu_part, gpu_part, backlog[0], backlog[gpu + 1], serial)
            charge += price * (cpu_part + gpu_part)
            if charge < best:
                best, best_fraction, best_gpu = charge, grid[point], gpu
            if share == 0.0:
                break  # every GPU is the same to a task that uses none
    return allowed_share(best_fraction, terms[6]), best_gpu


@compiled(nogil=True)
def choose_split(
    terms: Terms, backlog: FloatColumn, grid: FloatColumn, price: float, longest_s: FloatColumn
) -> tuple[float, int]:
    """The split with the least charge within the limits, or else of any; what fits no GPU goes to the CPU."""
    fraction, gpu = _least_limited_charge(terms, backlog, grid, price, longest_s)
    if gpu < 0:
        anything = np.full(backlog.shape[0], math.inf)
        fraction, gpu = _least_limited_charge(terms, backlog, grid, price, anything)
    if gpu < 0:  # it fits no GPU: the CPU takes it, or it fails as one that runs on GPUs only
        return allowed_share(0.0, terms[6]), 0
    return fraction, gpu


@compiled(nogil=True)
def plan_split(
    terms: Terms,
    backlog: FloatColumn,
    idle: npt.NDArray[np.bool_],
    grid: FloatColumn,
    price: float,
    longest_s: FloatColumn,
) -> tuple[float, int, bool]:
    """Plan one held task behind the plans before it; the third answer is whether a part of it starts at once.

    `backlog` and `idle` (CPU first) move on as if the plan were carried out.
    """
    fraction, gpu = choose_split(terms, backlog, grid, price, longest_s)
    _, cpu_part, gpu_part, status = split_on(gpu, fraction, terms)
    starts = status == FAILED  # it fails at once
    if cpu_part > 0.0:
        starts = idle[0]
        idle[0] = False
        backlog[0] += cpu_part
    if gpu_part > 0.0:
        starts = starts or idle[gpu + 1]
        idle[gpu + 1] = False
        begin = max(backlog[gpu + 1], backlog[0]) if terms[7] and cpu_part > 0.0 else backlog[gpu + 1]
        backlog[gpu + 1] = begin + gpu_part
    return fraction, gpu, starts


@compiled(nogil=True, inline="always")
def overdue_s(aging: float, mean_s: float, mean_wait_s: float) -> float:
    """How long a task may wait before it goes first: so many times what a task takes and waits in the mean."""
    return aging * (mean_s + mean_wait_s)


@compiled(nogil=True)
def pick_score(pick: int, terms: Terms, backlog: FloatColumn) -> float:
    """How much a task wants to plan next, the least first: by its completion on the best whole device, or what it loses
    on the second best one. `backlog` has the CPU first.
    """
    serial = terms[7]
    best, second = completion_s(cpu_alone_s(terms[0], terms[6]), 0.0, backlog[0], 0.0, serial), math.inf
    for gpu in range(backlog.shape[0] - 1):
        _, cpu_part, gpu_part, status = split_on(gpu, 1.0, terms)
        if status == FAILED:
            continue
        done = completion_s(cpu_part, gpu_part, backlog[0], backlog[gpu + 1], serial)
        if done < best:
            best, second = done, best
        elif done < second:
            second = done
    if pick == _LEAST:
        return best
    if pick == _MOST:
        return -best
    return best - second


@compiled(nogil=True, inline="always")
def _whole_s(device: int, terms: Terms) -> float:
    """Seconds of the whole task on a device, the CPU first; infinite where it cannot run there."""
    if device == 0:
        return cpu_alone_s(terms[0], terms[6])
    _, _, gpu_part, status = split_on(device - 1, 1.0, terms)
    return math.inf if status == FAILED or gpu_part <= 0.0 else gpu_part


@compiled(nogil=True)
def pull_key(device: int, terms: Terms, slowest: float, affinity: float, since_s: float, patience: float) -> float:
    """How much an idle device wants a whole task, the least first; infinite if it refuses it.

    It refuses what another device does more than `slowest` times as fast. The others go by their seconds here, times
    the `affinity`-th power of how much slower that is than on the best device of another sort (for a GPU the CPU or a
    GPU of another kind); with `patience` behind the moment from which they wait.
    """
    gpu_kind = terms[3]
    fastest, elsewhere = math.inf, math.inf
    for other in range(gpu_kind.shape[0] + 1):
        seconds = _whole_s(other, terms)
        fastest = min(fastest, seconds)
        is_alike = other == device or (other > 0 and device > 0 and gpu_kind[other - 1] == gpu_kind[device - 1])
        elsewhere = elsewhere if is_alike else min(elsewhere, seconds)
    own = _whole_s(device, terms)
    if math.isinf(fastest):
        return since_s  # it can run nowhere: whoever takes it first lets it fail
    if math.isinf(own) or own > slowest * fastest:
        return math.inf
    score = own * (own / elsewhere) ** affinity if affinity > 0.0 else own
    return since_s + patience * score if patience > 0.0 else score
