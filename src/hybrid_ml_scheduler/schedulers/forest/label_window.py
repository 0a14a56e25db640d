"""The window of labels that the share forest is trained on, and how far it was off on those that came since."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import Estimator, FloatColumn, Task, TaskBatch
from hybrid_ml_scheduler.learning.features import FEATURES, FeatureMatrix, feature_matrix
from hybrid_ml_scheduler.schedulers.forest.labels import fastest_fractions

__all__ = ["LabelWindow", "TrainingData", "synthetic_tasks"]

WARM_SIZE = (50.0, 10_000.0)
WARM_MEMORY_MB = (1.0, 10_000.0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrainingData:
    """What one training needs, apart from the strategy, so that it can run in another thread."""

    features: FeatureMatrix
    fractions: FloatColumn
    generation: int
    recent_error: float | None
    held_features: FeatureMatrix = field(default_factory=lambda: np.empty((0, len(FEATURES))))
    held_fractions: FloatColumn = field(default_factory=lambda: np.empty(0))


class LabelWindow:
    """The latest tasks with their best shares. Decided tasks wait here for their label, which one call gives to all."""

    def __init__(self, size: int, estimator: Estimator) -> None:
        self._size, self._estimator = size, estimator
        self._rows: deque[tuple[float, ...]] = deque(maxlen=size)
        self._labels: deque[float] = deque(maxlen=size)
        self._pending: list[tuple[Task, float]] = []
        self._error_sum, self._error_count = 0.0, 0

    def remember(self, tasks: Sequence[Task], fractions: Sequence[float]) -> None:
        """Keep decided tasks and the shares they were given for the next training."""
        self._pending += zip(tasks, fractions, strict=True)
        if len(self._pending) >= self._size:  # nobody trains: keep no more than a window
            self.label_pending()

    def label_pending(self) -> None:
        """Label the tasks that were decided since the last time, and count how far their shares were off."""
        if not self._pending:
            return
        labels = self.learn(TaskBatch.from_tasks([task for task, _ in self._pending]))
        for (_, fraction), label in zip(self._pending, labels, strict=True):
            self._error_sum += abs(fraction - label)
        self._error_count += len(labels)
        self._pending.clear()

    def learn(self, batch: TaskBatch) -> list[float]:
        """Put tasks into the window with their best shares, and return these."""
        labels: list[float] = fastest_fractions(self._estimator.batch_terms(batch)).tolist()
        self._rows += map(tuple, feature_matrix(batch.size, batch.compute_intensity, batch.memory_required).tolist())
        self._labels += labels
        return labels

    def data(self, generation: int, most_held: int) -> TrainingData:
        """Hand out the window. The newest labels are held out: neither forest may know what they are judged by."""
        self.label_pending()
        error = self._error_sum / self._error_count if self._error_count else None
        self._error_sum, self._error_count = 0.0, 0
        features, fractions = np.array(self._rows), np.array(self._labels)
        known = len(fractions) - min(most_held, len(fractions) // 2)  # half at least is for learning
        return TrainingData(
            features=features[:known],
            fractions=fractions[:known],
            generation=generation,
            recent_error=error,
            held_features=features[known:],
            held_fractions=fractions[known:],
        )

    def capture(self) -> tuple[dict[str, Any], tuple[float, int]]:
        """The labelled window, and the sum and number of errors since the last training."""
        self.label_pending()
        return {"rows": list(self._rows), "labels": list(self._labels)}, (self._error_sum, self._error_count)

    def restore(self, state: Mapping[str, Any], errors: tuple[float, int]) -> None:
        """Continue exactly from a captured state."""
        self._rows.clear()
        self._labels.clear()
        self._rows.extend(state["rows"])
        self._labels.extend(state["labels"])
        self._pending.clear()
        self._error_sum, self._error_count = errors


def synthetic_tasks(rng: np.random.Generator, count: int) -> TaskBatch:
    """Tasks of every size, intensity and memory, from which a forest starts that has seen no task yet."""
    sizes = np.exp(rng.uniform(math.log(WARM_SIZE[0]), math.log(WARM_SIZE[1]), count))
    memories = np.exp(rng.uniform(math.log(WARM_MEMORY_MB[0]), math.log(WARM_MEMORY_MB[1]), count))
    return TaskBatch.from_columns(
        size=sizes,
        compute_intensity=rng.random(count),
        memory_required=memories,
        arrival_time=np.zeros(count),
    )
