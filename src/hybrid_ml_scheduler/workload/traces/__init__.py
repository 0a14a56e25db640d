"""Readers of public trace formats: what a file says, completed by named assumptions."""

from __future__ import annotations

from hybrid_ml_scheduler.workload.traces.dialects import DIALECTS, OWN, Dialect, detect_dialect, dialect_named
from hybrid_ml_scheduler.workload.traces.filling import complete_records
from hybrid_ml_scheduler.workload.traces.options import TraceOptions

__all__ = ["DIALECTS", "OWN", "Dialect", "TraceOptions", "complete_records", "detect_dialect", "dialect_named"]
