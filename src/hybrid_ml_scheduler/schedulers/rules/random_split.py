"""Random: a uniform share on a uniform GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybrid_ml_scheduler.core import BatchRule, ClusterView, Decision, RaceContext, RuleKind, Task, TaskBatch, stream

__all__ = ["RandomSplit"]


class RandomSplit:
    """Draws the share and the GPU for every task, from its own seeded stream."""

    name = "random"

    def __init__(self) -> None:
        self._rng = stream(0, "scheduler", self.name)
        self._num_gpus = 1

    def prepare(self, context: RaceContext) -> None:
        """Start the stream that belongs to the race's seed."""
        self._rng = stream(context.seed, "scheduler", self.name)
        self._num_gpus = context.num_gpus

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Draw a share and a GPU: always two numbers, so that the batch form draws the same ones."""
        fraction, place = self._rng.random(2).tolist()
        return Decision(gpu_fraction=fraction, gpu=int(place * self._num_gpus))

    def rule(self, batch: TaskBatch) -> BatchRule:
        """The compiled form: the same draws in the same order, by order of decision."""
        draws = self._rng.random((len(batch), 2))
        return BatchRule(
            kind=RuleKind.PRESCRIBED,
            fractions=draws[:, 0].copy(),
            gpus=(draws[:, 1] * self._num_gpus).astype("int64"),
            by_decision=True,
        )

    rule_ahead = rule

    def capture(self) -> Mapping[str, Any]:
        """Where the stream stands."""
        return {"rng": self._rng.bit_generator.state}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue the captured stream."""
        self._rng.bit_generator.state = state["rng"]
