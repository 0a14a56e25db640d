"""A floor under the mean latency, by relaxing all devices to one machine.

Give every device a weight, weights summing to 1, and let one machine do at each moment what the busy devices do, each
at the rate of its weight. It never works faster than 1, touches no task before it could be ready, and has done at least
the task's cheapest weighted way of being done when the task is finished. So every schedule is a schedule of that
machine, where interrupting is allowed; and on one machine the shortest remaining work first has the least sum of
finishes (Schrage 1968). Beside it stands a simpler floor: nothing ends before it could be ready plus its fastest
execution.
"""

from __future__ import annotations

import heapq
import math

import numpy as np

from hybrid_ml_scheduler.cluster.area import Ways, weighted_work
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn

__all__ = ["mean_latency_floor_s", "shortest_remaining_first_s"]


def mean_latency_floor_s(
    ways: Ways, weights: FloatColumn, heads: FloatColumn, fastest_s: FloatColumn, arrival_s: FloatColumn
) -> float:
    """The larger of both floors; `heads` are the earliest moments at which tasks can be ready."""
    alone = float((heads + fastest_s - arrival_s).mean())
    order = np.argsort(heads, kind="stable")
    work = weighted_work(ways, weights)[order]
    together = (shortest_remaining_first_s(heads[order], work) - float(arrival_s.sum())) / len(arrival_s)
    return max(alone, together)


@compiled()
def shortest_remaining_first_s(release_s: FloatColumn, work_s: FloatColumn) -> float:
    """The sum of finishes on one machine that always does what has the least work left; tasks in order of release."""
    count = release_s.shape[0]
    waiting = [0.0]
    waiting.pop()
    now_s, total_s, place = 0.0, 0.0, 0
    while place < count or len(waiting) > 0:
        if len(waiting) == 0:
            now_s = max(now_s, release_s[place])
        while place < count and release_s[place] <= now_s:
            heapq.heappush(waiting, work_s[place])
            place += 1
        until_s = release_s[place] if place < count else math.inf
        left_s = heapq.heappop(waiting)
        if now_s + left_s <= until_s:
            now_s += left_s
            total_s += now_s
        else:
            heapq.heappush(waiting, left_s - (until_s - now_s))
            now_s = until_s
    return total_s
