"""Strategies: one a file, a registry of all of them, and the conformance check for authors."""

from __future__ import annotations

from hybrid_ml_scheduler.schedulers.conformance import check_scheduler
from hybrid_ml_scheduler.schedulers.own_code import contain, printing_apart, strategy_errors, strategy_errors_at
from hybrid_ml_scheduler.schedulers.registry import (
    DEFAULT_RACE,
    SchedulerEntry,
    absolute_spec,
    available,
    create,
    find,
    options_for,
)

__all__ = [
    "DEFAULT_RACE",
    "SchedulerEntry",
    "absolute_spec",
    "available",
    "check_scheduler",
    "contain",
    "create",
    "find",
    "options_for",
    "printing_apart",
    "strategy_errors",
    "strategy_errors_at",
]
