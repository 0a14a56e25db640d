"""Held by upward rank: the task with the longest way still to go after it starts first.

The rank is that of HEFT (H. Topcuoglu, S. Hariri and M.-Y. Wu, 2002, "Performance-effective and low-complexity task
scheduling for heterogeneous computing"), used online: ready tasks are held in its order, and each is planned by
earliest finish, with splits, when a device can take it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, IntColumn, RaceContext, Task, TaskBatch
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.holding import BatchSeconds, HeldRule, HeldTasks, HeldView
from hybrid_ml_scheduler.core.terms import TaskTerms
from hybrid_ml_scheduler.core.validation import parent_rows
from hybrid_ml_scheduler.schedulers.holding.keyed import KeyedHold, reorder

__all__ = ["RankHold", "upward_ranks"]


@compiled(nogil=True)
def upward_ranks(size_s: FloatColumn, parent_offsets: IntColumn, parents: IntColumn) -> FloatColumn:
    """Seconds of the longest way from each row to the end, itself included.

    Rows need not come in order of dependence: they are gone through until nothing changes, backwards, which takes one
    pass where parents stand before their children.
    """
    ranks = size_s.copy()
    changed = True
    while changed:
        changed = False
        for row in range(size_s.shape[0] - 1, -1, -1):
            for place in range(parent_offsets[row], parent_offsets[row + 1]):
                parent = parents[place]
                rank = size_s[parent] + ranks[row]
                if rank > ranks[parent]:
                    ranks[parent] = rank
                    changed = True
    return ranks


class RankHold(KeyedHold):
    """Holds ready tasks and starts the one first behind which the longest chain of known tasks waits."""

    name = "rank_hold"
    reason = "the held task with the longest way to go behind it starts first"

    def prepare(self, context: RaceContext) -> None:
        """Start afresh, with no graph known."""
        super().prepare(context)
        self._sizes: dict[int, float] = {}
        self._parents: dict[int, tuple[int, ...]] = {}
        self._ranks: dict[int, float] = {}

    def key(self, task: Task, size_s: float, terms: TaskTerms) -> float:
        """Minus its rank, as far as the graph is known."""
        return -self._ranks.get(task.task_id, size_s)

    def keys(self, batch: TaskBatch, size_s: FloatColumn, seconds: BatchSeconds) -> FloatColumn:
        """The same for a whole batch that is known at once."""
        if not batch.has_dependencies:
            return -size_s
        return -upward_ranks(size_s, batch.parent_offsets, parent_rows(batch))

    def held_rule(self, batch: TaskBatch, seconds: BatchSeconds) -> HeldRule | None:
        """The compiled form, for a graph that is known from the first moment on."""
        known_at_once = len(batch) == 0 or bool(np.all(batch.arrival_time == batch.arrival_time[0]))
        return super().held_rule(batch, seconds) if known_at_once or not batch.has_dependencies else None

    def _learn(self, held: HeldTasks, cluster: HeldView) -> None:
        """Rank anew what has arrived and is not committed; what is held already keeps its place in the new order."""
        for task in held.arrived:
            terms = cluster.estimator.terms(task)
            self._sizes[task.task_id] = self._size_s(terms)
            self._parents[task.task_id] = task.dependencies
        if any(task.dependencies for task in held.arrived):
            self._rank()
            reorder(self._queue, self._waiting.overdue, lambda task: -self._ranks[task.task_id])

    def _rank(self) -> None:
        ids = list(self._sizes)
        rows = {identity: row for row, identity in enumerate(ids)}
        known = [[rows[p] for p in self._parents[i] if p in rows] for i in ids]
        offsets = np.zeros(len(ids) + 1, dtype=np.int64)
        np.cumsum([len(parents) for parents in known], out=offsets[1:])
        flat = np.array([row for parents in known for row in parents], dtype=np.int64)
        ranks = upward_ranks(np.array(list(self._sizes.values())), offsets, flat)
        self._ranks = dict(zip(ids, ranks.tolist(), strict=True))

    def _committed(self, task: Task) -> None:
        for memory in (self._sizes, self._parents, self._ranks):
            memory.pop(task.task_id, None)

    def capture(self) -> Mapping[str, Any]:
        """Also the known part of the graph."""
        graph = {"sizes": dict(self._sizes), "parents": dict(self._parents), "ranks": dict(self._ranks)}
        return {**super().capture(), **graph}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state."""
        super().restore(state)
        self._sizes, self._parents, self._ranks = dict(state["sizes"]), dict(state["parents"]), dict(state["ranks"])
