"""The tasks of a file as a stream for a live race: one after the other, as often as the file has them, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from hybrid_ml_scheduler.core.tasks import Task, TaskBatch
from hybrid_ml_scheduler.workload.nominal import known_beforehand, knows_scale
from hybrid_ml_scheduler.workload.parameters import WorkloadParameters

__all__ = ["TraceStream", "TraceTask"]


class TraceTask(NamedTuple):
    """A task, the task as it could be seen before it ran, and its duration factor, which no strategy may see."""

    task: Task
    seen: Task
    duration_factor: float


class TraceStream:
    """Hands out the tasks of a batch in order; ids follow those of earlier runs, and the clock begins at the first one.

    The file's own ids stay as labels.
    It has what a race needs of `TaskStream`, and an end.
    """

    def __init__(self, batch: TaskBatch, *, first_task_id: int = 0) -> None:
        self._batch = batch
        self._seen = known_beforehand(batch)
        self.knows_scale = knows_scale(batch)
        self._first_id = first_task_id
        self._places = {int(identity): place for place, identity in enumerate(batch.task_id)}
        self._begin_s = float(batch.arrival_time[0])
        self._used = 0
        span = float(batch.arrival_time[-1]) - self._begin_s
        rate = (len(batch) - 1) / span if span > 0.0 else 1.0
        self._laws = WorkloadParameters().with_values({"arrival_rate": min(max(rate, 1e-9), 1e9)})

    def __len__(self) -> int:
        return len(self._batch)

    @property
    def parameters(self) -> WorkloadParameters:
        """Laws that say how many tasks arrive a second, on average; everything else is in the file."""
        return self._laws

    @property
    def kind_names(self) -> tuple[str, ...]:
        """The kinds of work that the file names."""
        return tuple(name for name in self._batch.kind_names if name) or ("",)

    @property
    def next_task_id(self) -> int:
        """The id that the next task will have."""
        return self._first_id + self._used

    @property
    def is_over(self) -> bool:
        """Whether every task has been handed out."""
        return self._used == len(self._batch)

    def next_task(self) -> TraceTask:
        """Return the next task."""
        row = self._used
        self._used += 1
        seen = self._numbered(self._seen, row)
        task = seen if self._seen is self._batch else self._numbered(self._batch, row)
        return TraceTask(task, seen, float(self._batch.duration_factor[row]))

    def seen_task(self, task_id: int) -> Task | None:
        """A task of the file as it could be seen before it ran; `None` for an id that is not one of its tasks."""
        row = task_id - self._first_id
        return self._numbered(self._seen, row) if 0 <= row < len(self._batch) else None

    def _numbered(self, batch: TaskBatch, row: int) -> Task:
        task = batch.task(row)
        identity = self._first_id + row
        return task._replace(
            task_id=identity,
            label=task.label or ("" if task.task_id == identity else str(task.task_id)),
            dependencies=tuple(self._first_id + self._places[parent] for parent in task.dependencies),
            arrival_time=task.arrival_time - self._begin_s,
        )

    def shift(self, parameters: WorkloadParameters) -> None:
        """Change nothing: what arrives is in the file, and a drift changes what tasks take, not which ones come."""

    def capture(self) -> Mapping[str, Any]:
        """Return everything needed to continue exactly here with the same batch."""
        return {"first_task_id": self._first_id, "used": self._used}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly where the state was captured."""
        self._first_id, self._used = state["first_task_id"], state["used"]
