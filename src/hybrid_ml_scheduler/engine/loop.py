"""The loop: the next moment at which something happens, and what happens then.

At one moment everything that ends comes first, in the order in which it was decided; then what becomes ready, by id;
then strategies that keep a wait queue are asked, once.
"""

from __future__ import annotations

import math

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import PARENT_FAILED
from hybrid_ml_scheduler.engine.address import Handed, state_at
from hybrid_ml_scheduler.engine.at_once import decide_at_once
from hybrid_ml_scheduler.engine.heaps import is_before, pop_row
from hybrid_ml_scheduler.engine.ordered import begin_planning, next_to_start, wait_for_turn
from hybrid_ml_scheduler.engine.placing import commit, write_off
from hybrid_ml_scheduler.engine.pulled import next_planned, next_pulled, wait_for_devices, wait_for_plan
from hybrid_ml_scheduler.engine.queues import end_parts, next_end_s
from hybrid_ml_scheduler.engine.state import (
    AT_ONCE,
    DONE,
    NEXT_ARRIVAL,
    NOW,
    ORDERED,
    PULLED,
    READY,
    TURN,
    WAITING,
    State,
)

__all__ = ["play", "run", "run_at"]


def play(state: State) -> int:
    """Let everything happen from a state in Python; returns how many tasks were placed or written off."""
    handed = Handed(state)
    return int(run_at(handed.address))


@compiled(allocates=False, nogil=True)
def run_at(address: int) -> int:
    """`run` for the state that is found by the table at this address (`address.Handed`)."""
    return run(state_at(address))


@compiled(inner=True, inline="always")
def run(s: State) -> int:
    """Let everything happen; returns how many tasks were placed or written off."""
    form, counts = s.rule.form, s.progress.counts
    while True:
        end_s = next_end_s(s)
        now = min(end_s, _next_ready_s(s))
        if now == math.inf:
            return counts[DONE]
        s.progress.clock[NOW] = now
        is_woken = end_parts(s, now) if end_s <= now else False
        is_taking = True
        while True:
            if is_taking:
                row = _take_ready(s, now)
                if row < 0:
                    if form <= AT_ONCE or not is_woken or counts[WAITING] == 0:
                        break
                    is_taking = False
                    _begin_wake(s, form, now)
                    continue
                is_woken = True
                if s.progress.is_doomed[row]:
                    write_off(s, row, 0.0, PARENT_FAILED, now)
                    continue
                if form > AT_ONCE:
                    _wait(s, form, row, now)
                    continue
                decide_at_once(s, row, now)
            else:
                row = _next_start(s, form, now)
                if row < 0:
                    break
            commit(s, row, now)


@compiled(inner=True, inline="always")
def _wait(s: State, form: int, row: int, now: float) -> None:
    """Put a task that has become ready into the wait queue."""
    if form == ORDERED:
        wait_for_turn(s, row, now)
    elif form == PULLED:
        wait_for_devices(s, row)
    else:
        wait_for_plan(s, row)


@compiled(inner=True, inline="always")
def _begin_wake(s: State, form: int, now: float) -> None:
    """A strategy that keeps a wait queue is asked."""
    if form == ORDERED:
        begin_planning(s, now)
    elif form == PULLED:
        s.progress.counts[TURN] = 1


@compiled(inner=True, inline="always")
def _next_start(s: State, form: int, now: float) -> int:
    """The waiting task that starts next at this moment; -1 if none does."""
    if form == ORDERED:
        return next_to_start(s, now)
    if form == PULLED:
        return next_pulled(s)
    return next_planned(s)


@compiled(inner=True, forceinline=True)
def _next_ready_s(s: State) -> float:
    """When a task becomes ready next."""
    counts, tasks, moment = s.progress.counts, s.tasks, math.inf
    while counts[NEXT_ARRIVAL] < tasks.arrival_s.shape[0] and tasks.parents[counts[NEXT_ARRIVAL]] > 0:
        counts[NEXT_ARRIVAL] += 1
    if counts[NEXT_ARRIVAL] < tasks.arrival_s.shape[0]:
        moment = tasks.arrival_s[counts[NEXT_ARRIVAL]]
    if counts[READY] > 0:
        moment = min(moment, s.out.ready_s[s.progress.ready_heap[0]])
    return moment


@compiled(inner=True, forceinline=True)
def _take_ready(s: State, now: float) -> int:
    """The task that is ready by now and comes first, by the moment and then by id; -1 if there is none.

    Tasks without parents are ready when they arrive, in order; the others stand in a heap from the end of their last
    parent on.
    """
    counts, progress, tasks, ready_s = s.progress.counts, s.progress, s.tasks, s.out.ready_s
    while counts[NEXT_ARRIVAL] < tasks.arrival_s.shape[0] and tasks.parents[counts[NEXT_ARRIVAL]] > 0:
        counts[NEXT_ARRIVAL] += 1
    arriving, heap = counts[NEXT_ARRIVAL], progress.ready_heap
    has_arrival = arriving < tasks.arrival_s.shape[0] and tasks.arrival_s[arriving] <= now
    if (
        counts[READY] > 0
        and ready_s[heap[0]] <= now
        and (not has_arrival or is_before(heap[0], arriving, ready_s, tasks.identity))
    ):
        row = pop_row(heap, counts[READY], ready_s, tasks.identity)
        counts[READY] -= 1
        return row
    if not has_arrival:
        return -1
    counts[NEXT_ARRIVAL] += 1
    return arriving
