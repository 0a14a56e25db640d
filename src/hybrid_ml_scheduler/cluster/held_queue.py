"""Held tasks in compiled form: the few that come first stand sorted, all others wait in a heap behind them.

A wake looks at the first `depth` tasks only, so however many are held, a wake costs what the front costs. The order is
(order, task id); overdue tasks stand before all others, those that are held longest first. `front` has one place more
than are looked at; `counts` are the lengths of both parts and how many of the front are overdue.
"""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.cluster.ready import is_before, pop_ready, push_ready
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import BoolColumn, FloatColumn, IntColumn

__all__ = ["BEHIND", "FRONT", "OVERDUE", "advance_overdue", "hold_row", "release_place", "reorder"]

FRONT, BEHIND, OVERDUE = 0, 1, 2


@compiled()
def hold_row(
    row: int, order: FloatColumn, identity: IntColumn, front: IntColumn, behind: IntColumn, counts: IntColumn
) -> None:
    """Add a row where it belongs; the front passes its last one back when it is full."""
    length, depth = counts[FRONT], front.shape[0] - 1
    if length == depth and (counts[OVERDUE] == depth or not is_before(row, front[length - 1], order, identity)):
        counts[BEHIND] = push_ready(behind, counts[BEHIND], row, order, identity)
        return
    place = length
    while place > counts[OVERDUE] and is_before(row, front[place - 1], order, identity):
        front[place] = front[place - 1]
        place -= 1
    front[place] = row
    if length == depth:
        counts[BEHIND] = push_ready(behind, counts[BEHIND], front[depth], order, identity)
    else:
        counts[FRONT] = length + 1


@compiled()
def release_place(
    place: int,
    order: FloatColumn,
    identity: IntColumn,
    front: IntColumn,
    behind: IntColumn,
    counts: IntColumn,
    gone: BoolColumn,
) -> None:
    """Take the row at a place of the front out; the first of those behind moves up to the end of the front."""
    length = counts[FRONT]
    gone[front[place]] = True
    counts[OVERDUE] -= place < counts[OVERDUE]
    for later in range(place + 1, length):
        front[later - 1] = front[later]
    while counts[BEHIND] > 0:
        row = pop_ready(behind, counts[BEHIND], order, identity)
        counts[BEHIND] -= 1
        if not gone[row]:  # it may have gone to the front when it was overdue
            front[length - 1] = row
            return
    counts[FRONT] = length - 1


@compiled()
def reorder(
    order: FloatColumn, identity: IntColumn, front: IntColumn, behind: IntColumn, counts: IntColumn, gone: BoolColumn
) -> None:
    """Put all that are not overdue into another order."""
    first, last = counts[OVERDUE], counts[FRONT]
    rows = np.concatenate((front[first:last], behind[: counts[BEHIND]]))
    counts[FRONT], counts[BEHIND] = first, 0
    for row in rows:
        if not gone[row]:
            hold_row(row, order, identity, front, behind, counts)


@compiled()
def advance_overdue(
    now: float,
    limit_s: float,
    oldest: int,
    came: IntColumn,
    since: FloatColumn,
    gone: BoolColumn,
    order: FloatColumn,
    identity: IntColumn,
    front: IntColumn,
    behind: IntColumn,
    counts: IntColumn,
) -> int:
    """Move all that have waited so long to the front, in the order in which they `came`; returns who is checked next.

    `oldest` is the place in `came` of the first one not checked yet.
    """
    depth = front.shape[0] - 1
    while oldest < came.shape[0] and counts[OVERDUE] < depth:
        row = came[oldest]
        if not gone[row]:
            if now - since[row] < limit_s:
                break
            place = 0
            while place < counts[FRONT] and front[place] != row:
                place += 1
            if place == counts[FRONT]:  # it stands behind, and stays there as one who is gone
                gone[row] = True
                if place == depth:
                    counts[BEHIND] = push_ready(behind, counts[BEHIND], front[depth - 1], order, identity)
                    place -= 1
                else:
                    counts[FRONT] += 1
            for later in range(place, counts[OVERDUE], -1):
                front[later] = front[later - 1]
            front[counts[OVERDUE]] = row
            counts[OVERDUE] += 1
        oldest += 1
    return oldest
