"""Hybrid ML: a Random Forest predicts the time-optimal share, then the best GPU for it is taken.

Sensible from the first task: the forest starts from labels of a synthetic sample of tasks. It is trained again
every `retrain_every` tasks on the last `window` labels; the label of a task is known from the next task on.
Whoever drives the race says when and where it is trained (`core.learners`). With `guard` a new forest decides only
where it is no worse than the present one on the newest labels, which are then kept out of its training.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np

from hybrid_ml_scheduler.core import (
    BatchRule,
    ClusterView,
    Decision,
    FloatColumn,
    ModelFacts,
    RaceContext,
    RuleKind,
    Task,
    TaskBatch,
    Verdict,
    stream,
)
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.learning.features import FEATURES, FeatureMatrix, feature_matrix, feature_row
from hybrid_ml_scheduler.learning.files import load_forest, save_forest
from hybrid_ml_scheduler.learning.forest import Engine, ForestKind, ForestModel, fit_forest
from hybrid_ml_scheduler.schedulers.forest.labels import fastest_fractions

__all__ = ["ShareForest", "TrainingData"]

WARM_START = 600
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


class ShareForest:
    """A forest for the share, weighted time and energy for the GPU."""

    name = "hybrid_ml"

    def __init__(
        self,
        retrain_every: int | None = None,
        window: int = 1000,
        kind: ForestKind = "random_forest",
        engine: Engine = "compiled",
        energy_weight: float = 0.5,
        online: bool = True,
        model: str | None = None,
        guard: bool = False,
    ) -> None:
        if (retrain_every is not None and retrain_every < 1) or window < 10:
            raise PlanError(f"hybrid_ml: retrain_every = {retrain_every} must be >= 1 and window = {window} >= 10.")
        if kind not in get_args(ForestKind) or engine not in get_args(Engine):
            raise PlanError(f"hybrid_ml: kind = {kind!r} or engine = {engine!r} is unknown.")
        if not 0.0 <= energy_weight <= 1.0:
            raise PlanError(f"hybrid_ml: energy_weight = {energy_weight:g} is outside [0, 1].")
        self._own_interval, self._window_size = retrain_every, window
        self._kind, self._engine = kind, engine
        self._energy_weight = energy_weight
        self.online, self._guard = online, guard
        self.learning = "online" if online else "frozen"
        self._given = load_forest(model)[0] if model else None
        self._model: ForestModel | None = self._given

    def prepare(self, context: RaceContext) -> None:
        """Start afresh, with a forest from labels of a synthetic sample (or the one given as a file)."""
        self._seed = context.seed
        self._estimator = context.estimator
        self._alike = context.estimator.gpus_alike  # the least loaded one is then the best
        self._retrain_every = self._own_interval or context.retrain_interval
        self._rows: deque[tuple[float, ...]] = deque(maxlen=self._window_size)
        self._labels: deque[float] = deque(maxlen=self._window_size)
        self._pending: list[tuple[Task, float]] = []
        self._seen = self._trained_at = self._generation = 0
        self._error_sum, self._error_count = 0.0, 0
        self.last_training: dict[str, Any] = {}
        self._model = self._given
        if self._model is None:
            self._warm_start()

    @property
    def model(self) -> ForestModel:
        """The forest in use."""
        if self._model is None:
            raise PlanError("hybrid_ml: prepare the strategy before using it.")
        return self._model

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Predict the share, take the GPU, and remember the task for the next training."""
        decision = self.preview(task, cluster)
        self._remember([task], [decision.gpu_fraction])
        return decision

    def rule_ahead(self, batch: TaskBatch) -> BatchRule | None:
        """The decisions for the next tasks, where GPUs are alike."""
        if not self._alike:
            return None
        features = feature_matrix(batch.size, batch.compute_intensity, batch.memory_required)
        fractions = np.clip(self.model.predict(features), 0.0, 1.0)
        self._remember(list(batch), fractions.tolist())
        return BatchRule(kind=RuleKind.PRESCRIBED, fractions=fractions)

    def _remember(self, tasks: list[Task], fractions: list[float]) -> None:
        """Keep decided tasks for the next training."""
        if self.online:
            self._pending += zip(tasks, fractions, strict=True)
            self._seen += len(tasks)
            if len(self._pending) >= self._window_size:  # nobody trains: keep no more than a window
                self._label_pending()

    def preview(self, task: Task, cluster: ClusterView) -> Decision:
        """The decision of the present forest; nothing is remembered."""
        fraction, spread = self.model.predict_one(feature_row(task.size, task.compute_intensity, task.memory_required))
        fraction = min(max(fraction, 0.0), 1.0)
        return Decision(
            gpu_fraction=fraction, gpu=self._gpu(task, fraction, cluster), confidence=max(0.0, 1.0 - 2.0 * spread)
        )

    def explain(self, task: Task, cluster: ClusterView) -> Mapping[str, Any]:
        """Prediction, spread of the trees and what each feature added."""
        features = feature_row(task.size, task.compute_intensity, task.memory_required)
        fraction, spread = self.model.predict_one(features)
        choice = "the least loaded GPU" if self._alike else "GPU by weighted time and energy"
        return {
            "reason": f"share predicted by the forest; {choice}",
            "gpu_fraction": fraction,
            "spread": spread,
            "confidence": max(0.0, 1.0 - 2.0 * spread),
            "features": dict(zip(FEATURES, features, strict=True)),
            "contributions": self.model.contributions(features),
            "gpu": self._gpu(task, min(max(fraction, 0.0), 1.0), cluster),
            "trained_on": self.model.samples,
            "generation": self._generation,
        }

    def training_due(self) -> bool:
        """Whether enough tasks were seen since the last training began."""
        return self.online and self._seen - self._trained_at >= self._retrain_every

    def training_data(self) -> TrainingData:
        """Label what is new and hand out the window; the next training is due a full interval later."""
        self._label_pending()
        self._trained_at = self._seen
        self._generation += 1
        error = self._error_sum / self._error_count if self._error_count else None
        self._error_sum, self._error_count = 0.0, 0
        features, fractions = np.array(self._rows), np.array(self._labels)
        # Neither forest may know what they are judged by; half of the window at least is for learning.
        held = min(self._retrain_every, len(fractions) // 2) if self._guard else 0
        known = len(fractions) - held
        return TrainingData(
            features=features[:known],
            fractions=fractions[:known],
            generation=self._generation,
            recent_error=error,
            held_features=features[known:],
            held_fractions=fractions[known:],
        )

    def fit(self, data: TrainingData) -> ForestModel:
        """Train a forest on the data; touches nothing of the strategy."""
        rng = stream(self._seed, "scheduler", self.name, "fit", data.generation)
        return fit_forest(data.features, data.fractions, rng, kind=self._kind, engine=self._engine)

    def activate(self, model: ForestModel, data: TrainingData) -> None:
        """Use a newly trained forest from the next decision on."""
        self._model = model
        self.last_training = {
            "generation": data.generation,
            "samples": model.samples,
            "error": data.recent_error if data.recent_error is not None else model.fit_error,
            "fit_error": model.fit_error,
        }

    def model_facts(self, model: ForestModel, data: TrainingData) -> ModelFacts:
        """How many labels a forest saw, and how far the forest before it was off on those that came since."""
        return ModelFacts(model.samples, model.fit_error if data.recent_error is None else data.recent_error)

    def fingerprint(self, model: ForestModel) -> str:
        """Equal forests with equal scales have equal fingerprints."""
        return model.fingerprint()

    def judge(self, model: ForestModel, data: TrainingData) -> Verdict | None:
        """The mean errors of a new forest and of the present one on the labels that were held out."""
        if not len(data.held_fractions):
            return None
        errors = [np.abs(one.predict(data.held_features) - data.held_fractions).mean() for one in (model, self.model)]
        return Verdict(*map(float, errors))

    def save_model(self, path: str | Path) -> None:
        """Write the forest with its scaler and where it came from."""
        save_forest(self.model, path, {"seed": self._seed, "generation": self._generation})

    def load_model(self, path: str | Path) -> None:
        """Use a stored forest; a file that is refused leaves the present one in place."""
        self._model = load_forest(path)[0]

    def use(self, model: ForestModel) -> None:
        """Decide with this forest from now on."""
        self._model = model

    def capture(self) -> Mapping[str, Any]:
        """The window, the forest and the counters."""
        self._label_pending()
        return {
            "rows": list(self._rows),
            "labels": list(self._labels),
            "counters": (self._seen, self._trained_at, self._generation, self._error_sum, self._error_count),
            "last_training": dict(self.last_training),
            "model": self.model.payload(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state."""
        self._rows.clear()
        self._labels.clear()
        self._rows.extend(state["rows"])
        self._labels.extend(state["labels"])
        self._pending.clear()
        counters = state["counters"]
        self._seen, self._trained_at, self._generation, self._error_sum, self._error_count = counters
        self.last_training = dict(state["last_training"])
        self._model = ForestModel.from_payload(state["model"])

    def _label_pending(self) -> None:
        if not self._pending:
            return
        batch = TaskBatch.from_tasks([task for task, _ in self._pending])
        labels = self._learn_labels(batch)
        for (_, fraction), label in zip(self._pending, labels, strict=True):
            self._error_sum += abs(fraction - label)
        self._error_count += len(labels)
        self._pending.clear()

    def _learn_labels(self, batch: TaskBatch) -> list[float]:
        """Put the tasks into the window with their best shares, and return these."""
        labels: list[float] = fastest_fractions(self._estimator.batch_terms(batch)).tolist()
        self._rows += map(tuple, feature_matrix(batch.size, batch.compute_intensity, batch.memory_required).tolist())
        self._labels += labels
        return labels

    def _gpu(self, task: Task, fraction: float, cluster: ClusterView) -> int:
        """The GPU for a share: among equal ones the least loaded, otherwise the best by time and energy."""
        return cluster.least_loaded_gpu if self._alike else self._best_gpu(task, fraction, cluster)

    def _best_gpu(self, task: Task, fraction: float, cluster: ClusterView) -> int:
        """The GPU with the least weighted sum of completion and energy, each relative to the best GPU."""
        estimator = cluster.estimator
        gpus = range(estimator.num_gpus)
        times = [cluster.completion_s(task, fraction, gpu) for gpu in gpus]
        joules = [estimator.energy_j(estimator.parts(task, fraction, gpu), gpu) for gpu in gpus]
        least_s, least_j = max(min(times), 1e-12), max(min(joules), 1e-12)
        weight = self._energy_weight
        scores = [(1.0 - weight) * t / least_s + weight * j / least_j for t, j in zip(times, joules, strict=True)]
        return scores.index(min(scores))

    def _warm_start(self) -> None:
        rng = stream(self._seed, "scheduler", self.name, "warm start")
        count = min(WARM_START, self._window_size)
        sizes = np.exp(rng.uniform(math.log(WARM_SIZE[0]), math.log(WARM_SIZE[1]), count))
        memories = np.exp(rng.uniform(math.log(WARM_MEMORY_MB[0]), math.log(WARM_MEMORY_MB[1]), count))
        self._learn_labels(
            TaskBatch.from_columns(
                size=sizes,
                compute_intensity=rng.random(count),
                memory_required=memories,
                arrival_time=np.zeros(count),
            )
        )
        data = TrainingData(
            features=np.array(self._rows), fractions=np.array(self._labels), generation=0, recent_error=None
        )
        self.activate(self.fit(data), data)
