"""The task, and the columnar batch of tasks with the same field names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["FloatColumn", "IntColumn", "Task", "TaskBatch"]

FloatColumn = npt.NDArray[np.float64]
IntColumn = npt.NDArray[np.int64]


class Task(NamedTuple):
    """One unit of work as a strategy may see it: nothing of the future, nothing of its luck."""

    task_id: int
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float
    dependencies: tuple[int, ...] = ()
    cpu_time: float | None = None
    gpu_time: float | None = None


def _frozen(values: npt.ArrayLike, dtype: type) -> npt.NDArray[np.generic]:
    """Return the values as a contiguous read-only column, without touching a caller's array."""
    column: npt.NDArray[np.generic] = np.ascontiguousarray(values, dtype=dtype)
    if column.flags.writeable:
        column = column.view()
        column.flags.writeable = False
    return column


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskBatch:
    """Tasks as read-only columns, in order of (arrival_time, task_id).

    `cpu_time` and `gpu_time` hold NaN where nothing was measured. Parents are stored
    as one flat column: those of row i are `parent_ids[parent_offsets[i]:parent_offsets[i + 1]]`.
    `duration_factor` is the luck of each task (1 = as estimated); strategies never see it.
    `assumptions` names every guess that was needed to make the tasks, in words.
    """

    task_id: IntColumn
    size: FloatColumn
    compute_intensity: FloatColumn
    memory_required: FloatColumn
    arrival_time: FloatColumn
    cpu_time: FloatColumn
    gpu_time: FloatColumn
    parent_offsets: IntColumn
    parent_ids: IntColumn
    duration_factor: FloatColumn
    assumptions: tuple[str, ...] = field(default=())

    @classmethod
    def from_columns(
        cls,
        *,
        size: npt.ArrayLike,
        compute_intensity: npt.ArrayLike,
        memory_required: npt.ArrayLike,
        arrival_time: npt.ArrayLike,
        task_id: npt.ArrayLike | None = None,
        cpu_time: npt.ArrayLike | None = None,
        gpu_time: npt.ArrayLike | None = None,
        dependencies: Sequence[Sequence[int]] | None = None,
        duration_factor: npt.ArrayLike | None = None,
        assumptions: Iterable[str] = (),
    ) -> TaskBatch:
        """Build a batch from columns; whatever is left out takes its neutral value."""
        count = len(np.atleast_1d(np.asarray(size)))
        offsets, parents = _flattened(dependencies, count)
        unknown = np.full(count, math.nan)
        columns = {
            "size": size,
            "compute_intensity": compute_intensity,
            "memory_required": memory_required,
            "arrival_time": arrival_time,
            "cpu_time": unknown if cpu_time is None else cpu_time,
            "gpu_time": unknown if gpu_time is None else gpu_time,
            "duration_factor": np.ones(count) if duration_factor is None else duration_factor,
        }
        ids = np.arange(count) if task_id is None else task_id
        return cls(
            task_id=_frozen(ids, np.int64),  # type: ignore[arg-type]
            parent_offsets=_frozen(offsets, np.int64),  # type: ignore[arg-type]
            parent_ids=_frozen(parents, np.int64),  # type: ignore[arg-type]
            assumptions=tuple(assumptions),
            **{name: _frozen(column, np.float64) for name, column in columns.items()},  # type: ignore[arg-type]
        )

    @classmethod
    def from_tasks(cls, tasks: Sequence[Task]) -> TaskBatch:
        """Build a batch from single tasks, in the order given."""
        return cls.from_columns(
            task_id=[task.task_id for task in tasks],
            size=[task.size for task in tasks],
            compute_intensity=[task.compute_intensity for task in tasks],
            memory_required=[task.memory_required for task in tasks],
            arrival_time=[task.arrival_time for task in tasks],
            cpu_time=[math.nan if task.cpu_time is None else task.cpu_time for task in tasks],
            gpu_time=[math.nan if task.gpu_time is None else task.gpu_time for task in tasks],
            dependencies=[task.dependencies for task in tasks],
        )

    def __len__(self) -> int:
        return len(self.task_id)

    def __iter__(self) -> Iterator[Task]:
        # Whole columns become lists first: reading arrays number by number is several times slower.
        columns = (self.task_id, self.size, self.compute_intensity, self.memory_required, self.arrival_time)
        measured = (_known(self.cpu_time), _known(self.gpu_time))
        parents = map(self.parents, range(len(self))) if self.has_dependencies else repeat((), len(self))
        yield from map(Task, *(column.tolist() for column in columns), parents, *measured)

    def task(self, row: int) -> Task:
        """Return one row as a task."""
        cpu_time, gpu_time = float(self.cpu_time[row]), float(self.gpu_time[row])
        return Task(
            task_id=int(self.task_id[row]),
            size=float(self.size[row]),
            compute_intensity=float(self.compute_intensity[row]),
            memory_required=float(self.memory_required[row]),
            arrival_time=float(self.arrival_time[row]),
            dependencies=self.parents(row),
            cpu_time=None if math.isnan(cpu_time) else cpu_time,
            gpu_time=None if math.isnan(gpu_time) else gpu_time,
        )

    def parents(self, row: int) -> tuple[int, ...]:
        """Return the parent ids of one row."""
        begin, end = self.parent_offsets[row], self.parent_offsets[row + 1]
        return tuple(int(parent) for parent in self.parent_ids[begin:end])

    @property
    def has_dependencies(self) -> bool:
        """Whether any task waits for another one."""
        return len(self.parent_ids) > 0

    @property
    def is_noisy(self) -> bool:
        """Whether any task takes longer or shorter than estimated."""
        return bool(np.any(self.duration_factor != 1.0))

    def take(self, rows: slice) -> TaskBatch:
        """Return a contiguous part of the batch (parents keep their ids)."""
        start, stop, step = rows.indices(len(self))
        if step != 1:
            raise ValueError("take needs a contiguous slice")
        offsets = self.parent_offsets[start : max(start, stop) + 1]
        first, last = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
        names = ("task_id", "size", "compute_intensity", "memory_required", "arrival_time")
        more = ("cpu_time", "gpu_time", "duration_factor")
        return TaskBatch(
            parent_offsets=_frozen(offsets - first if len(offsets) else [0], np.int64),  # type: ignore[arg-type]
            parent_ids=self.parent_ids[first:last],
            assumptions=self.assumptions,
            **{name: getattr(self, name)[start:stop] for name in names + more},
        )


def _known(column: FloatColumn) -> list[float | None]:
    """A column of measured times as a list, None where nothing was measured."""
    unknown = np.isnan(column)
    if unknown.all():
        return [None] * len(column)
    return [None if missing else value for value, missing in zip(column.tolist(), unknown.tolist(), strict=True)]


def _flattened(dependencies: Sequence[Sequence[int]] | None, count: int) -> tuple[IntColumn, IntColumn]:
    """Turn a list of parent lists into offsets and one flat column."""
    if dependencies is None:
        return np.zeros(count + 1, dtype=np.int64), np.zeros(0, dtype=np.int64)
    lengths = np.fromiter((len(parents) for parents in dependencies), dtype=np.int64, count=count)
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    flat = [parent for parents in dependencies for parent in parents]
    return offsets, np.asarray(flat, dtype=np.int64)
