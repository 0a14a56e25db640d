"""Device parameters and pure functions to seconds, joules and dollars."""

from __future__ import annotations

from hybrid_ml_scheduler.physics.durations import Durations, durations
from hybrid_ml_scheduler.physics.energy import Tariff
from hybrid_ml_scheduler.physics.estimator import PhysicsEstimator, TaskSeconds
from hybrid_ml_scheduler.physics.node import (
    CoExecution,
    CostModel,
    Cpu,
    Curves,
    Gpu,
    MemoryRule,
    Node,
    SpeedupLaw,
)
from hybrid_ml_scheduler.physics.optimum import best_execution_s

__all__ = [
    "CoExecution",
    "CostModel",
    "Cpu",
    "Curves",
    "Durations",
    "Gpu",
    "MemoryRule",
    "Node",
    "PhysicsEstimator",
    "SpeedupLaw",
    "Tariff",
    "TaskSeconds",
    "best_execution_s",
    "durations",
]
