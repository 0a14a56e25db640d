"""Who waits for whom on one strategy's cluster."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.decisions import Outcome
from hybrid_ml_scheduler.core.errors import InternalError
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn, Task
from hybrid_ml_scheduler.physics.estimator import TaskSeconds, TruthFactor

__all__ = ["Precedence", "WaitingTask"]

_FAILURES_A_BLOCK = 1024


@dataclass(slots=True)
class WaitingTask:
    """A task that has arrived and waits for parents."""

    task: Task
    duration_factor: TruthFactor
    open_parents: int
    ready_s: float
    doomed: bool = False
    seconds: TaskSeconds | None = None


class Precedence:
    """Finish times of placed tasks and the tasks that wait for them.

    A finished task is forgotten once `recall` younger ones were placed; a parent with an id that old counts as
    finished long ago, unless it is known to be waiting itself or to have failed. Failures are never forgotten, since
    they fail whoever comes later: they take a bit each.
    """

    def __init__(self, recall: int | None) -> None:
        self.recall = recall
        # In order, because a plain dict walks over all it has forgotten to find its oldest entry.
        self._finish_s: OrderedDict[int, float] = OrderedDict()
        self._waiting: dict[int, WaitingTask] = {}
        self._children: dict[int, list[int]] = {}
        self._doomed: set[int] = set()
        self._undecided: set[int] = set()
        self._forgotten_up_to = -1
        self._failures: dict[int, int] = {}
        self.active = False

    def begin(self, undecided: Iterable[int]) -> None:
        """Look after parents from now on; these tasks have been offered before and are not decided yet."""
        self.active = True
        self._undecided.update(undecided)

    def offer(self, task: Task, duration_factor: TruthFactor, seconds: TaskSeconds | None = None) -> float | None:
        """Return when an arriving task is ready, or None if a parent has not been placed yet."""
        if self.recall == 0:
            raise InternalError(f"task {task.task_id} has parents in a run that was to have none.")
        self._undecided.add(task.task_id)
        entry = WaitingTask(task, duration_factor, 0, task.arrival_time, seconds=seconds)
        for parent in task.dependencies:
            if parent in self._finish_s:
                self._count(entry, self._finish_s[parent])
            elif parent > self._forgotten_up_to or parent in self._undecided:
                entry.open_parents += 1
                self._children.setdefault(parent, []).append(task.task_id)
            elif self._has_failed(parent):
                entry.doomed = True
        if entry.open_parents:
            self._waiting[task.task_id] = entry
            return None
        if entry.doomed:
            self._doomed.add(task.task_id)
        return entry.ready_s

    def foreseen_s(self, task: Task) -> float:
        """When a task would be ready if it came now: infinite while a parent is not placed, NaN if one has failed."""
        ready_s, is_open = task.arrival_time, False
        for parent in task.dependencies:
            finish_s = self._finish_s.get(parent, ready_s)
            if math.isnan(finish_s) or (parent not in self._finish_s and self._has_failed(parent)):
                return math.nan
            ready_s = max(ready_s, finish_s)
            is_open |= parent in self._undecided or (parent not in self._finish_s and parent > self._forgotten_up_to)
        return math.inf if is_open else ready_s

    @staticmethod
    def _count(entry: WaitingTask, finish_s: float) -> None:
        if math.isnan(finish_s):
            entry.doomed = True
        else:
            entry.ready_s = max(entry.ready_s, finish_s)

    def note(self, outcome: Outcome) -> float:
        """Note when a task will finish (NaN: never), and return it."""
        finish_s = math.nan if outcome.failed else outcome.finish_s
        self._finish_s[outcome.task_id] = finish_s
        self._forget_old(outcome.ready_s)
        return finish_s

    def note_all(self, task_ids: Sequence[int], finish_s: Sequence[float], now_s: float) -> None:
        """Note when tasks that nobody waits for will finish; `now_s` is when the last of them was decided."""
        self._finish_s.update(zip(task_ids, finish_s, strict=True))
        self._forget_old(now_s)

    def _forget_old(self, now_s: float) -> None:
        """Drop the oldest entries beyond `recall`, up to one that still runs: a child would have to wait for it."""
        finishes, recall = self._finish_s, self.recall
        if recall is None:
            return
        while len(finishes) > recall:
            oldest = next(iter(finishes))
            if finishes[oldest] > now_s:
                return
            self._forget(oldest, finishes.pop(oldest))

    def note_placed(self, outcome: Outcome) -> Iterator[WaitingTask]:
        """Note when a task will finish; yields the tasks that are thereby ready at a known time."""
        self._doomed.discard(outcome.task_id)
        self._undecided.discard(outcome.task_id)
        finish_s = self.note(outcome)
        for child in self._children.pop(outcome.task_id, ()):
            entry = self._waiting[child]
            entry.open_parents -= 1
            # A failed parent dooms its child at the moment it failed.
            self._count(entry, finish_s)
            entry.ready_s = max(entry.ready_s, outcome.ready_s)
            if entry.open_parents == 0:
                del self._waiting[child]
                if entry.doomed:
                    self._doomed.add(child)
                yield entry

    def _forget(self, oldest: int, finish_s: float) -> None:
        if oldest > self._forgotten_up_to:
            self._forgotten_up_to = oldest
        if finish_s != finish_s:  # it failed
            block, place = divmod(oldest, _FAILURES_A_BLOCK)
            self._failures[block] = self._failures.get(block, 0) | 1 << place

    def _has_failed(self, task_id: int) -> bool:
        block, place = divmod(task_id, _FAILURES_A_BLOCK)
        return bool(self._failures.get(block, 0) >> place & 1)

    def is_doomed(self, task_id: int) -> bool:
        """Whether a parent of this task failed."""
        return task_id in self._doomed

    @property
    def is_waiting(self) -> bool:
        """Whether any task waits for a parent."""
        return bool(self._waiting)

    def stuck(self) -> int | None:
        """The lowest id that still waits for a parent, if any."""
        return min(self._waiting, default=None)

    def capture(self) -> Mapping[str, Any]:
        """The whole state as plain values."""
        waiting = [
            (e.task, e.duration_factor, e.open_parents, e.ready_s, e.doomed, e.seconds) for e in self._waiting.values()
        ]
        return {
            "finish_s": self._finishes(),
            "waiting": waiting,
            "children": {parent: list(ids) for parent, ids in self._children.items()},
            "doomed": sorted(self._doomed),
            "undecided": sorted(self._undecided),
            "forgotten_up_to": self._forgotten_up_to,
            "failures": dict(self._failures),
            "active": self.active,
        }

    def _finishes(self) -> tuple[IntColumn, FloatColumn]:
        """Task ids and finish times, as arrays: there may be tens of thousands of them."""
        known = self._finish_s
        return np.fromiter(known, np.int64, len(known)), np.fromiter(known.values(), np.float64, len(known))

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        task_ids, finish_s = state["finish_s"]
        self._finish_s = OrderedDict(zip(task_ids.tolist(), finish_s.tolist(), strict=True))
        self._waiting = {entry[0].task_id: WaitingTask(*entry) for entry in state["waiting"]}
        self._children = {parent: list(ids) for parent, ids in state["children"].items()}
        self._doomed = set(state["doomed"])
        self._undecided = set(state["undecided"])
        self._forgotten_up_to = state["forgotten_up_to"]
        self._failures = dict(state["failures"])
        self.active = state["active"]
