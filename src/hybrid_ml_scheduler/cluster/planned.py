"""The compiled form of the cluster for plans: where every task goes, and in which order devices take them.

A task is committed when it is ready and all tasks with an earlier turn on its devices are committed. Nothing that is
estimated plays a part, so noise and a hidden truth change the moments only.
"""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.cluster.general import Arrivals, Factors, first_ready
from hybrid_ml_scheduler.cluster.kernel import Written, write
from hybrid_ml_scheduler.cluster.ready import pop_ready, push_ready
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.terms import BatchTerms
from hybrid_ml_scheduler.physics.choices import split_on
from hybrid_ml_scheduler.physics.placement import place_parts

__all__ = ["run_planned"]

_NOBODY = -1


@compiled()
def _next_on_devices(
    fractions: FloatColumn, gpus: IntColumn, rows: IntColumn, devices: int
) -> tuple[IntColumn, IntColumn]:
    """For every row the row that follows it on the CPU and on its GPU (-1: none), and the first of every device."""
    following = np.full((fractions.shape[0], 2), _NOBODY, np.int64)
    first = np.full(devices, _NOBODY, np.int64)
    for place in range(rows.shape[0] - 1, -1, -1):
        row = rows[place]
        if fractions[row] < 1.0:
            following[row, 0] = first[0]
            first[0] = row
        if fractions[row] > 0.0:
            following[row, 1] = first[gpus[row] + 1]
            first[gpus[row] + 1] = row
    return following, first


@compiled()
def run_planned(
    fractions: FloatColumn,
    gpus: IntColumn,
    rows: IntColumn,
    arrivals: Arrivals,
    tasks: BatchTerms,
    factors: Factors,
    ready: FloatColumn,
    out: Written,
) -> int:
    """Run a plan whose tasks take their turns in the order of `rows`; returns how many were committed.

    `ready` is filled with the moment each task may be committed. A plan in which a task fails ends there.
    """
    # Unpacked before the loop: within it, every use of a tuple of arrays would count references to all of them.
    cpu_s, gpu_s, paged_s, gpu_kind, memory, gpu_memory, memory_rule, serial = tasks
    identity, arrival, open_parents, child_offsets, child_rows = arrivals
    cpu_factor, gpu_factor = factors
    count, devices = ready.shape[0], gpu_kind.shape[0] + 1
    free, is_ready = np.zeros(devices), np.zeros(count, np.bool_)
    following, first = _next_on_devices(fractions, gpus, rows, devices)
    heap, waiting = np.empty(count, np.int64), np.empty(2 * count + 1, np.int64)
    length = first_ready(arrival, open_parents, identity, ready, heap)
    done = 0
    while length > 0:
        now = ready[heap[0]]
        freed = 0
        while length > 0 and ready[heap[0]] <= now:
            row = pop_ready(heap, length, ready, identity)
            length -= 1
            is_ready[row] = True
            waiting[freed] = row
            freed += 1
        while freed > 0:
            freed -= 1
            row = waiting[freed]
            gpu, wanted = gpus[row], fractions[row]
            on_cpu, on_gpu = wanted < 1.0, wanted > 0.0
            behind = (on_cpu and first[0] != row) or (on_gpu and first[gpu + 1] != row)
            if behind or not is_ready[row]:
                continue
            terms = (cpu_s[row], gpu_s[row], paged_s[row], gpu_kind, memory[row], gpu_memory, memory_rule[row], serial)
            fraction, cpu_part, gpu_part, status = split_on(gpu, wanted, terms)
            if status >= FAILED:
                return done
            slower = gpu_factor[row, gpu_kind[gpu]]
            placed = place_parts(now, gpu, cpu_part, gpu_part, cpu_factor[row], slower, serial, free)
            write(out, row, fraction, gpu, status, placed)
            done += 1
            if on_cpu:
                first[0] = following[row, 0]
            if on_gpu:
                first[gpu + 1] = following[row, 1]
                if first[gpu + 1] != _NOBODY:
                    waiting[freed] = first[gpu + 1]
                    freed += 1
            if on_cpu and first[0] != _NOBODY:
                waiting[freed] = first[0]
                freed += 1
            for place in range(child_offsets[row], child_offsets[row + 1]):
                child = child_rows[place]
                ready[child] = max(ready[child], placed[2])
                open_parents[child] -= 1
                if open_parents[child] == 0:
                    length = push_ready(heap, length, child, ready, identity)
    return done
