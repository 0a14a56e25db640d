"""What is learned of estimated seconds: how far finished tasks were off, and the forest that is grown from that.

Training is driven from outside (`core.learners`); a new forest decides only where it is no worse than the current one
on the newest observations, which neither was grown on.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hybrid_ml_scheduler.core import ClusterView, FloatColumn, ModelFacts, Outcome, Task, Verdict, stream
from hybrid_ml_scheduler.core.compiled import compiled, python_function
from hybrid_ml_scheduler.core.terms import TaskTerms, Terms
from hybrid_ml_scheduler.learning.time_forest import (
    TIME_FEATURES,
    TimeForest,
    WalkedForest,
    correct,
    fit_time_forest,
    time_row,
    walkable,
)
from hybrid_ml_scheduler.physics.held_choices import possible_s
from hybrid_ml_scheduler.schedulers.grid import task_terms

__all__ = [
    "WINDOW",
    "Expected",
    "TimeData",
    "TimeLessons",
    "TrainsSeconds",
    "corrected_size",
    "expected_again",
    "seconds_words",
    "with_seconds",
]

WINDOW = 1000  # so many of the newest observations are learned from
LEAST_OBSERVATIONS = 40
HELD_OUT = 50
MOST_REST = 32  # a forest that finds nothing is grown ever more seldom, down to once in so many intervals
_MOST_OPEN = 1000  # decided tasks whose outcome is awaited; one that never ends is forgotten


@compiled(nogil=True, inline="always")
def with_seconds(believed: Terms, seconds: FloatColumn) -> Terms:
    """Terms with other seconds: the CPU's, those of the types of GPU, then the same paged if anything pages."""
    types = 1 + believed[1].shape[0]
    return (
        seconds[0], seconds[1:types], seconds[types:], believed[3], believed[4], believed[5], believed[6], believed[7]
    )  # fmt: skip


@compiled(nogil=True, inline="always")
def corrected_size(
    believed: Terms, size: float, intensity: float, kind: int, forest: WalkedForest, seconds: FloatColumn
) -> float:
    """Leave the corrected seconds in `seconds`; returns those of the task at its fastest."""
    types = 1 + believed[1].shape[0]
    seconds[0] = believed[0]
    seconds[1:types] = believed[1]
    seconds[types:] = believed[2]
    if forest[0] != 0.0:
        correct(size, intensity, believed[4], kind, forest, seconds, types)
    return possible_s(with_seconds(believed, seconds), True)


_with_seconds = python_function(with_seconds)


class Expected(NamedTuple):
    """What is estimated of a task: when it became ready, its terms, its corrected seconds (CPU first), and the choice.

    `unit_s` is what it takes at its fastest, by which it is ordered.
    """

    now_s: float
    believed: Terms
    seconds: FloatColumn
    divisible: bool
    gpu_fraction: float
    gpu: int
    unit_s: float

    @property
    def corrected(self) -> Terms:
        """The terms with corrected seconds."""
        return _with_seconds(self.believed, self.seconds)


def expected_again(values: tuple[Any, ...]) -> Expected:
    """An expectation from a stored state; before 0.3 it held three more numbers."""
    return Expected._make(values if len(values) == len(Expected._fields) else (*values[:6], values[8]))


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
    """The latest observations, and the decided tasks that have not finished yet."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._rows: deque[tuple[float, ...]] = deque(maxlen=window)
        self._logs: deque[float] = deque(maxlen=window)
        self._open: dict[int, Expected] = {}
        self._kinds: dict[str, int] = {}
        self.seen = 0

    def __len__(self) -> int:
        return len(self._logs)

    def kind(self, task: Task) -> int:
        """The number of a task's kind, in order of appearance."""
        return self._kinds.get(task.kind, len(self._kinds))

    def expect(self, task: Task, expected: Expected) -> None:
        """A task was decided: remember what is estimated of it until it has finished."""
        self._kinds.setdefault(task.kind, len(self._kinds))
        self._open[task.task_id] = expected
        if len(self._open) > _MOST_OPEN:
            del self._open[next(iter(self._open))]

    def observe(self, task: Task, outcome: Outcome) -> None:
        """A task has finished: note how far each part was off."""
        self.seen += 1
        expected = self._open.pop(task.task_id, None)
        if expected is None:
            return
        believed = expected.believed
        told_s, gpu_type = (believed[0], *believed[1].tolist()), 1 + int(believed[3][expected.gpu])
        share = outcome.gpu_fraction
        for device, took_s, part in ((0, outcome.cpu_s, 1.0 - share), (gpu_type, outcome.gpu_s, share)):
            believed_s = part * told_s[device]
            if took_s > 0.0 and believed_s > 0.0 and not outcome.out_of_memory:
                features = (task.size, task.compute_intensity, task.memory_required)
                self._rows.append(time_row(*features, self._kinds[task.kind], told_s[device], device))
                self._logs.append(math.log(took_s / believed_s))

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
            "kinds": list(self._kinds),
            "seen": self.seen,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        self._rows = deque(state["rows"], maxlen=self._window)
        self._logs = deque(state["logs"], maxlen=self._window)
        finished = state.get("done", ())  # before 0.3 some that had finished were kept
        self._open = {task: expected_again(one) for task, one in state["open"].items() if task not in finished}
        self._kinds = {name: place for place, name in enumerate(state["kinds"])}
        self.seen = state["seen"]


