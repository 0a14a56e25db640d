"""One sequence of task ids for the stream and for tasks from outside."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hybrid_ml_scheduler.core import Task, TaskBatch

__all__ = ["Numbering"]

_REMEMBERED = 4096


class Numbering:
    """Moves the stream's ids along for every foreign task that was let in between."""

    def __init__(self) -> None:
        self._from: list[int] = []
        self._offset: list[int] = []

    def insert(self, next_stream_id: int) -> None:
        """A foreign task takes the place before the stream's next task."""
        offset = (self._offset[-1] if self._offset else 0) + 1
        self._from.append(next_stream_id)
        self._offset.append(offset)
        if len(self._from) > _REMEMBERED:
            self._from.pop(0)
            self._offset.pop(0)

    def race_id(self, stream_id: int) -> int:
        """Return the id in the race of a task of the stream."""
        place = bisect_right(self._from, stream_id) - 1
        if place >= 0:
            return stream_id + self._offset[place]
        # Older than what is remembered: the offset before the first remembered insertion.
        return stream_id + (self._offset[0] - 1 if self._offset else 0)

    def renumber(self, task: Task) -> Task:
        """Return the stream's task with its id (and its parents' ids) in the race."""
        if not self._from:
            return task
        parents = tuple(self.race_id(parent) for parent in task.dependencies)
        return task._replace(task_id=self.race_id(task.task_id), dependencies=parents)

    def renumber_stretch(self, batch: TaskBatch) -> TaskBatch:
        """Return the stream's next independent tasks with their ids in the race: all come after every insertion."""
        return replace(batch, task_id=batch.task_id + self._offset[-1]) if self._from else batch

    def capture(self) -> Mapping[str, Any]:
        """Return the whole state, picklable."""
        return {"from": list(self._from), "offset": list(self._offset)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        self._from, self._offset = list(state["from"]), list(state["offset"])
