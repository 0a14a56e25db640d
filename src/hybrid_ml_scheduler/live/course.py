"""What is raced: everything that decides the numbers, and nothing about where or how fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hybrid_ml_scheduler.core.knowledge import EXACT, Level
from hybrid_ml_scheduler.core.limits import MOST_OPEN
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.physics.truth import Truth
from hybrid_ml_scheduler.workload import WorkloadParameters

__all__ = ["Course", "Retraining"]

Retraining = Literal["background", "synchronous"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One race: the same course and the same events give the same rows, to the last digit."""

    seed: int
    node: Node
    preset: str
    workload: WorkloadParameters
    schedulers: tuple[str, ...]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    retrain_interval: int = 50
    retraining: Retraining = "background"
    most_open: int = MOST_OPEN
    knowledge: Level = EXACT
    truth: Truth = field(default_factory=Truth)
