"""The wait queue: the few tasks that come first stand sorted, all others wait in a heap behind them.

A wake looks at the first few tasks only, so however many wait, a wake costs what these few cost. The order is
(`order`, task id); overdue tasks stand before all others, those that have waited longest first.
"""

from __future__ import annotations

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.engine.heaps import is_before, pop_row, push_row
from hybrid_ml_scheduler.engine.state import BEHIND, FRONT, OLDEST, OVERDUE, SEEN, WAITING, State

__all__ = ["advance_overdue", "release_place", "reorder", "wait_in_order"]


@compiled(inner=True)
def wait_in_order(s: State, row: int) -> None:
    """Add a row where it belongs; the front passes its last one back when it is full."""
    waiting, counts, identity = s.waiting, s.progress.counts, s.tasks.identity
    front, order = waiting.front, waiting.order
    length, depth = counts[FRONT], front.shape[0] - 1
    if length == depth and (counts[OVERDUE] == depth or not is_before(row, front[length - 1], order, identity)):
        counts[BEHIND] = push_row(waiting.behind, counts[BEHIND], row, order, identity)
        return
    place = length
    while place > counts[OVERDUE] and is_before(row, front[place - 1], order, identity):
        front[place] = front[place - 1]
        place -= 1
    front[place] = row
    if length == depth:
        counts[BEHIND] = push_row(waiting.behind, counts[BEHIND], front[depth], order, identity)
    else:
        counts[FRONT] = length + 1


@compiled(inner=True)
def release_place(s: State, place: int) -> None:
    """Take the row at a place of the front out; the first of those behind moves up to the end of the front."""
    waiting, counts = s.waiting, s.progress.counts
    front, length = waiting.front, counts[FRONT]
    waiting.gone[front[place]] = True
    counts[OVERDUE] -= place < counts[OVERDUE]
    counts[WAITING] -= 1
    for later in range(place + 1, length):
        front[later - 1] = front[later]
    while counts[BEHIND] > 0:
        row = pop_row(waiting.behind, counts[BEHIND], waiting.order, s.tasks.identity)
        counts[BEHIND] -= 1
        if not waiting.gone[row]:  # it may have gone to the front when it was overdue
            front[length - 1] = row
            return
    counts[FRONT] = length - 1


@compiled(inner=True)
def reorder(s: State, which: int) -> None:
    """Go by another of the rule's orders from now on; the overdue stay before all others."""
    waiting, counts = s.waiting, s.progress.counts
    for row in range(waiting.order.shape[0]):
        waiting.order[row] = s.rule.orders[which, row]
    first, last, behind = counts[OVERDUE], counts[FRONT], counts[BEHIND]
    rows = waiting.stack
    for place in range(first, last):
        rows[place - first] = waiting.front[place]
    for place in range(behind):
        rows[last - first + place] = waiting.behind[place]
    counts[FRONT], counts[BEHIND] = first, 0
    for place in range(last - first + behind):
        if not waiting.gone[rows[place]]:
            wait_in_order(s, rows[place])


@compiled(inner=True)
def advance_overdue(s: State, now: float, limit_s: float) -> None:
    """Move all that have waited this long to the front, in the order in which they became ready."""
    waiting, counts, front = s.waiting, s.progress.counts, s.waiting.front
    depth = front.shape[0] - 1
    while counts[OLDEST] < counts[SEEN] and counts[OVERDUE] < depth:
        row = waiting.came[counts[OLDEST]]
        if not waiting.gone[row]:
            if now - waiting.since_s[row] < limit_s:
                return
            place = 0
            while place < counts[FRONT] and front[place] != row:
                place += 1
            if place == counts[FRONT]:  # it stands behind, and stays there as one who is gone
                waiting.gone[row] = True
                if place == depth:
                    counts[BEHIND] = push_row(
                        waiting.behind, counts[BEHIND], front[depth - 1], waiting.order, s.tasks.identity
                    )
                    place -= 1
                else:
                    counts[FRONT] += 1
            for later in range(place, counts[OVERDUE], -1):
                front[later] = front[later - 1]
            front[counts[OVERDUE]] = row
            counts[OVERDUE] += 1
        counts[OLDEST] += 1
