"""A strategy in one file, as an author would write it."""

from __future__ import annotations

from hybrid_ml_scheduler.core import ClusterView, Decision, Task


class LastInLine:
    """Everything to the GPU with the highest number."""

    name = "last_in_line"

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Send the whole task to the last GPU."""
        return Decision(gpu_fraction=1.0, gpu=len(cluster.gpu_backlogs_s) - 1)
