"""A device for the long ones: every device but the last GPU refuses parts above a limit; otherwise first come first.

Size-based assignment is due to M. Harchol-Balter, M. E. Crovella and C. D. Murta (1999), "On choosing a task assignment
policy for a distributed server system": short tasks must not wait behind long ones.
"""

from __future__ import annotations

import math

from hybrid_ml_scheduler.core import FloatColumn, RaceContext, Task, TaskBatch
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.holding import BatchSeconds
from hybrid_ml_scheduler.core.terms import TaskTerms
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP
from hybrid_ml_scheduler.schedulers.holding.keyed import KeyedHold

__all__ = ["SizeSplit"]


class SizeSplit(KeyedHold):
    """Holds ready tasks first come first served; parts longer than `limit` times the mean go to the last GPU alone."""

    name = "size_split"
    reason = "first come first served; long parts have a GPU of their own"

    def __init__(
        self, splits: bool = True, step: float = DEFAULT_STEP, price: float = 0.0, limit: float = 4.0, depth: int = 64
    ) -> None:
        super().__init__(splits=splits, step=step, price=price, depth=depth)
        if not limit > 0.0:
            raise PlanError(f"size_split: limit = {limit:g} must be above 0.")
        self._limit = limit

    def prepare(self, context: RaceContext) -> None:
        """Start afresh; a node of one GPU has none to spare."""
        super().prepare(context)
        if context.num_gpus > 1:
            self._longest = (*[self._limit] * context.num_gpus, math.inf)

    def key(self, task: Task, size_s: float, terms: TaskTerms) -> float:
        """When it arrived."""
        return task.arrival_time

    def keys(self, batch: TaskBatch, size_s: FloatColumn, seconds: BatchSeconds) -> FloatColumn:
        """The same for a whole batch."""
        return batch.arrival_time
