"""Known tasks played again under another setting, compiled: what a strategy that holds asks before it changes its ways.

The cluster starts idle and every task takes as long as estimated, or as many times as long as was seen; otherwise it
is the form of `KeyedHold`.
"""

from __future__ import annotations

import math

import numpy as np

from hybrid_ml_scheduler.core import BatchTerms, FloatColumn, IntColumn
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.holding import MEAN_OVER
from hybrid_ml_scheduler.core.tasks import BoolColumn
from hybrid_ml_scheduler.physics.choices import row_terms, split_on
from hybrid_ml_scheduler.physics.held_choices import overdue_s, pick_score, plan_split, pull_key, whole_seconds
from hybrid_ml_scheduler.physics.held_gangs import plan_beside_gangs
from hybrid_ml_scheduler.physics.placement import place_parts, place_shared
from hybrid_ml_scheduler.schedulers.holding.overruns import expect_overruns

__all__ = ["DEPTH", "replay_tasks"]

DEPTH = 64  # so many held tasks a wake looks at


@compiled(nogil=True)
def _enter(row: int, first: int, length: int, order: FloatColumn, queue: IntColumn) -> int:
    """Put a row into a queue that is sorted from `first` on, behind its equals; returns the new length."""
    last = length
    while first < last:
        middle = (first + last) // 2
        if order[queue[middle]] <= order[row]:
            first = middle + 1
        else:
            last = middle
    for place in range(length, first, -1):
        queue[place] = queue[place - 1]
    queue[first] = row
    return length + 1


@compiled(nogil=True)
def _advance(row: int, first: int, queue: IntColumn) -> None:
    """Move a row of the queue forward to this place."""
    place = first
    while queue[place] != row:
        place += 1
    for later in range(place, first, -1):
        queue[later] = queue[later - 1]
    queue[first] = row


@compiled(nogil=True)
def _pulled(
    turn: int, idle: BoolColumn, wants: FloatColumn, queue: IntColumn, held: int, overdue: int
) -> tuple[int, int]:
    """The place in the queue of the task that the next idle device takes (-1: none does), and whose turn it is.

    `wants` has the key of every row (`pull_key`) on every device, filled in when the row entered the queue.
    """
    devices = idle.shape[0]
    while turn <= devices:
        device = turn % devices
        best, chosen = math.inf, -1
        for place in range(held if idle[device] else 0):
            row = queue[place]
            key = wants[device, row]
            if key < best or (key == best < math.inf and row < queue[chosen]):
                best, chosen = key, place
                if place < overdue:
                    break
        if chosen >= 0:
            return chosen, turn
        turn += 1
    return -1, turn


@compiled(nogil=True)
def _picked(
    pick: int,
    planned: IntColumn,
    wakes: int,
    backlog: FloatColumn,
    whole_s: FloatColumn,
    queue: IntColumn,
    held: int,
    overdue: int,
) -> int:
    """The place in the queue of the task that plans next by score among those not planned at this wake; -1: none."""
    best, chosen = math.inf, -1
    for place in range(held):
        row = queue[place]
        if planned[row] == wakes:
            continue
        if place < overdue:
            return place
        score = pick_score(pick, whole_s[row], backlog)
        if score < best or chosen < 0:
            best, chosen = score, place
    return chosen


