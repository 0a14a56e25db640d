"""The nouns of the product: tasks, decisions, outcomes, contracts, errors and random streams."""

from __future__ import annotations

from hybrid_ml_scheduler.core.capabilities import with_foresight, with_rule
from hybrid_ml_scheduler.core.decisions import CPU_ONLY, NO_GPU, Decision, Outcome, Parts, device_name
from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.core.protocols import (
    BatchRule,
    ClusterView,
    Estimator,
    Explains,
    Foresees,
    HasRule,
    Learns,
    Prepares,
    RaceContext,
    Rank,
    Remembers,
    RuleKind,
    Scheduler,
)
from hybrid_ml_scheduler.core.streams import stream
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn, Task, TaskBatch
from hybrid_ml_scheduler.core.terms import TaskTerms, Terms
from hybrid_ml_scheduler.core.validation import parent_rows, validated

__all__ = [
    "CPU_ONLY",
    "NO_GPU",
    "BatchRule",
    "ClusterView",
    "Decision",
    "Estimator",
    "Explains",
    "FloatColumn",
    "Foresees",
    "HasRule",
    "HmsError",
    "IntColumn",
    "Learns",
    "Outcome",
    "Parts",
    "Prepares",
    "RaceContext",
    "Rank",
    "Remembers",
    "RuleKind",
    "Scheduler",
    "Task",
    "TaskBatch",
    "TaskTerms",
    "Terms",
    "device_name",
    "parent_rows",
    "stream",
    "validated",
    "with_foresight",
    "with_rule",
]
