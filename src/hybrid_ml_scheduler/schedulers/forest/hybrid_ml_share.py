"""Hybrid ML share, the classic form: a Random Forest predicts the time-optimal share, then the best GPU is taken.

Sensible from the first task: the forest starts from labels of a synthetic sample of tasks. It is trained again
every `retrain_every` tasks on the last `window` labels; the label of a task is known from the next task on.
Whoever drives the race says when and where it is trained (`core.learners`). With `guard` a new forest decides only
where it is no worse than the present one on the newest labels, which are then kept out of its training.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import numpy as np

from hybrid_ml_scheduler.core import (
    BatchRule,
    ClusterView,
    Decision,
    ModelFacts,
    RaceContext,
    RuleKind,
    Task,
    TaskBatch,
    Verdict,
    stream,
)
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.learning.features import FEATURES, feature_matrix, feature_row
from hybrid_ml_scheduler.learning.files import load_forest, save_forest
from hybrid_ml_scheduler.learning.forest import Engine, ForestKind, ForestModel, fit_forest
from hybrid_ml_scheduler.schedulers.forest.label_window import LabelWindow, TrainingData, synthetic_tasks

__all__ = ["HybridMlShare"]

WARM_START = 600
# Random numbers are drawn under the name that this strategy had before 0.3, so that its results stay the same.
_DRAWN_AS = "hybrid_ml"


class HybridMlShare:
    """A forest for the share, weighted time and energy for the GPU."""

    name = "hybrid_ml_share"

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
            raise PlanError(
                f"hybrid_ml_share: retrain_every = {retrain_every} must be >= 1 and window = {window} >= 10."
            )
        if kind not in get_args(ForestKind) or engine not in get_args(Engine):
            raise PlanError(f"hybrid_ml_share: kind = {kind!r} or engine = {engine!r} is unknown.")
        if not 0.0 <= energy_weight <= 1.0:
            raise PlanError(f"hybrid_ml_share: energy_weight = {energy_weight:g} is outside [0, 1].")
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
        self._alike = context.estimator.gpus_alike  # the least loaded one is then the best
        self._retrain_every = self._own_interval or context.retrain_interval
        self._window = LabelWindow(self._window_size, context.estimator)
        self._seen = self._trained_at = self._generation = 0
        self.last_training: dict[str, Any] = {}
        self._model = self._given
        if self._model is None:
            rng = stream(self._seed, "scheduler", _DRAWN_AS, "warm start")
            self._window.learn(synthetic_tasks(rng, min(WARM_START, self._window_size)))
            data = self._window.data(generation=0, most_held=0)
            self.activate(self.fit(data), data)

    @property
    def model(self) -> ForestModel:
        """The forest in use."""
        if self._model is None:
            raise PlanError("hybrid_ml_share: prepare the strategy before using it.")
        return self._model

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Predict the share, take the GPU, and remember the task for the next training."""
        decision = self.preview(task, cluster)
        if self.online:
            self._seen += 1
            self._window.remember([task], [decision.gpu_fraction])
        return decision

    def rule_ahead(self, batch: TaskBatch) -> BatchRule | None:
        """The decisions for the next tasks, where GPUs are alike."""
        if not self._alike:
            return None
        features = feature_matrix(batch.size, batch.compute_intensity, batch.memory_required)
        fractions = np.clip(self.model.predict(features), 0.0, 1.0)
        if self.online:
            self._seen += len(batch)
            self._window.remember(list(batch), fractions.tolist())
        return BatchRule(kind=RuleKind.PRESCRIBED, fractions=fractions)

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
        self._trained_at = self._seen
        self._generation += 1
        return self._window.data(self._generation, self._retrain_every if self._guard else 0)

    def fit(self, data: TrainingData) -> ForestModel:
        """Train a forest on the data; touches nothing of the strategy."""
        rng = stream(self._seed, "scheduler", _DRAWN_AS, "fit", data.generation)
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
        window, errors = self._window.capture()
        return {
            **window,
            "counters": (self._seen, self._trained_at, self._generation, *errors),
            "last_training": dict(self.last_training),
            "model": self.model.payload(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state."""
        self._seen, self._trained_at, self._generation, *errors = state["counters"]
        self._window.restore(state, (errors[0], errors[1]))
        self.last_training = dict(state["last_training"])
        self._model = ForestModel.from_payload(state["model"])

    def _gpu(self, task: Task, fraction: float, cluster: ClusterView) -> int:
        """The GPU for a share: among equal ones the least loaded, otherwise the best by time and energy."""
        return cluster.least_loaded_gpu if self._alike else _best_gpu(task, fraction, cluster, self._energy_weight)


def _best_gpu(task: Task, fraction: float, cluster: ClusterView, energy_weight: float) -> int:
    """The GPU with the least weighted sum of completion and energy, each relative to the best GPU."""
    estimator = cluster.estimator
    gpus = range(estimator.num_gpus)
    times = [cluster.completion_s(task, fraction, gpu) for gpu in gpus]
    joules = [estimator.energy_j(estimator.parts(task, fraction, gpu), gpu) for gpu in gpus]
    least_s, least_j = max(min(times), 1e-12), max(min(joules), 1e-12)
    weight = energy_weight
    scores = [(1.0 - weight) * t / least_s + weight * j / least_j for t, j in zip(times, joules, strict=True)]
    return scores.index(min(scores))
