"""Search for a better plan by small changes, compiled: another device or share for a task, or another turn.

A change that makes the plan end later is taken back, unless it costs little: what is little shrinks to nothing until
the last step (threshold accepting, G. Dueck and T. Scheuer 1990).
"""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core import BatchTerms, FloatColumn, IntColumn
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED
from hybrid_ml_scheduler.physics.choices import split_on
from hybrid_ml_scheduler.physics.placement import place_parts

__all__ = ["improved_plan", "plan_end_s", "planned_parts"]


@compiled(nogil=True, inline="always")
def _drawn(state: IntColumn, most: int) -> int:
    """The next number below `most` of a generator whose state is one number (xorshift)."""
    bits = np.uint64(state[0])
    bits ^= bits << np.uint64(13)
    bits ^= bits >> np.uint64(7)
    bits ^= bits << np.uint64(17)
    state[0] = np.int64(bits)
    return np.int64((bits >> np.uint64(11)) % np.uint64(most))  # type: ignore[return-value]


@compiled(nogil=True)
def planned_parts(tasks: BatchTerms, fractions: FloatColumn, gpus: IntColumn) -> FloatColumn:
    """CPU and GPU seconds of every row, where a plan sends it."""
    cpu_s, gpu_s, paged_s, gpu_kind, memory, gpu_memory, memory_rule, serial = tasks
    parts = np.empty((fractions.shape[0], 2))
    for row in range(fractions.shape[0]):
        terms = (cpu_s[row], gpu_s[row], paged_s[row], gpu_kind, memory[row], gpu_memory, memory_rule[row], serial)
        _, parts[row, 0], parts[row, 1], _ = split_on(gpus[row], fractions[row], terms)
    return parts


@compiled(nogil=True)
def plan_end_s(
    order: IntColumn,
    parts: FloatColumn,
    gpus: IntColumn,
    serial: bool,
    parent_offsets: IntColumn,
    parents: IntColumn,
    backlog: FloatColumn,
    finishes: FloatColumn,
) -> float:
    """When the last task of a plan is finished, carried out as a plan is: `parts` are CPU and GPU seconds of each row.

    A task is committed when it is ready and those before it on its devices are committed. `finishes` is filled.
    """
    free, committed, last = backlog.copy(), np.zeros(backlog.shape[0]), 0.0
    for row in order:
        now, device = 0.0, gpus[row] + 1
        for place in range(parent_offsets[row], parent_offsets[row + 1]):
            now = max(now, finishes[parents[place]])
        if parts[row, 0] > 0.0:
            now = max(now, committed[0])
        if parts[row, 1] > 0.0:
            now = max(now, committed[device])
        placed = place_parts(now, gpus[row], parts[row, 0], parts[row, 1], 1.0, 1.0, serial, free)
        if parts[row, 0] > 0.0:
            committed[0] = now
        if parts[row, 1] > 0.0:
            committed[device] = now
        finishes[row] = placed[2]
        last = max(last, placed[2])
    return last


@compiled(nogil=True)
def _moved(order: IntColumn, where: IntColumn, source: int, target: int) -> None:
    """Take the row at one place to another; those between move up."""
    row, step = order[source], 1 if target > source else -1
    for place in range(source, target, step):
        order[place] = order[place + step]
        where[order[place]] = place
    order[target] = row
    where[row] = target


@compiled(nogil=True)
def improved_plan(
    steps: int,
    seed: int,
    slack: float,
    tasks: BatchTerms,
    grid: FloatColumn,
    graph: tuple[IntColumn, IntColumn, IntColumn, IntColumn],
    backlog: FloatColumn,
    order: IntColumn,
    fractions: FloatColumn,
    gpus: IntColumn,
) -> float:
    """Better a plan in place by so many small changes; returns when it ends. `graph`: parents and children, flat."""
    cpu_s, gpu_s, paged_s, gpu_kind, memory, gpu_memory, memory_rule, serial = tasks
    offsets, parents, child_offsets, child_rows = graph
    count, num_gpus = order.shape[0], gpu_kind.shape[0]
    parts, where, finishes = planned_parts(tasks, fractions, gpus), np.empty(count, np.int64), np.empty(count)
    state = np.array([seed * 2 + 1], dtype=np.int64)
    for place in range(count):
        where[order[place]] = place
    current = plan_end_s(order, parts, gpus, serial, offsets, parents, backlog, finishes)
    best, best_order, best_fractions, best_gpus = current, order.copy(), fractions.copy(), gpus.copy()
    for step in range(steps):
        place = _drawn(state, count)
        row, target = order[place], place
        was = (fractions[row], gpus[row], parts[row, 0], parts[row, 1])
        if _drawn(state, 2) == 0:
            first, last = 0, count - 1
            for one in range(offsets[row], offsets[row + 1]):
                first = max(first, where[parents[one]] + 1)
            for one in range(child_offsets[row], child_offsets[row + 1]):
                last = min(last, where[child_rows[one]] - 1)
            target = first + _drawn(state, last - first + 1)
        if target == place:
            wanted, gpu = grid[_drawn(state, grid.shape[0])], _drawn(state, num_gpus)
            terms = (cpu_s[row], gpu_s[row], paged_s[row], gpu_kind, memory[row], gpu_memory, memory_rule[row], serial)
            share, cpu_part, gpu_part, status = split_on(gpu, wanted, terms)
            if status >= FAILED:
                continue
            fractions[row], gpus[row], parts[row, 0], parts[row, 1] = share, gpu, cpu_part, gpu_part
        else:
            _moved(order, where, place, target)
        end = plan_end_s(order, parts, gpus, serial, offsets, parents, backlog, finishes)
        if end <= current + slack * best * (1.0 - step / steps):
            current = end
            if end < best:
                best = end
                best_order[:], best_fractions[:], best_gpus[:] = order, fractions, gpus
        elif target == place:
            fractions[row], gpus[row], parts[row, 0], parts[row, 1] = was
        else:
            _moved(order, where, target, place)
    order[:], fractions[:], gpus[:] = best_order, best_fractions, best_gpus
    return best
