"""How the agent does while it is being trained: runs on workloads of training seeds, for the learning curves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core import FloatColumn
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.file_tasks import TaskSource
from hybrid_ml_scheduler.training.judging import FrozenAgent, agent_ratio
from hybrid_ml_scheduler.training.training_log import TrainingLog

__all__ = ["CHECKED_LOADS", "AgentCheck"]

CHECKED_LOADS = (0.5, 0.8, 0.95)
SEEDS = 2
MOST_TASKS = 5_000


class AgentCheck:
    """Always the same tasks, so that only the weights make a difference; no test seed is touched."""

    def __init__(self, law: TaskSource, node: Node, training_profile: FloatColumn, seed: int, tasks: int) -> None:
        self._law, self._node, self._training_profile = law, node, training_profile
        self._seeds, self._tasks = range(seed, seed + SEEDS), min(tasks, MOST_TASKS)

    def run(self, weights: npt.NDArray[np.float32], step: int, log: TrainingLog) -> None:
        """Add the latency relative to `earliest_device` at each load to the curves."""
        for load in CHECKED_LOADS:
            agent = FrozenAgent(weights, self._training_profile)
            ratios = agent_ratio(agent, self._law, self._node, load, self._seeds, self._tasks)
            log.point(f"latency_vs_earliest_device_at_{load:g}", step, float(np.mean(ratios)))