class TrainsSeconds:
    """Keeps the lessons of finished tasks, and the forest that was grown from them.

    Whoever inherits calls `_start_training` in `prepare`, and tells `_lessons` what was expected and what came of it.
    """

    name = "trains_seconds"
    online = True
    _guard = True

    def _start_training(self, seed: int, interval: int, window: int = WINDOW) -> None:
        """Start afresh: no lessons, no forest."""
        self._seed, self._interval = seed, interval
        self._lessons = TimeLessons(window)
        self._forest: TimeForest | None = None
        self._walked = walkable(None)
        self._trained_at = self._generation = 0
        self._rest = 1
        self.last_training: dict[str, Any] = {}

    def training_due(self) -> bool:
        """Whether enough tasks have finished since the last training began: the more, the less was found of late."""
        is_time = self._lessons.seen - self._trained_at >= self._rest * self._interval
        return self.online and is_time and len(self._lessons) >= 2 * LEAST_OBSERVATIONS

    def training_data(self) -> TimeData:
        """Hand out the observations; the next training is due a full interval later."""
        self._trained_at = self._lessons.seen
        self._generation += 1
        self._rest = min(2 * self._rest, MOST_REST)
        return self._lessons.data(HELD_OUT if self._guard else 0, self._generation)

    def fit(self, data: TimeData) -> TimeForest:
        """Grow a forest of corrections; touches nothing of the strategy."""
        rng = stream(self._seed, "scheduler", self.name, "fit", data.generation)
        return fit_time_forest(data.rows, data.logs, rng)

    def judge(self, model: TimeForest, data: TimeData) -> Verdict | None:
        """Errors of a new forest and of the present one (of none: of the belief alone) on what was held out."""
        if not len(data.held_logs):
            return None
        return Verdict(_error(model, data), _error(self._forest, data))

    def activate(self, model: TimeForest, data: TimeData) -> None:
        """Use a newly grown forest from the next decision on."""
        if model.share > 0.0:
            self._rest = 1
        self._forest, self._walked = model, walkable(model)
        self.last_training = {
            "generation": data.generation,
            "samples": model.samples,
            "error": model.fit_error,
            "share": model.share,
        }

    def model_facts(self, model: TimeForest, data: TimeData) -> ModelFacts:
        """How many observations a forest saw, and what it leaves unexplained on those it was not grown on."""
        return ModelFacts(len(data), model.fit_error)

    def _thought(self, task: Task, cluster: ClusterView, ready_s: float) -> Expected:
        """What the estimator believes of a task, corrected by the forest."""
        believed = task_terms(task, cluster)
        seconds = np.empty(1 + len(believed[1]) + len(believed[2]))
        traits = task.size, task.compute_intensity, self._lessons.kind(task)
        size_s = corrected_size(believed, *traits, self._walked, seconds)
        return Expected(ready_s, believed, seconds, task.divisible, 0.0, 0, size_s)

    def _corrected_terms(self, task: Task, cluster: ClusterView) -> TaskTerms:
        """The terms of a task with corrected seconds."""
        return TaskTerms(*self._thought(task, cluster, cluster.now_s).corrected)

    def _corrected(self, task: Task, believed: Terms) -> FloatColumn:
        """The seconds as the forest sees them, the CPU first."""
        seconds = np.array([believed[0], *believed[1]])
        if self._walked[0] != 0.0:
            traits = (task.size, task.compute_intensity, task.memory_required, self._lessons.kind(task))
            correct(*traits, self._walked, seconds, len(seconds))
        return seconds

    def _features(self, task: Task, terms: Terms) -> FloatColumn:
        """One row for each type of device, the CPU first."""
        kind, traits = self._lessons.kind(task), (task.size, task.compute_intensity, task.memory_required)
        seconds = (terms[0], *terms[1].tolist())
        return np.array([time_row(*traits, kind, one, device) for device, one in enumerate(seconds)])

    def _forest_words(self, task: Task, believed: Terms) -> dict[str, Any]:
        row = self._features(task, believed)[0]
        told: dict[str, Any] = {"features": dict(zip(TIME_FEATURES, row.tolist(), strict=True))}
        told["generation"] = self._generation
        if self._forest is not None:
            parts = self._forest.forest.contributions(row.astype(np.float32)) * self._forest.share
            told["contributions"] = dict(zip(("base", *TIME_FEATURES), parts.tolist(), strict=True))
            told["trained_on"], told["forest_share"] = self._forest.samples, self._forest.share
        return told

    def _training_state(self) -> dict[str, Any]:
        """Observations, forest and counters."""
        return {
            "lessons": self._lessons.capture(),
            "counters": (self._trained_at, self._generation, self._rest),
            "last_training": dict(self.last_training),
            "forest": None if self._forest is None else self._forest.payload(),
        }

    def _restore_training(self, state: Mapping[str, Any]) -> None:
        """Continue from what `_training_state` told."""
        self._lessons.restore(state["lessons"])
        self._trained_at, self._generation, self._rest = state["counters"]
        self.last_training = dict(state["last_training"])
        self._forest = None if state["forest"] is None else TimeForest.from_payload(state["forest"])
        self._walked = walkable(self._forest)


def _error(model: TimeForest | None, data: TimeData) -> float:
    """Root mean square of what is left unexplained, as a logarithm."""
    told = 0.0 if model is None else model.predict(data.held_rows)
    return math.sqrt(float(np.mean((data.held_logs - data.logs.mean() - told) ** 2)))


def seconds_words(believed: Terms, corrected: list[float]) -> dict[str, dict[str, float]]:
    """The seconds on every type of device as they are told and as the forest corrects them, by the type's name."""
    names = ("cpu", *(f"gpu_{place}" for place in range(len(believed[1]))))
    told = (believed[0], *believed[1].tolist())
    return {
        "believed_s": dict(zip(names, told, strict=True)),
        "corrected_s": dict(zip(names, corrected, strict=True)),
    }
