"""A learner as somebody else would write it, in one file: it believes in the mean best share of the latest tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybrid_ml_scheduler.core import ClusterView, Decision, ModelFacts, RaceContext, Task


class MeanShare:
    """Gives every task the share that would have been best for the latest ones on average."""

    name = "mean_share"

    def prepare(self, context: RaceContext) -> None:
        """Start afresh."""
        self._interval = context.retrain_interval
        self._shares: list[float] = []
        self._model = {"share": 0.5}
        self._new = 0

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Decide by the present model, and remember what would have been best."""
        terms = cluster.estimator.terms(task)
        self._shares = [*self._shares[-199:], terms.cpu_s / (terms.cpu_s + float(terms.gpu_s[0]))]
        self._new += 1
        return Decision(gpu_fraction=self._model["share"])

    def explain(self, task: Task, cluster: ClusterView) -> Mapping[str, Any]:
        """Say why."""
        return {"reason": "the mean best share of the latest tasks", "gpu_fraction": self._model["share"]}

    def training_due(self) -> bool:
        """After every interval."""
        return self._new >= self._interval

    def training_data(self) -> list[float]:
        """The latest shares."""
        self._new = 0
        return list(self._shares)

    def fit(self, data: list[float]) -> dict[str, float]:
        """Their mean."""
        return {"share": sum(data) / len(data)}

    def activate(self, model: dict[str, float], data: list[float]) -> None:
        """Believe in it."""
        self._model = model

    def model_facts(self, model: dict[str, float], data: list[float]) -> ModelFacts:
        """How far the shares were from their mean."""
        return ModelFacts(len(data), sum(abs(share - model["share"]) for share in data) / len(data))

    def capture(self) -> Mapping[str, Any]:
        """All of it."""
        return {"shares": list(self._shares), "model": dict(self._model), "new": self._new}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on."""
        self._shares, self._model, self._new = list(state["shares"]), dict(state["model"]), state["new"]
