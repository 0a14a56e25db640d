"""Strategies that go through their wait queue in an order: each task plans, and what can start at once is started."""

from __future__ import annotations

import math

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.holding import MEAN_OVER, Pick
from hybrid_ml_scheduler.engine.placing import terms_of
from hybrid_ml_scheduler.engine.queues import estimated_end_s
from hybrid_ml_scheduler.engine.state import (
    BEHIND,
    FRONT,
    GPU,
    IDLE,
    MEAN_S,
    MEAN_WAIT_S,
    OVERDUE,
    PLACE,
    SEEN,
    SHARE,
    STAGE,
    STARTED,
    TRIED,
    TURN,
    WAITING,
    State,
)
from hybrid_ml_scheduler.engine.waiting import advance_overdue, release_place, reorder, wait_in_order
from hybrid_ml_scheduler.physics.held_choices import overdue_s, pick_score, plan_split, pull_key, whole_seconds

__all__ = ["begin_planning", "next_to_start", "wait_for_turn"]

_IN_ORDER = int(Pick.IN_ORDER)
# Places in a row of `Rule.pull`.
_SLOWEST, _AFFINITY, _PATIENCE = range(3)


@compiled(inner=True, forceinline=True)
def wait_for_turn(s: State, row: int, now: float) -> None:
    """Keep a task that has become ready."""
    counts, clock = s.progress.counts, s.progress.clock
    wait_in_order(s, row)
    if s.waiting.whole_s.shape[0] > 0:
        whole_seconds(terms_of(s, row), s.waiting.whole_s[row])
        if s.rule.pull[counts[STAGE], _SLOWEST] > 0.0:
            _want(s, row)
    counts[WAITING] += 1
    s.waiting.came[counts[SEEN]], s.waiting.since_s[row] = row, now
    counts[SEEN] += 1
    clock[MEAN_S] += (s.rule.size_s[row] - clock[MEAN_S]) / min(counts[SEEN], MEAN_OVER)


@compiled(inner=True)
def begin_planning(s: State, now: float) -> None:
    """Begin a wake: enter the stage that is due, look at the devices, and move overdue tasks to the front."""
    rule, counts, clock = s.rule, s.progress.counts, s.progress.clock
    _advance_stage(s)
    counts[PLACE], counts[TURN], counts[TRIED], counts[IDLE] = 0, 1, 0, _look(s, now)
    if counts[IDLE] == 0:
        return
    if rule.aging < math.inf:
        advance_overdue(s, now, overdue_s(rule.aging, clock[MEAN_S], clock[MEAN_WAIT_S]))
    for place in range(counts[FRONT]):
        s.waiting.planned[place] = False


@compiled(inner=True)
def next_to_start(s: State, now: float) -> int:
    """Let waiting tasks plan, one behind the other, until one of them starts at once; -1 if none does any more."""
    rule, counts, clock, planned = s.rule, s.progress.counts, s.progress.clock, s.waiting.planned
    stage, backlog, idle = counts[STAGE], s.scratch.backlog, s.scratch.idle
    pick, pulls, devices = rule.pick[stage], rule.pull[stage, _SLOWEST] > 0.0, backlog.shape[0]
    while counts[IDLE] > 0 and counts[TRIED] < rule.depth:
        if pulls:
            _next_pull(s)
        elif pick != _IN_ORDER:
            _next_pick(s, pick)
        place = counts[PLACE]
        if place < 0 or place >= counts[FRONT]:
            return -1
        counts[TRIED] += 1
        row = s.waiting.front[place]
        if pulls:
            wanted, gpu, starts = (1.0, counts[TURN] - 1, True) if counts[TURN] < devices else (0.0, 0, True)
            idle[counts[TURN] % devices] = False
        else:
            wanted, gpu, starts = plan_split(
                terms_of(s, row), backlog, idle, rule.grid[stage], rule.price[stage], s.scratch.longest_s
            )
        counts[IDLE] = 0
        for device in range(devices):
            counts[IDLE] += idle[device]
        if starts:
            counts[GPU], clock[SHARE] = gpu, wanted
            counts[STARTED] += 1
            clock[MEAN_WAIT_S] += (now - s.waiting.since_s[row] - clock[MEAN_WAIT_S]) / min(counts[STARTED], MEAN_OVER)
            if pick != _IN_ORDER:
                for later in range(place + 1, counts[FRONT]):
                    planned[later - 1] = planned[later]
                planned[counts[FRONT] - 1] = False
            release_place(s, place)
            return row
        planned[place] = True
        counts[PLACE] += 1
    return -1


