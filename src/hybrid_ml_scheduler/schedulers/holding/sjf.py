"""Shortest first: held tasks go by the seconds they take at their fastest.

Shortest processing time first is due to W. E. Smith (1956), "Various optimizers for single-stage production"; that it
minimises the mean latency of one queue without pre-emption among all orders is due to T. E. Phipps (1956).
"""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_ml_scheduler.core import FloatColumn, Task, TaskBatch
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.holding import BatchSeconds
from hybrid_ml_scheduler.core.terms import TaskTerms
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP
from hybrid_ml_scheduler.schedulers.holding.keyed import KeyedHold

__all__ = ["ShortestFirst"]


class ShortestFirst(KeyedHold):
    """Holds ready tasks and starts the shortest first; `patience` and `aging` bound how long others may overtake.

    With patience p a task of s seconds lets later ones pass that come within p x s seconds after it. With aging a, a
    task that has waited a times what tasks take and wait in the mean goes before all others. 0 is no bound.
    """

    name = "sjf"
    reason = "the shortest held task that can start at once starts"

    def __init__(
        self,
        splits: bool = True,
        step: float = DEFAULT_STEP,
        price: float = 0.0,
        longest: Sequence[float] = (),
        patience: float = 0.0,
        depth: int = 64,
        aging: float = 0.0,
    ) -> None:
        super().__init__(splits=splits, step=step, price=price, longest=longest, depth=depth, aging=aging)
        if not 0.0 <= patience < float("inf"):
            raise PlanError(f"sjf: patience = {patience:g} must be a finite number of at least 0.")
        self._patience = patience

    def key(self, task: Task, size_s: float, terms: TaskTerms) -> float:
        """Its seconds; with patience, the moment up to which it lets others pass."""
        return task.arrival_time + self._patience * size_s if self._patience else size_s

    def keys(self, batch: TaskBatch, size_s: FloatColumn, seconds: BatchSeconds) -> FloatColumn:
        """The same for a whole batch."""
        return batch.arrival_time + self._patience * size_s if self._patience else size_s
