"""The task, and the columnar batch of tasks with the same field names."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from typing import Unpack  # type: ignore[attr-defined, unused-ignore]  # in Python from 3.11 on

__all__ = [
    "ANY",
    "CPU",
    "GPU",
    "RUNS_ON",
    "BoolColumn",
    "FloatColumn",
    "IntColumn",
    "Task",
    "TaskBatch",
    "runs_on_word",
]

BoolColumn = npt.NDArray[np.bool_]
FloatColumn = npt.NDArray[np.float64]
IntColumn = npt.NDArray[np.int64]


ANY, CPU, GPU = RUNS_ON = ("any", "cpu", "gpu")


class Task(NamedTuple):
    """One unit of work as a strategy may see it: nothing of the future, nothing of its duration factor.

    `kind` says what sort of work it is ("" = not known), `label` what the user calls it ("" = its id); `deadline` is
    in seconds after arrival. A task that is not `divisible` runs whole on one device; one that needs several GPUs
    holds them all at once, one that needs none (0) runs on the CPU whatever is decided, and one that is `gpu_only`
    never runs there. An `fp32` task computes without tensor cores, which matters where its seconds are scaled between
    types of GPU. `gpu_times` are measured seconds by type of GPU, as pairs of type and seconds; `gpu_time` is
    measured on a GPU of unnamed type. Where only one device's time is measured, the other follows from the physics'
    speed-up times `speedup_factor`.
    """

    task_id: int
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float
    dependencies: tuple[int, ...] = ()
    cpu_time: float | None = None
    gpu_time: float | None = None
    kind: str = ""
    deadline: float | None = None
    divisible: bool = True
    gpus_required: int = 1
    gpu_times: tuple[tuple[str, float], ...] = ()
    speedup_factor: float = 1.0
    gpu_only: bool = False
    fp32: bool = False
    label: str = ""

    @property
    def runs_on(self) -> str:
        """Where the task can run: `gpu`, `cpu` or `any`."""
        return runs_on_word(self.gpu_only, self.gpus_required)

    @classmethod
    def from_mapping(cls, facts: Mapping[str, Any]) -> Task:
        """Build a task from names and plain values, as JSON gives them back; what is left out is at its default."""
        times = tuple((str(name), float(seconds)) for name, seconds in facts.get("gpu_times", ()))
        parents = tuple(facts.get("dependencies", ()))
        return cls(**{**facts, "dependencies": parents, "gpu_times": times})


def runs_on_word(gpu_only: bool, gpus_required: int) -> str:
    """The devices that a task can run on, in one word."""
    return GPU if gpu_only else CPU if gpus_required == 0 else ANY


# A task from all its fields in order, without a call into Python.
_made: Callable[[tuple[Any, ...]], Task] = partial(tuple.__new__, Task)


class OptionalColumns(TypedDict, total=False):
    """The columns of a batch that may be left out, each with its neutral value in `_NEUTRAL`.

    `kind` holds codes into `kind_names`; `gpu_times` has one column for each name of `gpu_types`.
    """

    task_id: npt.ArrayLike
    cpu_time: npt.ArrayLike | None
    gpu_time: npt.ArrayLike | None
    dependencies: Sequence[Sequence[int]] | None
    duration_factor: npt.ArrayLike | None
    kind: npt.ArrayLike | None
    kind_names: Iterable[str]
    requested_time: npt.ArrayLike | None
    deadline: npt.ArrayLike | None
    divisible: npt.ArrayLike | None
    gpus_required: npt.ArrayLike | None
    gpu_times: npt.ArrayLike | None
    gpu_types: Iterable[str]
    speedup_factor: npt.ArrayLike | None
    gpu_only: npt.ArrayLike | None
    fp32: npt.ArrayLike | None
    assumptions: Iterable[str]
    labels: Iterable[str]


_REQUIRED = ("size", "compute_intensity", "memory_required", "arrival_time")
_NEUTRAL: Mapping[str, tuple[type, Any]] = {
    "cpu_time": (np.float64, math.nan),
    "gpu_time": (np.float64, math.nan),
    "duration_factor": (np.float64, 1.0),
    "kind": (np.int64, 0),
    "requested_time": (np.float64, math.nan),
    "deadline": (np.float64, math.nan),
    "divisible": (np.bool_, True),
    "gpus_required": (np.int64, 1),
    "speedup_factor": (np.float64, 1.0),
    "gpu_only": (np.bool_, False),
    "fp32": (np.bool_, False),
}
_BY_ROW = ("task_id", *_REQUIRED, *_NEUTRAL, "gpu_times")
_TEXTS = {"kind_names": ("",), "gpu_types": (), "assumptions": (), "labels": ()}


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

    `cpu_time`, `gpu_time` and `gpu_times` hold NaN where nothing was measured, `deadline` where there is none.
    Parents are stored as one flat column: those of row i are
    `parent_ids[parent_offsets[i]:parent_offsets[i + 1]]`. The kind of row i is `kind_names[kind[i]]`; seconds on the
    GPU type `gpu_types[k]` are `gpu_times[:, k]`.
    `requested_time` is what the user asked for beforehand, in CPU seconds (NaN: nothing); it decides nothing by itself.
    `duration_factor` says how many times its seconds a task takes (1 = as estimated); strategies never see it.
    `assumptions` names every guess that was needed to make the tasks, in words. `labels` holds the ids that the user's
    file gives its tasks, where those are no numbers; it is empty elsewhere.
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
    kind: IntColumn
    requested_time: FloatColumn
    deadline: FloatColumn
    divisible: BoolColumn
    gpus_required: IntColumn
    gpu_times: FloatColumn
    speedup_factor: FloatColumn
    gpu_only: BoolColumn
    fp32: BoolColumn
    kind_names: tuple[str, ...] = field(default=("",))
    gpu_types: tuple[str, ...] = field(default=())
    assumptions: tuple[str, ...] = field(default=())
    labels: tuple[str, ...] = field(default=())

    @classmethod
    def from_columns(
        cls,
        *,
        size: npt.ArrayLike,
        compute_intensity: npt.ArrayLike,
        memory_required: npt.ArrayLike,
        arrival_time: npt.ArrayLike,
        **optional: Unpack[OptionalColumns],
    ) -> TaskBatch:
        """Build a batch from columns; whatever is left out takes its neutral value (see `OptionalColumns`)."""
        unknown = optional.keys() - OptionalColumns.__annotations__.keys()
        if unknown:
            raise TypeError(f"from_columns has no column {min(unknown)!r}")
        count = len(np.atleast_1d(np.asarray(size)))
        given: Mapping[str, Any] = optional
        offsets, parents = _flattened(given.get("dependencies"), count)
        texts: dict[str, Any] = {name: tuple(given.get(name, neutral)) for name, neutral in _TEXTS.items()}
        columns: dict[str, Any] = {
            name: _frozen(np.full(count, neutral, dtype) if given.get(name) is None else given[name], dtype)
            for name, (dtype, neutral) in _NEUTRAL.items()
        }
        needed = (size, compute_intensity, memory_required, arrival_time)
        columns.update(zip(_REQUIRED, (_frozen(column, np.float64) for column in needed), strict=True))
        typed = given.get("gpu_times")
        return cls(
            task_id=_frozen(given.get("task_id", np.arange(count)), np.int64),  # type: ignore[arg-type]
            parent_offsets=_frozen(offsets, np.int64),  # type: ignore[arg-type]
            parent_ids=_frozen(parents, np.int64),  # type: ignore[arg-type]
            gpu_times=_frozen(np.empty((count, 0)) if typed is None else typed, np.float64),  # type: ignore[arg-type]
            **columns,
            **texts,
        )

    @classmethod
    def from_tasks(cls, tasks: Sequence[Task]) -> TaskBatch:
        """Build a batch from single tasks, in the order given."""
        names = tuple(dict.fromkeys(["", *(task.kind for task in tasks)]))
        codes = {name: code for code, name in enumerate(names)}
        types = tuple(sorted({name for task in tasks for name, _ in task.gpu_times}))
        typed = [[dict(task.gpu_times).get(name, math.nan) for name in types] for task in tasks] if types else []
        return cls.from_columns(
            task_id=[task.task_id for task in tasks],
            size=[task.size for task in tasks],
            compute_intensity=[task.compute_intensity for task in tasks],
            memory_required=[task.memory_required for task in tasks],
            arrival_time=[task.arrival_time for task in tasks],
            cpu_time=[_or_nan(task.cpu_time) for task in tasks],
            gpu_time=[_or_nan(task.gpu_time) for task in tasks],
            dependencies=[task.dependencies for task in tasks],
            kind=[codes[task.kind] for task in tasks],
            kind_names=names,
            deadline=[_or_nan(task.deadline) for task in tasks],
            divisible=[task.divisible for task in tasks],
            gpus_required=[task.gpus_required for task in tasks],
            gpu_times=np.array(typed, dtype=np.float64).reshape(len(tasks), len(types)),
            gpu_types=types,
            speedup_factor=[task.speedup_factor for task in tasks],
            gpu_only=[task.gpu_only for task in tasks],
            fp32=[task.fp32 for task in tasks],
            labels=[task.label for task in tasks] if all(task.label for task in tasks) else (),
        )

    def __len__(self) -> int:
        return len(self.task_id)

    def __iter__(self) -> Iterator[Task]:
        # Whole columns become lists first: reading arrays number by number is several times slower.
        count = len(self)
        columns = (self.task_id, self.size, self.compute_intensity, self.memory_required, self.arrival_time)
        measured = (_known(self.cpu_time), _known(self.gpu_time))
        parents = map(self.parents, range(count)) if self.has_dependencies else repeat((), count)
        kinds = map(self.kind_names.__getitem__, self.kind.tolist()) if len(self.kind_names) > 1 else repeat("", count)
        typed = map(self.times_by_type, range(count)) if self.gpu_types else repeat((), count)
        numbers = (self.divisible.tolist(), self.gpus_required.tolist())
        flags, labels = (self.gpu_only.tolist(), self.fp32.tolist()), self.labels or repeat("", count)
        traits = (kinds, _known(self.deadline), *numbers, typed, self.speedup_factor.tolist(), *flags, labels)
        yield from map(_made, zip(*(column.tolist() for column in columns), parents, *measured, *traits, strict=True))

    def task(self, row: int) -> Task:
        """Return one row as a task."""
        return Task(
            task_id=int(self.task_id[row]),
            size=float(self.size[row]),
            compute_intensity=float(self.compute_intensity[row]),
            memory_required=float(self.memory_required[row]),
            arrival_time=float(self.arrival_time[row]),
            dependencies=self.parents(row),
            cpu_time=_or_none(self.cpu_time[row]),
            gpu_time=_or_none(self.gpu_time[row]),
            kind=self.kind_names[self.kind[row]],
            deadline=_or_none(self.deadline[row]),
            divisible=bool(self.divisible[row]),
            gpus_required=int(self.gpus_required[row]),
            gpu_times=self.times_by_type(row) if self.gpu_types else (),
            speedup_factor=float(self.speedup_factor[row]),
            gpu_only=bool(self.gpu_only[row]),
            fp32=bool(self.fp32[row]),
            label=self.labels[row] if self.labels else "",
        )

    def label(self, row: int) -> str:
        """What the user calls the task of one row."""
        return self.labels[row] if self.labels else str(self.task_id[row])

    def times_by_type(self, row: int) -> tuple[tuple[str, float], ...]:
        """Return the seconds of one row that were measured on named types of GPU."""
        pairs = zip(self.gpu_types, self.gpu_times[row].tolist(), strict=True)
        return tuple((name, seconds) for name, seconds in pairs if not math.isnan(seconds))

    def parents(self, row: int) -> tuple[int, ...]:
        """Return the parent ids of one row."""
        begin, end = self.parent_offsets[row], self.parent_offsets[row + 1]
        return tuple(int(parent) for parent in self.parent_ids[begin:end])

    @property
    def is_timed(self) -> BoolColumn:
        """Of which tasks a time on any device was measured."""
        found: BoolColumn = ~(np.isnan(self.cpu_time) & np.isnan(self.gpu_time))
        return found | ~np.isnan(self.gpu_times).all(axis=1) if self.gpu_types else found

    @property
    def visible(self) -> TaskBatch:
        """The batch as a strategy may see it: without noise, and without notes, which tell of all tasks at once."""
        if not (self.is_noisy or self.assumptions):
            return self
        return replace(self, duration_factor=_frozen(np.ones(len(self)), np.float64), assumptions=())  # type: ignore[arg-type]

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
        return TaskBatch(
            parent_offsets=_frozen(offsets - first if len(offsets) else [0], np.int64),  # type: ignore[arg-type]
            parent_ids=self.parent_ids[first:last],
            kind_names=self.kind_names,
            gpu_types=self.gpu_types,
            assumptions=self.assumptions,
            labels=self.labels[start:stop],
            **{name: getattr(self, name)[start:stop] for name in _BY_ROW},
        )

    def select(self, rows: IntColumn) -> TaskBatch:
        """Return these rows in this order (parents keep their ids); a parent may be left behind."""
        lengths = np.diff(self.parent_offsets)[rows]
        offsets = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(lengths, out=offsets[1:])
        begins = np.repeat(self.parent_offsets[:-1][rows] - offsets[:-1], lengths)
        return TaskBatch(
            parent_offsets=_frozen(offsets, np.int64),  # type: ignore[arg-type]
            parent_ids=_frozen(self.parent_ids[begins + np.arange(len(begins))], np.int64),  # type: ignore[arg-type]
            kind_names=self.kind_names,
            gpu_types=self.gpu_types,
            assumptions=self.assumptions,
            labels=tuple(self.labels[row] for row in rows.tolist()) if self.labels else (),
            **{name: _frozen(getattr(self, name)[rows], getattr(self, name).dtype) for name in _BY_ROW},  # type: ignore[arg-type]
        )


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


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
