"""Longest first: held tasks go by falling seconds at their fastest, so that no long one is left to the end.

Longest processing time first is due to R. L. Graham (1969), "Bounds on multiprocessing timing anomalies". It is for
batches, where the last finish counts; the mean latency of a stream suffers.
"""

from __future__ import annotations

from hybrid_ml_scheduler.core import FloatColumn, Task, TaskBatch
from hybrid_ml_scheduler.core.holding import BatchSeconds
from hybrid_ml_scheduler.core.terms import TaskTerms
from hybrid_ml_scheduler.schedulers.holding.keyed import KeyedHold

__all__ = ["LongestFirst"]


class LongestFirst(KeyedHold):
    """Holds ready tasks and starts the longest first."""

    name = "lpt"
    reason = "the longest held task that can start at once starts"

    def key(self, task: Task, size_s: float, terms: TaskTerms) -> float:
        """Minus its seconds."""
        return -size_s

    def keys(self, batch: TaskBatch, size_s: FloatColumn, seconds: BatchSeconds) -> FloatColumn:
        """The same for a whole batch."""
        return -size_s
