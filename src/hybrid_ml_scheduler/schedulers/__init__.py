"""Strategies: one a file, a registry of all of them, and the conformance check for authors."""

from __future__ import annotations

from hybrid_ml_scheduler.schedulers.conformance import check_scheduler
from hybrid_ml_scheduler.schedulers.registry import (
    DEFAULT_RACE,
    SchedulerEntry,
    accused,
    available,
    blamed,
    create,
    find,
    located,
)

__all__ = [
    "DEFAULT_RACE",
    "SchedulerEntry",
    "accused",
    "available",
    "blamed",
    "check_scheduler",
    "create",
    "find",
    "located",
]