@compiled(nogil=True)
def replay_tasks(
    arrival: FloatColumn,
    order: FloatColumn,
    size_s: FloatColumn,
    tasks: BatchTerms,
    open_parents: IntColumn,
    child_offsets: IntColumn,
    child_rows: IntColumn,
    grid: FloatColumn,
    price: float,
    longest: FloatColumn,
    pull: FloatColumn,
    width: IntColumn,
    slower: FloatColumn,
    aging: float,
    device_s: FloatColumn,
    give_up_s: float,
) -> FloatColumn:
    """When each row is finished, its rows in order of (arrival, id); `device_s` adds up the seconds of every device.

    `pull` is `slowest`, `affinity` and `patience` (`pull_key`), and the `Pick` of who plans next; where the first is 0,
    tasks plan. `width` is how many
    GPUs each needs (empty: one), `slower` how many times its seconds each really takes (empty: once), which is known
    when it has ended and not before. `open_parents` is used up. When all tasks together have waited `give_up_s`, the
    rest stays undone (NaN).
    """
    depth, has_gangs, is_exact = DEPTH, width.shape[0] > 0, slower.shape[0] == 0
    cpu_s, gpu_s, paged_s, gpu_kind, memory, gpu_memory, memory_rule, serial = tasks
    count, devices = arrival.shape[0], longest.shape[0]
    free, backlog, idle = np.zeros(devices), np.zeros(devices), np.zeros(devices, np.bool_)
    expected = free if is_exact else np.zeros(devices)  # when devices are believed to be free
    queue, coming = np.empty(count + 1, np.int64), np.empty(count + 1, np.int64)
    ready, finishes, longest_s = arrival.copy(), np.full(count, math.nan), np.empty(devices)
    came, since, started = np.empty(count, np.int64), np.empty(count), np.zeros(count, np.bool_)
    widest = width.max() if has_gangs else 1
    fellows, gap_s = np.full(max(widest - 1, 1), -1, np.int32), np.full(devices, math.inf)
    wants = np.empty((devices, count if pull[0] > 0.0 else 0))
    compares = pull[0] > 0.0 or pull[3] > 0.0  # whole tasks, at every wake
    whole_s = np.empty((count if compares else 0, devices))
    for row in range(whole_s.shape[0]):
        whole_seconds(row_terms(tasks, row), whole_s[row])
    counts = np.zeros(gpu_s.shape[1], np.int64)
    for kind in gpu_kind:
        counts[kind] += 1
    planned = np.zeros(count, np.int64)  # at which wake each was planned last
    waiting = held = done = overdue = oldest = wakes = 0
    for row in range(count):
        if open_parents[row] == 0:
            coming[waiting] = row
            waiting += 1
    coming[:waiting] = coming[:waiting][::-1].copy()  # the next one to be ready stands last
    now, mean, mean_wait, seen, waited = -1.0, 0.0, 0.0, 0, 0.0
    while done < count:
        wake = ready[coming[waiting - 1]] if waiting > 0 else math.inf
        if held > 0:
            for device in range(devices):
                if now < free[device] < wake:
                    wake = free[device]
        waited += held * (wake - now)
        if wake == math.inf or waited > give_up_s:
            break
        now = wake
        wakes += 1
        while waiting > 0 and ready[coming[waiting - 1]] <= now:
            waiting -= 1
            row = coming[waiting]
            held = _enter(row, overdue, held, order, queue)
            came[seen], since[row] = row, now
            if pull[0] > 0.0:
                for device in range(devices):
                    wants[device, row] = pull_key(device, whole_s[row], gpu_kind, pull[0], pull[1], now, pull[2])
            seen += 1
            mean += (size_s[row] - mean) / min(seen, MEAN_OVER)
        resting = 0
        for device in range(devices):
            idle[device] = free[device] <= now
            resting += idle[device]
            if idle[device]:
                expected[device] = free[device]
            backlog[device] = max(expected[device] - now, 0.0)
            longest_s[device], gap_s[device] = longest[device] * mean, math.inf
        if not is_exact:
            expect_overruns(now, backlog, idle, expected)
        while resting > 0 and oldest < seen and overdue < depth:
            row = came[oldest]
            if not started[row]:
                if now - since[row] < overdue_s(aging, mean, mean_wait):
                    break
                _advance(row, overdue, queue)
                overdue += 1
            oldest += 1
        place, tried, turn = 0, 0, 1
        while resting > 0 and tried < depth and place < held:
            tried += 1
            if pull[0] > 0.0:
                place, turn = _pulled(turn, idle, wants, queue, min(held, depth), overdue)
                if place < 0:
                    break
            elif pull[3] > 0.0:
                place = _picked(int(pull[3]), planned, wakes, backlog, whole_s, queue, min(held, depth), overdue)
                if place < 0:
                    break
            row = queue[place]
            terms = (cpu_s[row], gpu_s[row], paged_s[row], gpu_kind, memory[row], gpu_memory, memory_rule[row], serial)
            if pull[0] > 0.0:
                wanted, gpu, starts = (1.0, turn - 1, True) if turn < devices else (0.0, 0, True)
                idle[turn % devices] = False
            elif has_gangs:
                wanted, gpu, starts = plan_beside_gangs(
                    terms, width[row], counts, backlog, idle, gap_s, grid, price, longest_s, fellows
                )
            else:
                wanted, gpu, starts = plan_split(terms, backlog, idle, grid, price, longest_s)
            resting = 0
            for device in range(devices):
                resting += idle[device]
            if not starts:
                planned[row] = wakes
                place = 0 if pull[3] > 0.0 else place + 1
                continue
            _, cpu_part, gpu_part, _ = split_on(gpu, wanted, terms)
            factor = 1.0 if is_exact else slower[row]
            if not is_exact:
                if has_gangs:
                    place_shared(now, 0, gpu, fellows, cpu_part, gpu_part, 1.0, 1.0, serial, expected)
                else:
                    place_parts(now, gpu, cpu_part, gpu_part, 1.0, 1.0, serial, expected)
            if has_gangs:
                placed = place_shared(now, 0, gpu, fellows, cpu_part, gpu_part, factor, factor, serial, free)
            else:
                placed = place_parts(now, gpu, cpu_part, gpu_part, factor, factor, serial, free)
            device_s[0] += cpu_part * factor
            device_s[gpu + 1] += gpu_part * factor * (width[row] if has_gangs else 1)
            finishes[row] = placed[2]
            done += 1
            held -= 1
            started[row] = True
            overdue -= place < overdue
            mean_wait += (now - since[row] - mean_wait) / min(done, MEAN_OVER)
            for later in range(place, held):
                queue[later] = queue[later + 1]
            for one in range(child_offsets[row], child_offsets[row + 1]):
                child = child_rows[one]
                ready[child] = max(ready[child], placed[2])
                open_parents[child] -= 1
                if open_parents[child] == 0:
                    target = waiting
                    while target > 0 and ready[coming[target - 1]] < ready[child]:
                        coming[target] = coming[target - 1]
                        target -= 1
                    coming[target] = child
                    waiting += 1
    return finishes
