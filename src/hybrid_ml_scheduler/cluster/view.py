"""What a strategy sees of its cluster: the clock and the estimated backlogs, never the future."""

from __future__ import annotations

from hybrid_ml_scheduler.core.tasks import Task
from hybrid_ml_scheduler.physics.estimator import PhysicsEstimator

__all__ = ["BacklogView"]


class BacklogView:
    """A snapshot of backlogs at the moment of a decision."""

    __slots__ = ("cpu_backlog_s", "estimator", "gpu_backlogs_s", "idle", "now_s")

    def __init__(
        self,
        estimator: PhysicsEstimator,
        now_s: float = 0.0,
        cpu_backlog_s: float = 0.0,
        gpu_backlogs_s: list[float] | None = None,
    ) -> None:
        self.estimator = estimator
        self.now_s = now_s
        self.idle: list[bool] = []  # filled for strategies that hold, the CPU first
        self.cpu_backlog_s = cpu_backlog_s
        self.gpu_backlogs_s = [0.0] * estimator.num_gpus if gpu_backlogs_s is None else gpu_backlogs_s

    @property
    def least_loaded_gpu(self) -> int:
        """The GPU with the least backlog; the lowest id among equals."""
        backlogs = self.gpu_backlogs_s
        return backlogs.index(min(backlogs))

    def completion_s(self, task: Task, gpu_fraction: float, gpu: int) -> float:
        """Seconds from now until the split would be finished; inf if it would fail."""
        backlog = self.gpu_backlogs_s[gpu]
        return self.estimator.completion_s(task, gpu_fraction, gpu, self.cpu_backlog_s, backlog)
