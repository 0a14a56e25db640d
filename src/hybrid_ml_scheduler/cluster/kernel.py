"""The compiled form of the cluster for independent tasks whose durations are as estimated.

The event loop shrinks to a recurrence over the tasks in order of arrival: choose, place, write down.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED, FITTED, NO_GPU
from hybrid_ml_scheduler.core.protocols import RuleKind
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.terms import BatchTerms
from hybrid_ml_scheduler.physics.choices import fastest_split, least_backlog, least_charge, split_on
from hybrid_ml_scheduler.physics.formulas import allowed_share
from hybrid_ml_scheduler.physics.gangs import gang_backlogs, gang_members
from hybrid_ml_scheduler.physics.placement import Placement, first_slot, place, place_parts, place_shared

__all__ = [
    "FASTEST_SPLIT",
    "PRESCRIBED",
    "RuleTerms",
    "Shared",
    "Written",
    "run_independent",
    "run_shares",
    "run_whole_shares",
    "write",
]

PRESCRIBED = int(RuleKind.PRESCRIBED)
FASTEST_SPLIT = int(RuleKind.FASTEST_SPLIT)


class RuleTerms(NamedTuple):
    """A `BatchRule` as compiled code takes it; columns that the rule does not have are empty."""

    kind: int
    fractions: FloatColumn
    gpus: IntColumn
    by_decision: bool
    grid: FloatColumn
    price: float


class Written(NamedTuple):
    """The columns of a run that every kernel fills; the names are those of `RunColumns`."""

    gpu_fraction: FloatColumn
    gpu: npt.NDArray[np.int32]
    cpu_start_s: FloatColumn
    gpu_start_s: FloatColumn
    finish_s: FloatColumn
    cpu_s: FloatColumn
    gpu_s: FloatColumn
    status: npt.NDArray[np.int8]


@compiled(inline="always")
def write(out: Written, row: int, fraction: float, gpu: int, status: int, placed: Placement) -> None:
    """Write down what became of one task; one that failed has no finish."""
    cpu_start, gpu_start, finish, cpu_s, gpu_s, _, _ = placed
    out.gpu_fraction[row] = fraction
    out.gpu[row] = gpu if gpu_s > 0.0 else NO_GPU
    out.cpu_start_s[row] = cpu_start
    out.gpu_start_s[row] = gpu_start
    out.finish_s[row] = finish if status < FAILED else math.nan
    out.cpu_s[row] = cpu_s
    out.gpu_s[row] = gpu_s
    out.status[row] = status


class Shared(NamedTuple):
    """What is needed besides for gangs and for a CPU with several slots.

    How many GPUs each task needs, how many there are of each kind, and `gang`, to be filled: its GPUs but the leader.
    """

    width: IntColumn
    counts: IntColumn
    gang: npt.NDArray[np.int32]
    slots: int


@compiled()
def run_independent(
    rule: RuleTerms,
    arrival: FloatColumn,
    tasks: BatchTerms,
    shared: Shared | None,
    free: FloatColumn,
    out: Written,
) -> None:
    """Run a batch; `free` (CPU first, its further slots last) is the state of the devices before and after.

    Without `shared` nothing of it is compiled: whether it is there is known from the type of the argument.
    """
    # Unpacked before the loop: within it, every use of a tuple of arrays would count references to all of them.
    kind, fractions, gpus, _, grid, price = rule
    cpu_s, gpu_s, paged_s, gpu_kind, memory, gpu_memory, memory_rule, serial = tasks
    backlog, slot = np.zeros(gpu_kind.shape[0]), 0
    if shared is not None:
        width, counts, gang, _ = shared
        alone, room, narrowed = np.empty_like(backlog), gpu_memory.copy(), False
    for row in range(arrival.shape[0]):
        now = arrival[row]
        for gpu in range(backlog.shape[0]):
            backlog[gpu] = max(free[gpu + 1] - now, 0.0)
        if shared is not None:
            slot = first_slot(backlog.shape[0], free)
            if width[row] > 1 or narrowed:  # written one by one: a copy of a slice would take longer than the rest
                for gpu in range(backlog.shape[0]):
                    alone[gpu], room[gpu] = backlog[gpu], gpu_memory[gpu]
            narrowed = width[row] > 1
            if narrowed:
                gang_backlogs(width[row], gpu_kind, counts, gpu_memory, alone, backlog, room)
            terms = (cpu_s[row], gpu_s[row], paged_s[row], gpu_kind, memory[row], room, memory_rule[row], serial)
        else:
            terms = (cpu_s[row], gpu_s[row], paged_s[row], gpu_kind, memory[row], gpu_memory, memory_rule[row], serial)
        if kind == PRESCRIBED:
            wanted, gpu = fractions[row], gpus[row] if gpus.shape[0] > 0 else NO_GPU
        elif kind == FASTEST_SPLIT:
            wanted, gpu = fastest_split(terms, backlog, grid)
        else:
            wanted, gpu = least_charge(terms, max(free[slot] - now, 0.0), backlog, grid, price)
        if gpu < 0:
            gpu = least_backlog(backlog)
        fraction, cpu_part, gpu_part, status = split_on(gpu, wanted, terms)
        if shared is not None:
            if narrowed and gpu_part > 0.0:
                gang_members(gpu, width[row], gpu_kind, counts, alone, gang[row])
                placed = place_shared(now, slot, gpu, gang[row], cpu_part, gpu_part, 1.0, 1.0, serial, free)
            else:
                placed = place(now, free[slot], free[gpu + 1], cpu_part, gpu_part, 1.0, 1.0, serial)
                if cpu_part > 0.0:
                    free[slot] = placed[5]
                if gpu_part > 0.0:
                    free[gpu + 1] = placed[6]
        else:
            placed = place_parts(now, gpu, cpu_part, gpu_part, 1.0, 1.0, serial, free)
        write(out, row, fraction, gpu, status, placed)


@compiled(nogil=True, inline="always")
def _earliest(now: float, width: int, free: FloatColumn, gpus: IntColumn, backlogs: FloatColumn) -> int:
    """Fill in the GPUs of equal kind that are free first, by rising id, and their backlogs; returns who leads.

    The leader is the lowest id that waits no longer than the last of them, as `gang_backlogs` has it.
    """
    for gpu in range(gpus.shape[0]):
        backlog, place_in_order = max(free[gpu + 1] - now, 0.0), min(gpu, width)
        while place_in_order > 0 and backlog < backlogs[place_in_order - 1]:
            place_in_order -= 1
        for behind in range(min(gpu, width - 1), place_in_order, -1):
            backlogs[behind], gpus[behind] = backlogs[behind - 1], gpus[behind - 1]
        if place_in_order < width:
            backlogs[place_in_order], gpus[place_in_order] = backlog, gpu
    lead = gpus[0]
    for one in range(1, width):
        lead = min(lead, gpus[one])
    return int(lead)


@compiled()
def run_whole_shares(
    fractions: FloatColumn,
    arrival: FloatColumn,
    cpu_s: FloatColumn,
    gpu_s: FloatColumn,
    codes: IntColumn,
    shared: Shared,
    num_gpus: int,
    free: FloatColumn,
    out: Written,
) -> None:
    """`run_shares` where tasks may be gangs, indivisible or for one device only and the CPU may have slots."""
    width, _, gang, slots = shared
    gpus, backlogs = np.empty(num_gpus, np.int64), np.empty(num_gpus)
    for row in range(arrival.shape[0]):
        now, fraction, needed = arrival[row], fractions[row], width[row]
        fraction = allowed_share(fraction, codes[row]) if needed > 0 else 0.0
        lead = _earliest(now, max(needed, 1), free, gpus, backlogs)
        slot = first_slot(num_gpus, free) if slots > 1 else 0
        cpu_part, gpu_part, gpu_free = (1.0 - fraction) * cpu_s[row], fraction * gpu_s[row], free[lead + 1]
        if needed > 1 and gpu_part > 0.0:
            filled = 0
            for gpu in range(num_gpus):
                for one in range(needed):
                    if gpus[one] == gpu and gpu != lead:
                        gang[row, filled], filled = gpu, filled + 1
                        gpu_free = max(gpu_free, free[gpu + 1])
        placed = place(now, free[slot], gpu_free, cpu_part, gpu_part, 1.0, 1.0, False)
        if cpu_part > 0.0:
            free[slot] = placed[5]
        if gpu_part > 0.0:
            for one in range(max(needed, 1)):
                free[gpus[one] + 1] = placed[6]
        write(out, row, fraction, lead, FITTED, placed)


@compiled()
def run_shares(
    fractions: FloatColumn,
    arrival: FloatColumn,
    cpu_s: FloatColumn,
    gpu_s: FloatColumn,
    free: FloatColumn,
    out: Written,
) -> None:
    """The hot special case of `run_independent`: prescribed shares, equal GPUs, least backlog, everything fits."""
    cpu_free = free[0]  # kept in a register: every task waits for it
    for row in range(arrival.shape[0]):
        now, fraction = arrival[row], fractions[row]
        cpu_part, gpu_part = (1.0 - fraction) * cpu_s[row], fraction * gpu_s[row]
        device, gpu_free = 1, free[1]  # found with the device: to load it afterwards would wait for the search
        least = max(gpu_free - now, 0.0)
        for other in range(2, free.shape[0]):
            other_free = free[other]
            backlog = max(other_free - now, 0.0)
            if backlog < least:
                device, least, gpu_free = other, backlog, other_free
        placed = place(now, cpu_free, gpu_free, cpu_part, gpu_part, 1.0, 1.0, False)
        cpu_free = placed[5]
        if gpu_part > 0.0:  # not always: a store that need not be is what this loop would wait for
            free[device] = placed[6]
        write(out, row, fraction, device - 1, FITTED, placed)
    free[0] = cpu_free
