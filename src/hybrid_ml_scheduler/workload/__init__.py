"""Tasks: generated from seeded laws, or read from files; always a `TaskBatch`."""

from __future__ import annotations

from hybrid_ml_scheduler.workload.csv_file import read_csv, write_csv
from hybrid_ml_scheduler.workload.description import describe
from hybrid_ml_scheduler.workload.generator import TaskStream, generate
from hybrid_ml_scheduler.workload.loading import load, resolve
from hybrid_ml_scheduler.workload.parameters import WorkloadParameters
from hybrid_ml_scheduler.workload.parts import Part
from hybrid_ml_scheduler.workload.presets import DEFAULT_PRESET, PRESETS, preset
from hybrid_ml_scheduler.workload.trace_stream import TraceStream
from hybrid_ml_scheduler.workload.traces import DIALECTS, TraceOptions

__all__ = [
    "DEFAULT_PRESET",
    "DIALECTS",
    "PRESETS",
    "Part",
    "TaskStream",
    "TraceOptions",
    "TraceStream",
    "WorkloadParameters",
    "describe",
    "generate",
    "load",
    "preset",
    "read_csv",
    "resolve",
    "write_csv",
]
