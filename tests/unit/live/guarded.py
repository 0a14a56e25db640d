"""A learner whose models are good or bad as it is told: its guard has something to refuse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybrid_ml_scheduler.core import ClusterView, Decision, RaceContext, Task, Verdict

TURNS = (0.4, 0.3, 0.5, 0.3, 0.2)


class Guarded:
    """Its models have these errors, one after the other: the third is worse than the second."""

    name = "guarded"

    def prepare(self, context: RaceContext) -> None:
        """Start afresh."""
        self._interval, self._new, self._turn, self._error = context.retrain_interval, 0, 0, 0.9

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """The share tells which model decides."""
        self._new += 1
        return Decision(gpu_fraction=self._error)

    def training_due(self) -> bool:
        """After every interval."""
        return self._new >= self._interval

    def training_data(self) -> int:
        """Which turn it is."""
        self._new, self._turn = 0, self._turn + 1
        return self._turn

    def fit(self, data: int) -> float:
        """The model of this turn."""
        return TURNS[(data - 1) % len(TURNS)]

    def activate(self, model: float, data: int) -> None:
        """Decide with it."""
        self._error = model

    def judge(self, model: float, data: int) -> Verdict:
        """A model is its error."""
        return Verdict(model, self._error)

    def capture(self) -> Mapping[str, Any]:
        """All of it."""
        return {"state": (self._new, self._turn, self._error)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on."""
        self._new, self._turn, self._error = state["state"]
