"""What compiled code is told about one task: its durations on every device and the limits they meet, as one tuple."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn, Task

__all__ = ["BatchTerms", "EstimatesMany", "Formula", "LendsFormula", "TaskTerms", "Terms"]

Terms = tuple[float, FloatColumn, FloatColumn, IntColumn, float, FloatColumn, int, bool]
"""The same as `TaskTerms` without names. Compiled functions take this form: a call with a named tuple costs twice."""


Formula = tuple[
    IntColumn, FloatColumn, int, bool, int, float, float, FloatColumn,
    FloatColumn, FloatColumn, FloatColumn, FloatColumn, FloatColumn, FloatColumn,
]  # fmt: skip
"""What compiled code needs to believe the seconds of a task itself.

Of the node: `gpu_kind`, `gpu_memory_mb`, `memory_rule` and `serial` as in `TaskTerms`, then the speedup law, the most
it gives, the CPU's speed, and one row for each kind of GPU. Of the duration model: cells, types, what they share, and
the prior. To be filled: the factors, and the nominal seconds with the believed ones below.
"""


@runtime_checkable
class LendsFormula(Protocol):
    """An estimator that lends its formula and its beliefs, so that one compiled call can believe and decide."""

    def lend_formula(self, task: Task) -> tuple[Formula, int] | None:
        """The formula, to be filled for this task, and where the duration model looks its kind up.

        `None` for a task with times of its own.
        """


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


@runtime_checkable
class EstimatesMany(Protocol):
    """An estimator that estimates many tasks at once: a strategy may compare all waiting tasks at every wake."""

    def many_terms(self, tasks: Sequence[Task]) -> BatchTerms | None:
        """The terms of these tasks as columns; `None` if one of them has times of its own or needs several GPUs."""
