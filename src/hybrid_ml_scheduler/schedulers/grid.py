"""The grid of splits that the oracle and the earliest-finish rules search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np

from hybrid_ml_scheduler.core import ClusterView, FloatColumn, IntColumn, Task
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.physics import PhysicsEstimator

__all__ = ["DEFAULT_STEP", "TaskTerms", "split_grid", "task_terms"]

DEFAULT_STEP = 0.05


def split_grid(step: float) -> tuple[float, ...]:
    """All shares from 0 to 1 in equal steps; the step must divide 1."""
    count = round(1.0 / step) if math.isfinite(step) and step > 0 else 0
    if count < 1 or abs(count * step - 1.0) > 1e-9:
        raise PlanError(f"step = {step:g} must divide 1 into equal parts, for example 0.05 or 0.1.")
    return tuple(point / count for point in range(count + 1))


class TaskTerms(NamedTuple):
    """One task's durations and the node's limits, in the order the compiled choices take them."""

    cpu_s: float
    gpu_s: FloatColumn
    paged_s: FloatColumn
    gpu_kind: IntColumn
    memory_mb: float
    gpu_memory_mb: FloatColumn
    memory_rule: int
    serial: bool


def task_terms(task: Task, cluster: ClusterView) -> TaskTerms:
    """Gather what the compiled choices need to know about one task."""
    estimator = cast(PhysicsEstimator, cluster.estimator)
    seconds = estimator.seconds(task)
    return TaskTerms(
        seconds.cpu_s,
        np.array(seconds.gpu_s),
        np.array(seconds.paged_s),
        estimator.gpu_kind,
        task.memory_required,
        estimator.gpu_memory_mb,
        estimator.memory_rule,
        estimator.serial,
    )


def as_column(values: Sequence[float]) -> FloatColumn:
    """A sequence of numbers as a float column."""
    return np.array(values, dtype=np.float64)
