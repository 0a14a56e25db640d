"""The nouns of the product: tasks, decisions, outcomes, contracts, errors and random streams."""

from __future__ import annotations

from hybrid_ml_scheduler.core.decisions import CPU_ONLY, NO_GPU, Decision, Outcome, Parts, device_name, held_gpus
from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.core.learners import ModelFacts, TrainsApart, Verdict, train_if_due
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
    Remembers,
    RuleKind,
    Scheduler,
    with_foresight,
    with_rule,
)
from hybrid_ml_scheduler.core.reproducible import stream
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn, Task, TaskBatch
from hybrid_ml_scheduler.core.terms import BatchTerms, TaskTerms, Terms
from hybrid_ml_scheduler.core.validation import parent_rows, validate_batch

__all__ = [
    "CPU_ONLY",
    "NO_GPU",
    "BatchRule",
    "BatchTerms",
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
    "ModelFacts",
    "Outcome",
    "Parts",
    "Prepares",
    "RaceContext",
    "Remembers",
    "RuleKind",
    "Scheduler",
    "Task",
    "TaskBatch",
    "TaskTerms",
    "Terms",
    "TrainsApart",
    "Verdict",
    "device_name",
    "held_gpus",
    "parent_rows",
    "stream",
    "train_if_due",
    "validate_batch",
    "with_foresight",
    "with_rule",
]
