"""The compiled form of the cluster for strategies that hold ready tasks back and commit what starts at once.

Events are the moments at which a task becomes ready, or a device comes free while tasks are held.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.cluster.general import Arrivals, Factors, first_ready
from hybrid_ml_scheduler.cluster.held_queue import FRONT, OVERDUE, advance_overdue, hold_row, release_place, reorder
from hybrid_ml_scheduler.cluster.kernel import Written, write
from hybrid_ml_scheduler.cluster.parts import append_part, empty_queues, estimated_end
from hybrid_ml_scheduler.cluster.ready import pop_ready, release_children
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED, NO_GPU, PARENT_FAILED
from hybrid_ml_scheduler.core.holding import MEAN_OVER, Pick
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.terms import BatchTerms
from hybrid_ml_scheduler.physics.choices import split_on
from hybrid_ml_scheduler.physics.held_choices import overdue_s, pick_score, plan_split, pull_key
from hybrid_ml_scheduler.physics.placement import place_parts

__all__ = ["HeldTerms", "run_held"]

_IN_ORDER = int(Pick.IN_ORDER)


class HeldTerms(NamedTuple):
    """A `HeldRule` as compiled code takes it; the columns after `size_s` have one row a stage.

    A grid that is shorter than others repeats its last share. `which` is the row of `orders` that a stage goes by,
    `pull` has `slowest`, `affinity` and `patience` of a stage.
    """

    orders: FloatColumn
    size_s: FloatColumn
    first: IntColumn
    grid: FloatColumn
    price: FloatColumn
    longest: FloatColumn
    which: IntColumn
    pull: FloatColumn
    depth: int
    pick: IntColumn
    aging: float


@compiled(inline="always")
def _next_free(now: float, wake: float, free: FloatColumn) -> float:
    """The next moment at which a device comes free, if that is before `wake`."""
    for device in range(free.shape[0]):
        if now < free[device] < wake:
            wake = free[device]
    return wake


@compiled()
def _picked(
    pick: int,
    planned: npt.NDArray[np.bool_],
    tasks: BatchTerms,
    backlog: FloatColumn,
    front: IntColumn,
    counts: IntColumn,
) -> int:
    """The place in the front of the task that plans next by score among those not yet planned; -1 if there is none.

    What is overdue goes first.
    """
    cpu_s, gpu_s, paged_s, gpu_kind, memory, gpu_memory, memory_rule, serial = tasks
    best, chosen = math.inf, -1
    for place in range(counts[FRONT]):
        if planned[place]:
            continue
        if place < counts[OVERDUE]:
            return place
        row = front[place]
        terms = (cpu_s[row], gpu_s[row], paged_s[row], gpu_kind, memory[row], gpu_memory, memory_rule[row], serial)
        score = pick_score(pick, terms, backlog)
        if score < best or chosen < 0:
            best, chosen = score, place
    return chosen


@compiled()
def _pulled(
    turn: int,
    idle: npt.NDArray[np.bool_],
    pull: FloatColumn,
    arrival: FloatColumn,
    tasks: BatchTerms,
    identity: IntColumn,
    front: IntColumn,
    counts: IntColumn,
) -> tuple[int, int]:
    """The place in the front of the task that the next idle device takes, from this turn on, and whose turn it is.

    The place is -1 if no device takes any. What is overdue goes first.
    """
    cpu_s, gpu_s, paged_s, gpu_kind, memory, gpu_memory, memory_rule, serial = tasks
    devices = idle.shape[0]
    while turn <= devices:
        device = turn % devices  # the GPUs, then the CPU
        best, chosen = math.inf, -1
        for place in range(counts[FRONT] if idle[device] else 0):
            row = front[place]
            terms = (cpu_s[row], gpu_s[row], paged_s[row], gpu_kind, memory[row], gpu_memory, memory_rule[row], serial)
            key = pull_key(device, terms, pull[0], pull[1], arrival[row], pull[2])
            if key < best or (key == best < math.inf and identity[row] < identity[front[chosen]]):
                best, chosen = key, place
                if place < counts[OVERDUE]:
                    break
        if chosen >= 0:
            return chosen, turn
        turn += 1
    return -1, turn


@compiled()
def run_held(
    rule: HeldTerms,
    arrivals: Arrivals,
    tasks: BatchTerms,
    factors: Factors,
    noisy: bool,
    ready: FloatColumn,
    out: Written,
) -> int:
    """Run a whole batch from an idle cluster; returns how many tasks were committed or written off.

    `ready` is filled with the moment each task may be committed.
    """
    # Unpacked before the loop: within it, every use of a tuple of arrays would count references to all of them.
    orders, size_s, stage_first, grids, prices, limits, which, pulls, depth, picks, aging = rule
    stage, turn = 0, 0
    grid, price, longest, pull = grids[0].copy(), prices[0], limits[0].copy(), pulls[0].copy()
    order, pick = orders[which[0]].copy(), picks[0]
    cpu_s, gpu_s, paged_s, gpu_kind, memory, gpu_memory, memory_rule, serial = tasks
    identity, arrival, open_parents, child_offsets, child_rows = arrivals
    cpu_factor, gpu_factor = factors
    count, devices = ready.shape[0], gpu_kind.shape[0] + 1
    free, backlog, idle = np.zeros(devices), np.zeros(devices), np.zeros(devices, np.bool_)
    heads, tails, chain, table = empty_queues(devices, 2 * count if noisy else 0)
    doomed, heap = np.zeros(count, np.bool_), np.empty(count, np.int64)
    front, behind, counts = np.empty(depth + 1, np.int64), np.empty(count, np.int64), np.zeros(3, np.int64)
    came, since, gone = np.empty(count, np.int64), np.empty(count), np.zeros(count, np.bool_)
    oldest, mean_wait, started = 0, 0.0, 0
    planned, longest_s = np.zeros(depth + 1, np.bool_), np.empty(devices)
    length = first_ready(arrival, open_parents, identity, ready, heap)
    now, mean, seen, done = -1.0, 0.0, 0, 0
    while True:
        now_ready = ready[heap[0]] if length > 0 else math.inf
        wake = _next_free(now, now_ready, free) if counts[FRONT] > 0 else now_ready
        if wake == math.inf:
            return done
        now = wake
        while length > 0 and ready[heap[0]] <= now:
            row = pop_ready(heap, length, ready, identity)
            length -= 1
            if not doomed[row]:
                hold_row(row, order, identity, front, behind, counts)
                came[seen], since[row] = row, now
                seen += 1
                mean += (size_s[row] - mean) / min(seen, MEAN_OVER)
                continue
            write(out, row, 0.0, NO_GPU, PARENT_FAILED, (math.nan, math.nan, math.nan, 0.0, 0.0, 0.0, 0.0))
            done += 1
            length = release_children(
                row, now, True, child_offsets, child_rows, ready, doomed, open_parents, identity, heap, length
            )
        while stage + 1 < stage_first.shape[0] and seen >= stage_first[stage + 1]:
            stage += 1
            price, pick = prices[stage], picks[stage]
            # In place: another array would slow every decision.
            grid[:], longest[:], pull[:] = grids[stage], limits[stage], pulls[stage]
            if which[stage] != which[stage - 1]:
                order[:] = orders[which[stage]]
                reorder(order, identity, front, behind, counts, gone)
        resting = 0
        for device in range(devices):
            idle[device] = free[device] <= now
            resting += idle[device]
        if resting == 0:
            continue
        for device in range(devices):
            end = estimated_end(device, now, heads, tails, chain, table) if noisy else max(free[device], now)
            backlog[device] = end - now
            longest_s[device] = longest[device] * mean
        if aging < math.inf:
            limit = overdue_s(aging, mean, mean_wait)
            oldest = advance_overdue(
                now, limit, oldest, came[:seen], since, gone, order, identity, front, behind, counts
            )
        place, tried, turn = 0, 0, 1
        if pick != _IN_ORDER:
            planned[:] = False
        while resting > 0 and tried < depth:
            if pull[0] > 0.0:
                place, turn = _pulled(turn, idle, pull, arrival, tasks, identity, front, counts)
            elif pick != _IN_ORDER:
                place = _picked(pick, planned, tasks, backlog, front, counts)
            if place < 0 or place >= counts[FRONT]:
                break
            tried += 1
            row = front[place]
            terms = (cpu_s[row], gpu_s[row], paged_s[row], gpu_kind, memory[row], gpu_memory, memory_rule[row], serial)
            if pull[0] > 0.0:
                wanted, gpu, starts = (1.0, turn - 1, True) if turn < devices else (0.0, 0, True)
                idle[turn % devices] = False
            else:
                wanted, gpu, starts = plan_split(terms, backlog, idle, grid, price, longest_s)
            resting = 0
            for device in range(devices):
                resting += idle[device]
            if not starts:
                planned[place] = True
                place += 1
                continue
            fraction, cpu_part, gpu_part, status = split_on(gpu, wanted, terms)
            cpu_end = estimated_end(0, now, heads, tails, chain, table) if noisy else now
            slower = gpu_factor[row, gpu_kind[gpu]]
            placed = place_parts(now, gpu, cpu_part, gpu_part, cpu_factor[row], slower, serial, free)
            if noisy and cpu_part > 0.0:
                append_part(0, 2 * row, now, placed[0], placed[5], cpu_part, 0.0, heads, tails, chain, table)
            if noisy and gpu_part > 0.0:
                estimated_end(gpu + 1, now, heads, tails, chain, table)
                after = cpu_end + cpu_part if serial and cpu_part > 0.0 else 0.0
                append_part(
                    gpu + 1, 2 * row + 1, now, placed[1], placed[6], gpu_part, after, heads, tails, chain, table
                )
            write(out, row, fraction, gpu, status, placed)
            done += 1
            started += 1
            mean_wait += (now - since[row] - mean_wait) / min(started, MEAN_OVER)
            release_place(place, order, identity, front, behind, counts, gone)
            if pick != _IN_ORDER:
                planned[place:-1] = planned[place + 1 :]
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
