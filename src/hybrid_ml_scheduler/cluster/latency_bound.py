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

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn

__all__ = ["mean_latency_floor_s", "shortest_remaining_first_s"]


def mean_latency_floor_s(
    work_s: FloatColumn, heads: FloatColumn, fastest_s: FloatColumn, arrival_s: FloatColumn
) -> float:
    """The larger of both floors; `work_s` is weighted work, `heads` are the earliest moments tasks can be ready at."""
    alone = float((heads + fastest_s - arrival_s).mean())
    order = np.argsort(heads, kind="stable")
    together = (shortest_remaining_first_s(heads[order], work_s[order]) - float(arrival_s.sum())) / len(arrival_s)
    return max(alone, together)


@compiled()
def shortest_remaining_first_s(release_s: FloatColumn, work_s: FloatColumn) -> float:
    """The sum of finishes on one machine that always does what has the least work left; tasks in order of release."""
    waiting = [0.0]
    waiting.pop()
    now_s, total_s, left_s = 0.0, 0.0, math.inf  # of the task that runs; infinite while none does
    for place in range(release_s.shape[0] + 1):
        until_s = release_s[place] if place < release_s.shape[0] else math.inf
        while left_s < math.inf and now_s + left_s <= until_s:
            now_s += left_s
            total_s += now_s
            left_s = heapq.heappop(waiting) if len(waiting) > 0 else math.inf
        if place == release_s.shape[0]:
            break
        left_s -= until_s - now_s
        now_s = until_s
        if work_s[place] < left_s:
            left_s, behind_s = work_s[place], left_s
        else:
            behind_s = work_s[place]
        if behind_s < math.inf:
            heapq.heappush(waiting, behind_s)
    return total_s
