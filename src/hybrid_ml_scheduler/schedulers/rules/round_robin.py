"""Round robin: blind alternation between the GPUs in turn and the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import (
    CPU_ONLY,
    NO_GPU,
    BatchRule,
    ClusterView,
    Decision,
    RaceContext,
    RuleKind,
    Task,
    TaskBatch,
)
from hybrid_ml_scheduler.core.errors import PlanError

__all__ = ["RoundRobin"]


class RoundRobin:
    """In order of decision: GPU 0, CPU, GPU 1, CPU, and so on.

    The variant `half` gives a share of 0.5 to even task ids and 0 to odd ones.
    """

    name = "round_robin"

    def __init__(self, variant: str = "turn") -> None:
        if variant not in ("turn", "half"):
            raise PlanError(f"round_robin: variant = {variant!r} must be 'turn' or 'half'.")
        self._half = variant == "half"
        self._num_gpus = 1
        self._decided = 0

    def prepare(self, context: RaceContext) -> None:
        """Learn the number of GPUs and start with the first one."""
        self._num_gpus, self._decided = context.num_gpus, 0

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Take the next device in turn."""
        if self._half:
            return CPU_ONLY if task.task_id % 2 else Decision(gpu_fraction=0.5)
        turn, self._decided = self._decided, self._decided + 1
        if turn % 2:
            return CPU_ONLY
        return Decision(gpu_fraction=1.0, gpu=(turn // 2) % self._num_gpus)

    def rule(self, batch: TaskBatch) -> BatchRule:
        """The compiled form, by order of decision; the turn moves on, so that the next chunk continues it."""
        if self._half:
            fractions = np.where(batch.task_id % 2 == 0, 0.5, 0.0)
            return BatchRule(kind=RuleKind.PRESCRIBED, fractions=fractions)
        turn = np.arange(self._decided, self._decided + len(batch))
        self._decided += len(batch)
        return BatchRule(
            kind=RuleKind.PRESCRIBED,
            fractions=np.where(turn % 2 == 0, 1.0, 0.0),
            gpus=np.where(turn % 2 == 0, (turn // 2) % self._num_gpus, NO_GPU),
            by_decision=True,
        )

    rule_ahead = rule

    def capture(self) -> Mapping[str, Any]:
        """Whose turn it is."""
        return {"decided": self._decided}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue with the captured turn."""
        self._decided = state["decided"]