@compiled(inner=True)
def _advance_stage(s: State) -> None:
    """Enter the stages that as many ready tasks have reached."""
    rule, counts, is_new = s.rule, s.progress.counts, False
    while counts[STAGE] + 1 < rule.first.shape[0] and counts[SEEN] >= rule.first[counts[STAGE] + 1]:
        counts[STAGE] += 1
        is_new = True
        if rule.which[counts[STAGE]] != rule.which[counts[STAGE] - 1]:
            reorder(s, rule.which[counts[STAGE]])
    if is_new and rule.pull[counts[STAGE], _SLOWEST] > 0.0:
        for place in range(counts[FRONT]):
            _want(s, s.waiting.front[place])
        for place in range(counts[BEHIND]):
            _want(s, s.waiting.behind[place])


@compiled(inner=True)
def _want(s: State, row: int) -> None:
    """Fill in how much each device wants a whole task."""
    pull = s.rule.pull[s.progress.counts[STAGE]]
    for device in range(s.waiting.pull_keys.shape[1]):
        s.waiting.pull_keys[row, device] = pull_key(
            device, s.waiting.whole_s[row], s.devices.gpu_kind, pull[_SLOWEST], pull[_AFFINITY],
            s.tasks.arrival_s[row], pull[_PATIENCE],
        )  # fmt: skip


@compiled(inner=True)
def _look(s: State, now: float) -> int:
    """Fill in which devices are idle, their backlogs and the longest part each takes; returns how many are idle."""
    scratch, queues, resting = s.scratch, s.queues, 0
    for device in range(scratch.idle.shape[0]):
        scratch.idle[device] = queues.head[device] < 0 and queues.end_s[device] == math.inf
        resting += scratch.idle[device]
    if resting > 0:
        longest = s.rule.longest[s.progress.counts[STAGE]]
        for device in range(scratch.idle.shape[0]):
            scratch.backlog[device] = estimated_end_s(s, device, now) - now
            scratch.longest_s[device] = longest[device] * s.progress.clock[MEAN_S]
    return resting


@compiled(inner=True)
def _next_pick(s: State, pick: int) -> None:
    """Find the place of the task that plans next by score among those not yet planned; -1 if there is none.

    What is overdue goes first.
    """
    counts, best, chosen = s.progress.counts, math.inf, -1
    for place in range(counts[FRONT]):
        if s.waiting.planned[place]:
            continue
        if place < counts[OVERDUE]:
            chosen = place
            break
        score = pick_score(pick, s.waiting.whole_s[s.waiting.front[place]], s.scratch.backlog)
        if score < best or chosen < 0:
            best, chosen = score, place
    counts[PLACE] = chosen


@compiled(inner=True)
def _next_pull(s: State) -> None:
    """Find the place of the task that the next idle device takes, from this turn on; -1 if no device takes any.

    The GPUs choose by number, then the CPU. What is overdue goes first.
    """
    counts, front, idle, keys = s.progress.counts, s.waiting.front, s.scratch.idle, s.waiting.pull_keys
    counts[PLACE] = -1
    while counts[TURN] <= idle.shape[0]:
        device = counts[TURN] % idle.shape[0]
        best, chosen = math.inf, -1
        for place in range(counts[FRONT] if idle[device] else 0):
            key = keys[front[place], device]
            if key < best or (
                key == best < math.inf and s.tasks.identity[front[place]] < s.tasks.identity[front[chosen]]
            ):
                best, chosen = key, place
                if place < counts[OVERDUE]:
                    break
        if chosen >= 0:
            counts[PLACE] = chosen
            return
        counts[TURN] += 1
