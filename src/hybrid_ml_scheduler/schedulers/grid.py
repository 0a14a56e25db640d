"""The grid of splits that the oracle and the earliest-finish rules search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from hybrid_ml_scheduler.core import (
    NO_GPU,
    BatchRule,
    BatchTerms,
    ClusterView,
    FloatColumn,
    RuleKind,
    Task,
    TaskTerms,
    Terms,
)
from hybrid_ml_scheduler.core.errors import PlanError, SchedulerError
from hybrid_ml_scheduler.physics.choices import fastest_split, least_charge

__all__ = ["DEFAULT_STEP", "as_batch", "as_column", "rule_choice", "split_grid", "task_terms"]

DEFAULT_STEP = 0.05


def split_grid(step: float) -> tuple[float, ...]:
    """All shares from 0 to 1 in equal steps; the step must divide 1."""
    count = round(1.0 / step) if math.isfinite(step) and step > 0 else 0
    if count < 1 or abs(count * step - 1.0) > 1e-9:
        raise PlanError(f"step = {step:g} must divide 1 into equal parts, for example 0.05 or 0.1.")
    return tuple(point / count for point in range(count + 1))


def task_terms(task: Task, cluster: ClusterView) -> Terms:
    """What the compiled choices are told about one task, in the form that they take."""
    return as_terms(cluster.estimator.terms(task))


def as_terms(terms: TaskTerms) -> Terms:
    """Terms in the form that compiled code takes."""
    return cast(Terms, tuple(terms))


def as_column(values: Sequence[float]) -> FloatColumn:
    """A sequence of numbers as a float column."""
    return np.array(values, dtype=np.float64)


def as_batch(terms: Sequence[TaskTerms]) -> BatchTerms:
    """The terms of several tasks of one node as columns."""
    first = terms[0]
    return BatchTerms(
        np.array([one.cpu_s for one in terms]),
        np.array([one.gpu_s for one in terms]),
        np.array([one.paged_s for one in terms]),
        first.gpu_kind,
        np.array([one.memory_mb for one in terms]),
        first.gpu_memory_mb,
        np.array([one.memory_rule for one in terms], dtype=np.int64),
        first.serial,
    )


def rule_choice(rule: BatchRule, place: int, task: Task, cluster: ClusterView) -> tuple[float, int]:
    """The share and the GPU that the rule gives to the task at this place of the batch."""
    backlogs = as_column(cluster.gpu_backlogs_s)
    if rule.kind == RuleKind.PRESCRIBED:
        if rule.fractions is None or len(rule.fractions) <= place:
            raise SchedulerError(f"a prescribed rule has no share for task {task.task_id}.")
        gpu = NO_GPU if rule.gpus is None else int(rule.gpus[place])
        return float(rule.fractions[place]), cluster.least_loaded_gpu if gpu == NO_GPU else gpu
    terms, grid = task_terms(task, cluster), as_column(rule.grid)
    if rule.kind == RuleKind.FASTEST_SPLIT:
        fraction, gpu = fastest_split(terms, backlogs, grid)
    else:
        fraction, gpu = least_charge(terms, cluster.cpu_backlog_s, backlogs, grid, rule.price)
    return float(fraction), int(gpu)
