"""Min-Min, Max-Min and Sufferage: which held task plans next depends on what all of them would get.

Due to O. H. Ibarra and C. E. Kim (1977), "Heuristic algorithms for scheduling independent tasks on nonidentical
processors" (Min-Min, Max-Min), and to M. Maheswaran, S. Ali, H. J. Siegel, D. Hensgen and R. F. Freund (1999),
"Dynamic mapping of a class of independent tasks onto heterogeneous computing systems" (Sufferage). Whole devices.
"""

from __future__ import annotations

from hybrid_ml_scheduler.core import FloatColumn, Task, TaskBatch
from hybrid_ml_scheduler.core.holding import BatchSeconds, Pick
from hybrid_ml_scheduler.core.terms import TaskTerms
from hybrid_ml_scheduler.schedulers.holding.keyed import KeyedHold

__all__ = ["MaxMin", "MinMin", "Sufferage"]


class MinMin(KeyedHold):
    """The held task whose best device ends soonest plans first; the oldest `depth` tasks are looked at."""

    name = "min_min"
    reason = "of the held tasks the one that can be done soonest goes first"
    pick = Pick.LEAST_COMPLETION

    def __init__(self, depth: int = 1024) -> None:
        super().__init__(splits=False, depth=depth)

    def key(self, task: Task, size_s: float, terms: TaskTerms) -> float:
        """When it arrived."""
        return task.arrival_time

    def keys(self, batch: TaskBatch, size_s: FloatColumn, seconds: BatchSeconds) -> FloatColumn:
        """The same for a whole batch."""
        return batch.arrival_time


class MaxMin(MinMin):
    """The held task whose best device ends latest plans first."""

    name = "max_min"
    reason = "of the held tasks the one that would be done last goes first"
    pick = Pick.MOST_COMPLETION


class Sufferage(MinMin):
    """The held task plans first that would lose most if it got its second best device."""

    name = "sufferage"
    reason = "the held task that would lose most on its second best device goes first"
    pick = Pick.MOST_SUFFERAGE
