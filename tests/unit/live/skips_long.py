"""A strategy of one's own that looks quick because it leaves the long tasks undone."""

from __future__ import annotations

from collections.abc import Iterable

from hybrid_ml_scheduler.core import Decision, Task
from hybrid_ml_scheduler.core.holding import Commitment, HeldTasks, HeldView, soonest_device


class SkipsLong:
    """Starts short tasks on the device that ends first, and never a long one."""

    name = "skips_long"

    def decide(self, task: Task, cluster: HeldView) -> Decision:
        return soonest_device(task, cluster)

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterable[Commitment]:
        for task in list(held):
            if task.size <= 300.0:
                yield Commitment(task.task_id, soonest_device(task, cluster))
