"""What the forest of `hybrid_ml` learns from: how far each finished part was from what was believed of it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, Outcome, Task
from hybrid_ml_scheduler.core.compiled import python_function
from hybrid_ml_scheduler.core.terms import Terms
from hybrid_ml_scheduler.learning.time_forest import TIME_FEATURES, time_row
from hybrid_ml_scheduler.schedulers.forest.corrected_choice import with_seconds

__all__ = ["Expected", "TimeData", "TimeLessons"]

MOST_OPEN = 1000
_with_seconds = python_function(with_seconds)


class Expected(NamedTuple):
    """What a task was decided with: what was believed of it, the corrected seconds (CPU first), and the choice.

    Of one that is held, `now_s` is when it became ready, and `unit_s` its seconds at its fastest, by which it goes.
    """

    now_s: float
    believed: Terms
    seconds: FloatColumn
    divisible: bool
    gpu_fraction: float
    gpu: int
    cpu_ahead_s: float
    gpu_ahead_s: float
    unit_s: float
    future: float

    @property
    def corrected(self) -> Terms:
        """The terms with corrected seconds."""
        return _with_seconds(self.believed, self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TimeData:
    """What one training needs: earlier observations to learn from, and the newest to be judged by."""

    rows: FloatColumn
    logs: FloatColumn
    held_rows: FloatColumn
    held_logs: FloatColumn
    generation: int

    def __len__(self) -> int:
        return len(self.logs)


class TimeLessons:
    """The latest observations, and the decided tasks that have not been rehearsed yet, in order."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._rows: deque[tuple[float, ...]] = deque(maxlen=window)
        self._logs: deque[float] = deque(maxlen=window)
        self._open: dict[int, Expected] = {}
        self._done: dict[int, FloatColumn] = {}
        self._kinds: dict[str, int] = {}
        self.seen = 0

    def __len__(self) -> int:
        return len(self._logs)

    def kind(self, task: Task) -> int:
        """The number of a task's kind, in order of appearance."""
        return self._kinds.get(task.kind, len(self._kinds))

    def expect(self, task: Task, expected: Expected) -> None:
        """A task was decided: remember what is believed of it until it has finished."""
        self._kinds.setdefault(task.kind, len(self._kinds))
        self._open[task.task_id] = expected

    def expectation(self, task: Task) -> Expected | None:
        """What a task was decided with, if it has not been rehearsed yet."""
        return self._open.get(task.task_id)

    def observe(self, task: Task, outcome: Outcome) -> list[tuple[Expected, FloatColumn]]:
        """A task has finished; returns those that can be rehearsed now, with their real over their believed seconds.

        Tasks are rehearsed in the order of their decisions, so one that still runs holds up those behind it, but not
        for ever: one that never ends, or takes longer than a thousand others, is rehearsed as it was believed.
        """
        self.seen += 1
        expected = self._open.get(task.task_id)
        if expected is None:
            return []
        self._done[task.task_id] = self._ratios(task, outcome, expected)
        ready = []
        while self._open:
            first = next(iter(self._open))
            ratios = self._done.pop(first, None)
            if ratios is None and len(self._open) <= MOST_OPEN:
                break
            one = self._open.pop(first)
            ready.append((one, np.ones(1 + len(one.believed[1])) if ratios is None else ratios))
        return ready

    def _ratios(self, task: Task, outcome: Outcome, expected: Expected) -> FloatColumn:
        """Note how far each part was off, and return that for every type; where there was no part, as the other was."""
        believed, corrected_s = expected.believed, expected.seconds.tolist()
        told_s, gpu_type = (believed[0], *believed[1].tolist()), 1 + int(believed[3][expected.gpu])
        share, ratios = outcome.gpu_fraction, [0.0] * len(told_s)
        for device, took_s, part in ((0, outcome.cpu_s, 1.0 - share), (gpu_type, outcome.gpu_s, share)):
            believed_s = part * told_s[device]
            if took_s > 0.0 and believed_s > 0.0 and not outcome.out_of_memory:
                features = (task.size, task.compute_intensity, task.memory_required)
                kind = self._kinds[task.kind]
                self._rows.append(time_row(*features, kind, told_s[device], device))
                self._logs.append(math.log(took_s / believed_s))
                ratios[device] = took_s / (part * corrected_s[device])
        known = [ratio for ratio in ratios if ratio > 0.0]
        other = sum(known) / len(known) if known else 1.0
        return np.array([ratio if ratio != 0.0 else other for ratio in ratios])

    def data(self, held: int, generation: int) -> TimeData:
        """All observations, the newest apart; at least half of them are for learning."""
        rows, logs = np.array(self._rows).reshape(len(self._logs), len(TIME_FEATURES)), np.array(self._logs)
        known = len(logs) - min(held, len(logs) // 2)
        return TimeData(
            rows=rows[:known], logs=logs[:known], held_rows=rows[known:], held_logs=logs[known:], generation=generation
        )

    def capture(self) -> Mapping[str, Any]:
        """The whole state, picklable."""
        return {
            "rows": list(self._rows),
            "logs": list(self._logs),
            "open": {task: tuple(one) for task, one in self._open.items()},
            "done": {task: ratios.tolist() for task, ratios in self._done.items()},
            "kinds": list(self._kinds),
            "seen": self.seen,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        self._rows = deque(state["rows"], maxlen=self._window)
        self._logs = deque(state["logs"], maxlen=self._window)
        self._open = {task: Expected(*one) for task, one in state["open"].items()}
        self._done = {task: np.array(ratios) for task, ratios in state["done"].items()}
        self._kinds = {name: place for place, name in enumerate(state["kinds"])}
        self.seen = state["seen"]
