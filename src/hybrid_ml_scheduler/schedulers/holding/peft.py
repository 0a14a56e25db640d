"""PEFT: tasks by an optimistic cost table, each where it is finished first.

Due to H. Arabnejad and J. G. Barbosa (2014), "List scheduling algorithm for heterogeneous systems by an optimistic cost
table". The table says how long the longest way below a task takes if every task on it gets its best device; where data
move for nothing, as here, it is the same for all devices.
"""

from __future__ import annotations

import heapq

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.holding import PlanRule
from hybrid_ml_scheduler.physics.choices import alone_on_cpu
from hybrid_ml_scheduler.physics.held_choices import fastest_seconds
from hybrid_ml_scheduler.schedulers.grid import as_column
from hybrid_ml_scheduler.schedulers.holding.heft import insert_in_order
from hybrid_ml_scheduler.schedulers.holding.insertion import depths
from hybrid_ml_scheduler.schedulers.holding.keyed import WHOLE
from hybrid_ml_scheduler.schedulers.holding.planned import KnownGraph, PlanHold
from hybrid_ml_scheduler.schedulers.holding.rank_hold import upward_ranks

__all__ = ["Peft"]


class Peft(PlanHold):
    """Plans all known tasks by the optimistic way below them, of those whose parents are planned."""

    name = "peft"
    reason = "planned by the optimistic cost of what follows it"

    def plan_rule(self, graph: KnownGraph) -> PlanRule:
        """The ready task with the most optimistic cost below it is planned next; then the lower id."""
        best_s = fastest_seconds(alone_on_cpu(graph.tasks), graph.tasks.gpu_s, False)
        below = upward_ranks(best_s, graph.parent_offsets, graph.parents) - best_s
        order = _ready_first(graph, below)
        return insert_in_order(graph, order, depths(graph.parent_offsets, graph.parents), as_column(WHOLE))


def _ready_first(graph: KnownGraph, priority: FloatColumn) -> IntColumn:
    """Rows in the order in which a list of those whose parents are done gives them out."""
    missing = np.diff(graph.parent_offsets).tolist()
    children: list[list[int]] = [[] for _ in missing]
    for row in range(len(missing)):
        for parent in graph.parents[graph.parent_offsets[row] : graph.parent_offsets[row + 1]]:
            children[parent].append(row)
    ready = [(-priority[row], int(graph.identity[row]), row) for row, count in enumerate(missing) if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        _, _, row = heapq.heappop(ready)
        order.append(row)
        for child in children[row]:
            missing[child] -= 1
            if missing[child] == 0:
                heapq.heappush(ready, (-priority[child], int(graph.identity[child]), child))
    return np.array(order, dtype=np.int64)
