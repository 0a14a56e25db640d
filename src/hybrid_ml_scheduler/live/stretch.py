"""Several tasks of the stream at once: what all strategies are told about them, computed once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, Task, TaskBatch
from hybrid_ml_scheduler.physics import Durations, PhysicsEstimator, TaskSeconds, durations
from hybrid_ml_scheduler.physics.choices import fastest_splits
from hybrid_ml_scheduler.physics.durations import batch_terms

__all__ = ["Stretch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Independent tasks without noise, with their durations, as columns and one by one."""

    batch: TaskBatch
    tasks: list[Task]
    durations: Durations
    seconds: list[TaskSeconds]

    @classmethod
    def of(cls, batch: TaskBatch, estimator: PhysicsEstimator) -> Stretch:
        """Compute the durations of the tasks on the estimator's node."""
        known = durations(batch, estimator.node)
        gpu_s, paged_s = (map(tuple, column.tolist()) for column in (known.gpu_s, known.paged_s))
        seconds = list(map(TaskSeconds, known.cpu_s.tolist(), gpu_s, paged_s))
        return cls(batch=batch, tasks=list(batch), durations=known, seconds=seconds)

    def first(self, count: int) -> Stretch:
        """Return the first tasks alone, down to none."""
        known = self.durations
        return Stretch(
            batch=self.batch.take(slice(count)),
            tasks=self.tasks[:count],
            durations=replace(known, **{name: getattr(known, name)[:count] for name in ("cpu_s", "gpu_s", "paged_s")}),
            seconds=self.seconds[:count],
        )

    @property
    def words(self) -> str:
        """Which tasks these are: one that decides them together does not say which of them it failed at."""
        return f"one of the tasks {self.tasks[0].task_id} to {self.tasks[-1].task_id}"

    def labels(self, estimator: PhysicsEstimator, grid: FloatColumn) -> tuple[FloatColumn, FloatColumn]:
        """The fastest split of every task on the grid, and its execution time."""
        known, batch = self.durations, self.batch
        fractions, execution = np.empty(len(batch)), np.empty(len(batch))
        fastest_splits(batch_terms(batch, estimator.node, known), grid, fractions, execution)
        return fractions, execution
