"""What compiled code is told about one task: its durations on every device and the limits they meet, as one tuple."""

from __future__ import annotations

from typing import NamedTuple

from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn

__all__ = ["BatchTerms", "TaskTerms", "Terms"]

Terms = tuple[float, FloatColumn, FloatColumn, IntColumn, float, FloatColumn, int, bool]
"""The same as `TaskTerms` without names. Compiled functions take this form: a call with a named tuple costs twice."""


class TaskTerms(NamedTuple):
    """One task on one node; `gpu_kind[g]` is the place of GPU g in `gpu_s` and, where the memory rule pages, `paged_s`.

    `paged_s` is empty where nothing pages. Hand `tuple(terms)` to compiled functions.
    """

    cpu_s: float
    gpu_s: FloatColumn
    paged_s: FloatColumn
    gpu_kind: IntColumn
    memory_mb: float
    gpu_memory_mb: FloatColumn
    memory_rule: int
    serial: bool


class BatchTerms(NamedTuple):
    """What compiled code is told about a batch on a node: `TaskTerms` with one row a task."""

    cpu_s: FloatColumn
    gpu_s: FloatColumn
    paged_s: FloatColumn
    gpu_kind: IntColumn
    memory_mb: FloatColumn
    gpu_memory_mb: FloatColumn
    memory_rule: IntColumn
    serial: bool
