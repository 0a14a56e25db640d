"""Earliest deadline first: held tasks go by the moment at which they should be done; those without one come last.

Due to J. R. Jackson (1955), "Scheduling a production line to minimize maximum tardiness", and to C. L. Liu and
J. W. Layland (1973), "Scheduling algorithms for multiprogramming in a hard-real-time environment".
"""

from __future__ import annotations

import math

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, Task, TaskBatch
from hybrid_ml_scheduler.core.holding import BatchSeconds
from hybrid_ml_scheduler.core.terms import TaskTerms
from hybrid_ml_scheduler.schedulers.holding.keyed import KeyedHold

__all__ = ["EarliestDeadline"]


class EarliestDeadline(KeyedHold):
    """Holds ready tasks and starts the one that is due first."""

    name = "edf"
    reason = "the held task that is due first and can start at once starts"

    def key(self, task: Task, size_s: float, terms: TaskTerms) -> float:
        """When it is due."""
        return math.inf if task.deadline is None else task.arrival_time + task.deadline

    def keys(self, batch: TaskBatch, size_s: FloatColumn, seconds: BatchSeconds) -> FloatColumn:
        """The same for a whole batch."""
        return np.where(np.isnan(batch.deadline), math.inf, batch.arrival_time + batch.deadline)
