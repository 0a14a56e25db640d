"""What a forest learns of seconds that are believed: shared by strategies that decide at once and those that hold.

Training is driven from outside (`core.learners`); a new forest decides only where it is no worse than the present one
on the newest observations, which neither was grown on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import ClusterView, ModelFacts, Task, Verdict, stream
from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.core.terms import Terms
from hybrid_ml_scheduler.learning.time_forest import (
    TIME_FEATURES,
    TimeForest,
    correct,
    fit_time_forest,
    time_row,
    walkable,
)
from hybrid_ml_scheduler.schedulers.forest.corrected_choice import corrected_size
from hybrid_ml_scheduler.schedulers.forest.time_lessons import Expected, TimeData, TimeLessons
from hybrid_ml_scheduler.schedulers.grid import task_terms

__all__ = ["WINDOW", "TrainsSeconds", "seconds_words"]

WINDOW = 1000  # so many of the newest observations are learned from
LEAST_OBSERVATIONS = 40
HELD_OUT = 50
MOST_REST = 32  # a forest that finds nothing is grown ever more seldom, down to once in so many intervals


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
        return Expected(ready_s, believed, seconds, task.divisible, 0.0, 0, 0.0, 0.0, size_s, 0.0)

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
