"""Training of the forest of `hybrid_ml_share`, with what a reader wants to know of it: how good, how soon, by what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, stream
from hybrid_ml_scheduler.learning import FEATURES, ForestModel, fit_forest
from hybrid_ml_scheduler.learning.features import FeatureMatrix, feature_matrix
from hybrid_ml_scheduler.learning.forest import ForestKind
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.file_tasks import TaskSource, tasks_of
from hybrid_ml_scheduler.schedulers.forest.labels import best_fractions
from hybrid_ml_scheduler.training.judging import forest_ratio

__all__ = ["ForestTraining", "label_tasks", "sizes_up_to", "train_forest"]

LEAST_SAMPLES = 50
MOST_SIZES = 7
JUDGED_SEEDS = range(5)  # below every training seed
JUDGED_TASKS = 5_000
UNSEEN_SEED = 5
UNSEEN_TASKS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ForestTraining:
    """A trained forest, and how it does on tasks that no training saw."""

    model: ForestModel
    best: FloatColumn
    predicted: FloatColumn
    curve: dict[int, list[float]]
    importance: dict[str, float]

    @property
    def ratios(self) -> list[float]:
        """Execution time over the optimum, one number a seed, of the whole forest."""
        return self.curve[self.model.samples]

    @property
    def unseen_error(self) -> float:
        """Mean distance between predicted and best share."""
        return float(np.abs(self.predicted - self.best).mean())


def sizes_up_to(tasks: int) -> list[int]:
    """How many tasks the forests of the learning curve see: evenly spread on a logarithmic scale, the last sees all."""
    return sorted({int(size) for size in np.geomspace(min(LEAST_SAMPLES, tasks), tasks, MOST_SIZES).round()})


def train_forest(
    law: TaskSource,
    node: Node,
    seed: int,
    tasks: int,
    kind: ForestKind = "random_forest",
    step: Callable[[], None] = lambda: None,
) -> ForestTraining:
    """Fit forests to more and more labelled tasks and judge each; `step` is called after each and at the end."""
    features, shares = label_tasks(law, node, seed, tasks)
    curve: dict[int, list[float]] = {}
    for size in sizes_up_to(tasks):
        model = fit_forest(features[:size], shares[:size], stream(seed, "training", "hybrid_ml"), kind=kind)
        curve[size] = forest_ratio(model, law, node, JUDGED_SEEDS, JUDGED_TASKS)
        step()
    unseen, best = label_tasks(law, node, UNSEEN_SEED, UNSEEN_TASKS)
    predicted = np.clip(model.predict(unseen), 0.0, 1.0)
    importance = _importance(model, unseen, best, seed)
    step()
    return ForestTraining(model=model, best=best, predicted=predicted, curve=curve, importance=importance)


def _importance(model: ForestModel, unseen: FeatureMatrix, best: FloatColumn, seed: int) -> dict[str, float]:
    """How much the mean error grows when one feature is shuffled among the tasks and so tells nothing any more."""
    rng = stream(seed, "training", "importance")
    plain = _error(model, unseen, best)
    found = {}
    for place, name in enumerate(FEATURES):
        shuffled = unseen.copy()
        shuffled[:, place] = rng.permutation(shuffled[:, place])
        found[name] = _error(model, shuffled, best) - plain
    return found


def _error(model: ForestModel, features: FeatureMatrix, best: Sequence[float] | FloatColumn) -> float:
    return float(np.abs(model.predict(features) - best).mean())


def label_tasks(law: TaskSource, node: Node, seed: int, count: int) -> tuple[FeatureMatrix, FloatColumn]:
    """Features and best shares of generated tasks."""
    batch = tasks_of(law, seed, count)
    features = feature_matrix(batch.size, batch.compute_intensity, batch.memory_required)
    return features, best_fractions(batch, node)
