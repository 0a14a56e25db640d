"""Readers of public trace formats: what a file says, completed by named assumptions."""

from __future__ import annotations

from hybrid_ml_scheduler.workload.traces.dialects import DIALECTS, OWN, Dialect, detected, dialect_named
from hybrid_ml_scheduler.workload.traces.filling import completed
from hybrid_ml_scheduler.workload.traces.options import TraceOptions

__all__ = ["DIALECTS", "OWN", "Dialect", "TraceOptions", "completed", "detected", "dialect_named"]
