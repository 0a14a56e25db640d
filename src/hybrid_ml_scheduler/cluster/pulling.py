"""The compiled form of the cluster for strategies in which an idle device takes the held task that it likes best.

Every device has an order of its own over the tasks; infinite means never. Each device keeps a heap of the held rows
that it would take; a row that another device took is dropped when it comes up.
"""

from __future__ import annotations

import math

import numpy as np

from hybrid_ml_scheduler.cluster.general import Arrivals, Factors, first_ready
from hybrid_ml_scheduler.cluster.kernel import Written, write
from hybrid_ml_scheduler.cluster.ready import pop_ready, push_ready, release_children
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED, NO_GPU, PARENT_FAILED
from hybrid_ml_scheduler.core.tasks import BoolColumn, FloatColumn, IntColumn
from hybrid_ml_scheduler.core.terms import BatchTerms
from hybrid_ml_scheduler.physics.choices import split_on
from hybrid_ml_scheduler.physics.placement import place_parts

__all__ = ["run_pulled"]


@compiled()
def _offer(row: int, orders: FloatColumn, identity: IntColumn, heaps: IntColumn, lengths: IntColumn) -> None:
    """Hold a row for every device that would ever take it."""
    for device in range(orders.shape[0]):
        if orders[device, row] < math.inf:
            lengths[device] = push_ready(heaps[device], lengths[device], row, orders[device], identity)


@compiled()
def _first(
    device: int, orders: FloatColumn, identity: IntColumn, heaps: IntColumn, lengths: IntColumn, taken: BoolColumn
) -> int:
    """Take out the held row that a device likes best; -1 if it would take none."""
    while lengths[device] > 0:
        row = pop_ready(heaps[device], lengths[device], orders[device], identity)
        lengths[device] -= 1
        if not taken[row]:
            return row
    return -1


@compiled()
def run_pulled(
    orders: FloatColumn, arrivals: Arrivals, tasks: BatchTerms, factors: Factors, ready: FloatColumn, out: Written
) -> int:
    """Run a whole batch from an idle cluster; returns how many tasks were committed or written off.

    `ready` is filled with the moment each task may be committed.
    """
    # Unpacked before the loop: within it, every use of a tuple of arrays would count references to all of them.
    cpu_s, gpu_s, paged_s, gpu_kind, memory, gpu_memory, memory_rule, serial = tasks
    identity, arrival, open_parents, child_offsets, child_rows = arrivals
    cpu_factor, gpu_factor = factors
    count, devices = ready.shape[0], gpu_kind.shape[0] + 1
    free, taken, doomed = np.zeros(devices), np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    heap, heaps, lengths = np.empty(count, np.int64), np.empty((devices, count), np.int64), np.zeros(devices, np.int64)
    length = first_ready(arrival, open_parents, identity, ready, heap)
    now, held, done = -1.0, 0, 0
    while True:
        wake = ready[heap[0]] if length > 0 else math.inf
        if held > 0:
            for device in range(devices):
                if now < free[device] < wake:
                    wake = free[device]
        if wake == math.inf:
            return done
        now = wake
        while length > 0 and ready[heap[0]] <= now:
            row = pop_ready(heap, length, ready, identity)
            length -= 1
            if not doomed[row]:
                _offer(row, orders, identity, heaps, lengths)
                held += 1
                continue
            write(out, row, 0.0, NO_GPU, PARENT_FAILED, (math.nan, math.nan, math.nan, 0.0, 0.0, 0.0, 0.0))
            done += 1
            length = release_children(
                row, now, True, child_offsets, child_rows, ready, doomed, open_parents, identity, heap, length
            )
        for turn in range(1, devices + 1):
            device = turn % devices  # the GPUs, then the CPU
            if free[device] > now:
                continue
            row = _first(device, orders, identity, heaps, lengths, taken)
            if row < 0:
                continue
            taken[row] = True
            held -= 1
            done += 1
            gpu, wanted = (device - 1, 1.0) if device > 0 else (0, 0.0)
            terms = (cpu_s[row], gpu_s[row], paged_s[row], gpu_kind, memory[row], gpu_memory, memory_rule[row], serial)
            fraction, cpu_part, gpu_part, status = split_on(gpu, wanted, terms)
            slower = gpu_factor[row, gpu_kind[gpu]]
            placed = place_parts(now, gpu, cpu_part, gpu_part, cpu_factor[row], slower, serial, free)
            write(out, row, fraction, gpu, status, placed)
            length = release_children(
                row,
                placed[2],
                status >= FAILED,
                child_offsets,
                child_rows,
                ready,
                doomed,
                open_parents,
                identity,
                heap,
                length,
            )
