"""Statistics of a batch of tasks, as plain values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.tasks import FloatColumn, TaskBatch
from hybrid_ml_scheduler.core.validation import parent_rows
from hybrid_ml_scheduler.workload.graph import levels

__all__ = ["describe", "described_columns"]

_QUANTILES = {"p5": 5, "p25": 25, "p50": 50, "p75": 75, "p95": 95, "p99": 99}
_COLUMNS = ("size", "compute_intensity", "memory_required", "cpu_time", "gpu_time", "duration_factor")


def describe(batch: TaskBatch) -> dict[str, Any]:
    """Return counts, quantiles, arrivals, the shape of the graph and the assumptions, ready for JSON."""
    columns = {name: _summary(column) for name, column in described_columns(batch).items()}
    return {
        "tasks": len(batch),
        "columns": columns,
        "arrivals": _arrivals(batch.arrival_time),
        "graph": _graph(batch),
        "assumptions": list(batch.assumptions),
    }


def described_columns(batch: TaskBatch) -> dict[str, FloatColumn]:
    """The columns of numbers in which any task says something, times by type of GPU last."""
    found = {name: getattr(batch, name) for name in _COLUMNS if _says_something(batch, name)}
    typed = zip(batch.gpu_types, batch.gpu_times.T, strict=True)
    return {**found, **{f"gpu_time.{name}": times for name, times in typed if not np.isnan(times).all()}}


def _says_something(batch: TaskBatch, name: str) -> bool:
    if name == "duration_factor":
        return batch.is_noisy
    return not bool(np.isnan(getattr(batch, name)).all())


def _summary(column: FloatColumn) -> dict[str, float | int | None]:
    known = column[~np.isnan(column)]
    quantiles = np.percentile(known, list(_QUANTILES.values()))
    with np.errstate(over="ignore", invalid="ignore"):
        mean, std = float(known.mean()), float(known.std())
    return {
        "known": len(known),
        "mean": mean if math.isfinite(mean) else None,
        "std": std if math.isfinite(std) else None,
        "min": float(known.min()),
        **{name: float(value) for name, value in zip(_QUANTILES, quantiles, strict=True)},
        "max": float(known.max()),
    }


def _arrivals(times: FloatColumn) -> dict[str, float | None]:
    """Rate and burstiness; the coefficient of variation of the gaps is 1 for a Poisson process."""
    gaps = np.diff(times)
    span = float(times[-1] - times[0])
    mean = span / len(gaps) if len(gaps) else 0.0
    return {
        "first_s": float(times[0]),
        "last_s": float(times[-1]),
        "rate_per_s": len(gaps) / span if span > 0.0 else None,
        # Scaled before squaring, so that no span is too long.
        "gap_cv": float((gaps / mean).std()) if mean > 0.0 else None,
        "longest_gap_s": float(gaps.max()) if len(gaps) else None,
    }


def _graph(batch: TaskBatch) -> dict[str, int]:
    """Edges, depth (levels) and width (tasks on the fullest level)."""
    if not batch.has_dependencies:
        return {"edges": 0, "tasks_with_parents": 0, "depth": 1, "width": len(batch), "most_parents": 0}
    number = np.diff(batch.parent_offsets)
    level = levels(batch.parent_offsets, parent_rows(batch))
    return {
        "edges": len(batch.parent_ids),
        "tasks_with_parents": int(np.count_nonzero(number)),
        "depth": int(level.max()) + 1,
        "width": int(np.bincount(level).max()),
        "most_parents": int(number.max()),
    }
