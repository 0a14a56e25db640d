"""Strategies in which an idle device takes the waiting task that it likes best, and strategies that carry out a plan.

Each device has an order of its own over the tasks. A pulling device takes its first waiting task whole, whenever it is
idle. A plan says where every task goes and in which order devices take them: a task is committed when it is ready and
every earlier one of its devices is committed.
"""

from __future__ import annotations

import math

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.engine.heaps import pop_row, push_row
from hybrid_ml_scheduler.engine.state import GPU, PLACE, SHARE, TURN, WAITING, State

__all__ = ["next_planned", "next_pulled", "wait_for_devices", "wait_for_plan"]


@compiled(inner=True)
def wait_for_devices(s: State, row: int) -> None:
    """Keep a row for every device that would ever take it."""
    waiting, orders = s.waiting, s.rule.orders
    s.progress.counts[WAITING] += 1
    for device in range(orders.shape[0]):
        if orders[device, row] < math.inf:
            waiting.heap_lengths[device] = push_row(
                waiting.heaps[device], waiting.heap_lengths[device], row, orders[device], s.tasks.identity
            )


@compiled(inner=True)
def _first(s: State, device: int) -> int:
    """Take out the waiting row that a device likes best; -1 if it would take none."""
    waiting = s.waiting
    while waiting.heap_lengths[device] > 0:
        row = pop_row(waiting.heaps[device], waiting.heap_lengths[device], s.rule.orders[device], s.tasks.identity)
        waiting.heap_lengths[device] -= 1
        if not waiting.gone[row]:
            return row
    return -1


@compiled(inner=True)
def next_pulled(s: State) -> int:
    """The task that the next idle device takes: the GPUs by number, then the CPU; -1 if none takes any more."""
    queues, counts, devices = s.queues, s.progress.counts, s.queues.head.shape[0]
    while counts[TURN] <= devices:
        device = counts[TURN] % devices
        counts[TURN] += 1
        if queues.head[device] >= 0 or queues.end_s[device] < math.inf:
            continue
        row = _first(s, device)
        if row >= 0:
            s.waiting.gone[row] = True
            counts[WAITING] -= 1
            counts[GPU], s.progress.clock[SHARE] = max(device - 1, 0), 1.0 if device > 0 else 0.0
            return row
    return -1


@compiled(inner=True)
def wait_for_plan(s: State, row: int) -> None:
    """A planned task is ready."""
    counts = s.progress.counts
    s.waiting.planned[row] = True
    counts[WAITING] += 1
    s.waiting.stack[counts[PLACE]] = row
    counts[PLACE] += 1


@compiled(inner=True)
def next_planned(s: State) -> int:
    """A ready task whose turn has come on all its devices; -1 if there is none now.

    Only tasks that have just become ready, or follow one that was just committed, need be looked at: a stack has them.
    """
    rule, waiting, counts = s.rule, s.waiting, s.progress.counts
    first, stack = waiting.next_on_device, waiting.stack
    while counts[PLACE] > 0:
        counts[PLACE] -= 1
        row = stack[counts[PLACE]]
        gpu, wanted = rule.gpus[row], rule.fractions[row]
        on_cpu, on_gpu = wanted < 1.0, wanted > 0.0
        is_behind = (on_cpu and first[0] != row) or (on_gpu and first[gpu + 1] != row)
        if is_behind or not waiting.planned[row]:
            continue
        if on_gpu:
            first[gpu + 1] = rule.following[row, 1]
            if first[gpu + 1] >= 0:
                stack[counts[PLACE]] = first[gpu + 1]
                counts[PLACE] += 1
        if on_cpu:
            first[0] = rule.following[row, 0]
            if first[0] >= 0:
                stack[counts[PLACE]] = first[0]
                counts[PLACE] += 1
        counts[WAITING] -= 1
        counts[GPU], s.progress.clock[SHARE] = gpu, wanted
        return row
    return -1
