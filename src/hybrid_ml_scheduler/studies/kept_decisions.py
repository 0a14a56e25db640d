"""What if, from a record alone: every other decision is kept, and each device serves its parts in the recorded order.

For runs whose strategy cannot be asked again (it has learned since, or its durations are hidden). Nothing is simulated
that was not recorded, except the seconds of the one task on the other devices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.studies.what_if import Alternative, WhatIf

__all__ = ["ChangedTask", "KeptRun", "RecordedTask"]


class RecordedTask(NamedTuple):
    """One task as it was placed; a device that it did not use has no start. A task that failed uses none.

    `gang` are the GPUs that it held besides `gpu`.
    """

    task_id: int
    arrival_s: float
    ready_s: float
    finish_s: float
    gpu_fraction: float
    gpu: int
    cpu_start_s: float | None
    cpu_part_s: float
    gpu_start_s: float | None
    gpu_part_s: float
    parents: tuple[int, ...] = ()
    gang: tuple[int, ...] = ()


class ChangedTask(NamedTuple):
    """One other decision for a task and the seconds of its parts; `gang` are the GPUs that it would hold besides."""

    gpu_fraction: float
    gpu: int
    cpu_part_s: float
    gpu_part_s: float
    gang: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """Where and for how long the parts of a task run."""

    ready_s: float
    gpu_fraction: float
    gpu: int
    cpu_part_s: float
    gpu_part_s: float
    gang: tuple[int, ...] = ()


class KeptRun:
    """The record of one strategy on one node, in the order in which it decided, from busy devices on."""

    def __init__(
        self,
        tasks: Sequence[RecordedTask],
        free_s: Sequence[float],
        *,
        slots: int = 1,
        serial: bool = False,
        holds: bool = False,
    ) -> None:
        self._tasks = sorted(tasks, key=_began if holds else _became_ready)
        self._slots, self._serial, self._holds = slots, serial, holds
        self._rows = {task.task_id: row for row, task in enumerate(self._tasks)}
        self._is_graph = any(task.parents for task in tasks)
        self._free = list(self._free_before(list(free_s)))

    def _free_before(self, free_s: list[float]) -> Iterator[tuple[float, ...]]:
        """When every device comes free before each decision; refuses a record that does not follow from its order."""
        for row, task in enumerate(self._tasks):
            before = tuple(free_s)
            yield before
            if self._place(free_s, _as_recorded(task)) == _ends(task):
                continue
            # A strategy that holds may let a device stand idle: then its task is not begun before it was then.
            self._tasks[row] = task = task._replace(ready_s=_began(task)[0]) if self._holds else task
            free_s[:] = before
            if self._place(free_s, _as_recorded(task)) != _ends(task):
                raise WorkloadError(
                    f"Task {task.task_id} did not run when its device came free, so that the stored times do not "
                    "follow from the order of the decisions, and no other decision can be tried."
                )

    def what_if(self, task_id: int, others: Sequence[ChangedTask]) -> WhatIf:
        """The effect of every other decision for one task."""
        if task_id not in self._rows:
            raise WorkloadError(f"There is no task {task_id} in this part of the run.")
        row = self._rows[task_id]
        task = self._tasks[row]
        found = [self._effect(row, other) for other in others if (other.gpu_fraction, other.gpu) != task[4:6]]
        return WhatIf(
            task_id=task_id,
            gpu_fraction=task.gpu_fraction,
            gpu=task.gpu,
            latency_s=task.finish_s - task.arrival_s,
            alternatives=tuple(sorted(found, key=lambda one: one.total_change_s)),
        )

    def backlogs_s(self, task_id: int) -> list[float]:
        """For how long every GPU was still busy when a task was decided."""
        row = self._rows[task_id]
        return [max(0.0, free_s - self._tasks[row].ready_s) for free_s in self._free[row][self._slots :]]

    def longest(self, count: int) -> list[int]:
        """The tasks with the longest latency, the longest first."""
        latencies = [(task.finish_s - task.arrival_s, -task.task_id) for task in self._tasks]
        known = [pair for pair in latencies if not math.isnan(pair[0])]
        return [-identity for _, identity in sorted(known, reverse=True)[:count]]

    def _effect(self, row: int, other: ChangedTask) -> Alternative:
        task, free_s = self._tasks[row], list(self._free[row])
        own = _Placed(ready_s=task.ready_s, **other._asdict())
        finish_s = max(self._place(free_s, own))
        others_s = self._behind(row, free_s, {task.task_id: finish_s})
        latency_s = finish_s - task.arrival_s
        return Alternative(
            gpu_fraction=other.gpu_fraction,
            gpu=other.gpu,
            latency_s=latency_s,
            latency_change_s=latency_s - (task.finish_s - task.arrival_s),
            others_s=others_s,
            makespan_s=max(free_s),
        )

    def _behind(self, row: int, free_s: list[float], finishes: dict[int, float]) -> float:
        """Change of the summed latency of all later tasks; `free_s` ends at when the devices are done."""
        change_s, count = 0.0, len(self._tasks)
        for later in range(row + 1, count):
            if not self._is_graph and tuple(free_s) == self._free[later]:
                self._finish(free_s, later)  # from here on everything is as it was
                break
            task = self._tasks[later]
            ready_s = self._ready_s(task, finishes)
            ends = self._place(free_s, replace(_as_recorded(task), ready_s=ready_s))
            if not math.isnan(task.finish_s):
                finish_s = max(ends, default=task.finish_s)
                change_s += finish_s - task.finish_s
                if self._is_graph and finish_s != task.finish_s:
                    finishes[task.task_id] = finish_s
        return change_s

    def _finish(self, free_s: list[float], row: int) -> None:
        for task in self._tasks[row:]:
            self._place(free_s, _as_recorded(task))

    def _ready_s(self, task: RecordedTask, finishes: dict[int, float]) -> float:
        """When a task is ready: as recorded, unless a parent of it now ends at another time."""
        if not task.parents or not any(parent in finishes for parent in task.parents):
            return task.ready_s
        ends = [finishes.get(parent, self._finish_of(parent)) for parent in task.parents]
        return max(task.arrival_s, *ends)

    def _finish_of(self, task_id: int) -> float:
        return self._tasks[self._rows[task_id]].finish_s if task_id in self._rows else 0.0

    def _place(self, free_s: list[float], placed: _Placed) -> tuple[float, ...]:
        """Queue the parts of a task; returns when each ends."""
        ends = []
        if placed.cpu_part_s > 0.0:
            slot = min(range(self._slots), key=free_s.__getitem__)
            free_s[slot] = max(free_s[slot], placed.ready_s) + placed.cpu_part_s
            ends.append(free_s[slot])
        if placed.gpu_part_s > 0.0:
            devices = [gpu + self._slots for gpu in (placed.gpu, *placed.gang)]
            begin_s = max(placed.ready_s, *(free_s[device] for device in devices))
            if self._serial and ends:
                begin_s = max(begin_s, ends[0])
            for device in devices:
                free_s[device] = begin_s + placed.gpu_part_s
            ends.append(begin_s + placed.gpu_part_s)
        return tuple(ends)


def _became_ready(task: RecordedTask) -> tuple[float, int]:
    """The order of decisions of a strategy that decides at once."""
    return task.ready_s, task.task_id


def _began(task: RecordedTask) -> tuple[float, float, int]:
    """The order of decisions of a strategy that holds: what it commits starts at once."""
    starts = [start for start in (task.cpu_start_s, task.gpu_start_s) if start is not None]
    return min(starts, default=task.ready_s), task.ready_s, task.task_id


def _as_recorded(task: RecordedTask) -> _Placed:
    return _Placed(
        ready_s=task.ready_s,
        gpu_fraction=task.gpu_fraction,
        gpu=task.gpu,
        cpu_part_s=task.cpu_part_s,
        gpu_part_s=task.gpu_part_s,
        gang=task.gang,
    )


def _ends(task: RecordedTask) -> tuple[float, ...]:
    parts = ((task.cpu_start_s, task.cpu_part_s), (task.gpu_start_s, task.gpu_part_s))
    return tuple(start + part for start, part in parts if start is not None and part > 0.0)
