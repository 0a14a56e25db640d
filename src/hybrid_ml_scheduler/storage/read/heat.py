"""The map from a task's size and intensity to the device that the oracle would take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn
from hybrid_ml_scheduler.storage.records import HeatCell

__all__ = ["INTENSITY_BOUNDS", "SIZE_STEPS", "heat_cells", "size_bounds"]

SIZE_STEPS = 10
INTENSITY_BOUNDS: tuple[float, ...] = tuple(step / 10 for step in range(11))
_KINDS = ("cpu", "gpu", "split")


def size_bounds(sizes: FloatColumn, steps: int) -> Sequence[float]:
    """Return logarithmic bounds from the least to the greatest size; none without tasks."""
    if len(sizes) == 0:
        return []
    low, high = float(sizes.min()), float(sizes.max())
    if high <= low:
        high = 1.01 * low + (low == 0)
    bounds = np.geomspace(low, high, steps + 1) if low > 0 else np.linspace(low, high, steps + 1)
    bounds[0], bounds[-1] = low, high  # not a rounding error away: every task lies inside
    return [float(bound) for bound in bounds]


def heat_cells(sizes: FloatColumn, intensities: FloatColumn, optimal: FloatColumn) -> list[HeatCell]:
    """Return every cell of the map, size by size; tasks without a label count, but do not vote."""
    bounds = size_bounds(sizes, SIZE_STEPS)
    if not bounds:
        return []
    last = len(INTENSITY_BOUNDS) - 2
    rows = np.clip(np.searchsorted(bounds, sizes, side="right") - 1, 0, SIZE_STEPS - 1)
    columns = np.clip(np.searchsorted(INTENSITY_BOUNDS, intensities, side="right") - 1, 0, last)
    cell, known = rows * (last + 1) + columns, np.isfinite(optimal)
    number = SIZE_STEPS * (last + 1)
    counts = np.bincount(cell, minlength=number)
    sums = np.bincount(cell[known], weights=optimal[known], minlength=number)
    kind = np.select([optimal <= 0.0, optimal >= 1.0], [0, 1], default=2)
    votes = np.array([np.bincount(cell[known & (kind == k)], minlength=number) for k in range(len(_KINDS))])
    return [_cell(bounds, place, int(counts[place]), float(sums[place]), votes[:, place]) for place in range(number)]


def _cell(bounds: Sequence[float], place: int, tasks: int, total: float, votes: np.ndarray) -> HeatCell:
    row, column = divmod(place, len(INTENSITY_BOUNDS) - 1)
    voters = int(votes.sum())
    return HeatCell(
        size_low=bounds[row],
        size_high=bounds[row + 1],
        intensity_low=INTENSITY_BOUNDS[column],
        intensity_high=INTENSITY_BOUNDS[column + 1],
        tasks=tasks,
        optimal_gpu_fraction=total / voters if voters else None,
        best_device=_KINDS[int(np.argmax(votes))] if voters else None,
    )
