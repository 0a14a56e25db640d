"""Choices for tasks that are held: plans behind plans, and which of them start at once. Compiled once for all forms."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED
from hybrid_ml_scheduler.core.holding import Pick
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.terms import BatchTerms, Terms
from hybrid_ml_scheduler.physics.choices import least_charge_within, row_terms, split_on
from hybrid_ml_scheduler.physics.formulas import allowed_share, cpu_alone_s
from hybrid_ml_scheduler.physics.node import CPU_ONLY, WHOLE, MemoryRule

__all__ = [
    "choose_split",
    "fastest_s",
    "fastest_seconds",
    "gpus_that_fit",
    "overdue_s",
    "pick_score",
    "plan_split",
    "possible_s",
    "possible_seconds",
    "pull_key",
    "whole_seconds",
]

_PAGE = int(MemoryRule.PAGE)
_LEAST, _MOST = int(Pick.LEAST_COMPLETION), int(Pick.MOST_COMPLETION)


@compiled(allocates=False, nogil=True, inline="always")
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


@compiled(allocates=False, nogil=True, inline="always")
def possible_s(terms: Terms, splits: bool) -> float:
    """`fastest_s` of what the task may really do on this node.

    One that must not be cut runs whole; then one that needs no GPU, or fits none, runs on the CPU.
    """
    cpu_s, gpu_s, _, gpu_kind, memory_mb, gpu_memory_mb, rule, _ = terms
    if rule % WHOLE == CPU_ONLY:
        return cpu_s
    if rule < WHOLE or rule % WHOLE == _PAGE:
        return fastest_s(cpu_alone_s(cpu_s, rule), gpu_s, splits and rule < WHOLE)
    best = cpu_alone_s(cpu_s, rule)
    for gpu in range(gpu_kind.shape[0]):
        if memory_mb <= gpu_memory_mb[gpu]:
            best = min(best, gpu_s[gpu_kind[gpu]])
    return (
        best if best < math.inf else fastest_s(best, gpu_s, False)
    )  # one that can run nowhere fails, and must have a place until then


@compiled(nogil=True)
def possible_seconds(tasks: BatchTerms, splits: bool) -> FloatColumn:
    """`possible_s` of every task."""
    found = np.empty(tasks.cpu_s.shape[0])
    for row in range(found.shape[0]):
        found[row] = possible_s(row_terms(tasks, row), splits)
    return found


@compiled(allocates=False, nogil=True, inline="always")
def gpus_that_fit(terms: Terms) -> int:
    """Which GPUs a task that must not be cut fits, one bit each, the lowest bit set; 0 if it may use any GPU."""
    rule, memory_mb, gpu_memory_mb = terms[6], terms[4], terms[5]
    if rule < WHOLE or rule % WHOLE == _PAGE:
        return 0
    fits, all_fit = 1, rule % WHOLE != CPU_ONLY
    for gpu in range(min(gpu_memory_mb.shape[0], 60)):
        if rule % WHOLE != CPU_ONLY and memory_mb <= gpu_memory_mb[gpu]:
            fits |= 2 << gpu
        else:
            all_fit = False
    return 0 if all_fit else fits


@compiled(inner=True, nogil=True, forceinline=True)
def choose_split(
    terms: Terms, backlog: FloatColumn, grid: FloatColumn, price: float, longest_s: FloatColumn
) -> tuple[float, int]:
    """The split with the least charge within the limits, or else of any; what fits no GPU goes to the CPU."""
    limited = False
    for device in range(longest_s.shape[0]):
        limited = limited or longest_s[device] < math.inf
    while True:
        fraction, gpu = least_charge_within(terms, backlog[0], backlog[1:], grid, price, limited, longest_s)
        if gpu >= 0 or not limited:
            break
        limited = False
    if gpu < 0:  # it fits no GPU: the CPU takes it, or it fails as one that runs on GPUs only
        return allowed_share(0.0, terms[6]), 0
    return fraction, gpu


@compiled(allocates=False, nogil=True, forceinline=True)
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


@compiled(allocates=False, nogil=True, inline="always")
def overdue_s(aging: float, mean_s: float, mean_wait_s: float) -> float:
    """How long a task may wait before it goes first: so many times what a task takes and waits in the mean."""
    return aging * (mean_s + mean_wait_s)


@compiled(allocates=False, nogil=True)
def whole_seconds(terms: Terms, out: FloatColumn) -> None:
    """Fill in the seconds of the whole task on every device, the CPU first.

    A GPU has 0 where the task goes to the CPU instead; a device where it cannot run is infinite.
    """
    out[0] = cpu_alone_s(terms[0], terms[6])
    for gpu in range(terms[3].shape[0]):
        _, _, gpu_part, status = split_on(gpu, 1.0, terms)
        out[gpu + 1] = math.inf if status == FAILED else gpu_part


@compiled(allocates=False, nogil=True, forceinline=True)
def pick_score(pick: int, whole_s: FloatColumn, backlog: FloatColumn) -> float:
    """How much a task wants to plan next, the least first: by its completion on the best whole device, or what it loses
    on the second best one. `whole_s` is as `whole_seconds` gives it; `backlog` has the CPU first too.
    """
    best, second = backlog[0] + whole_s[0], math.inf
    for device in range(1, backlog.shape[0]):
        done = backlog[device] + whole_s[device] if whole_s[device] > 0.0 else backlog[0] + whole_s[0]
        if done < best:
            best, second = done, best
        elif done < second:
            second = done
    if pick == _LEAST:
        return best
    if pick == _MOST:
        return -best
    return best - second


@compiled(allocates=False, nogil=True)
def pull_key(
    device: int,
    whole_s: FloatColumn,
    gpu_kind: IntColumn,
    slowest: float,
    affinity: float,
    since_s: float,
    patience: float,
) -> float:
    """How much an idle device wants a whole task, the least first; infinite if it refuses it.

    It refuses what another device does more than `slowest` times as fast. The others go by their seconds here
    (`whole_seconds`), times the `affinity`-th power of how much slower that is than on the best device of another sort
    (for a GPU the CPU or a GPU of another kind); with `patience` behind the moment from which they wait.
    """
    fastest, elsewhere = math.inf, math.inf
    for other in range(whole_s.shape[0]):
        seconds = whole_s[other] if whole_s[other] > 0.0 else math.inf
        fastest = min(fastest, seconds)
        is_alike = other == device or (other > 0 and device > 0 and gpu_kind[other - 1] == gpu_kind[device - 1])
        elsewhere = elsewhere if is_alike else min(elsewhere, seconds)
    if math.isinf(fastest):
        return since_s  # it can run nowhere: whoever takes it first lets it fail
    own = whole_s[device]
    if own <= 0.0 or math.isinf(own) or own > slowest * fastest:
        return math.inf
    score = own * (own / elsewhere) ** affinity if affinity > 0.0 else own
    return since_s + patience * score if patience > 0.0 else score
