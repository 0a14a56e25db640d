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
    rows = np.clip(np.searchsorted(bounds, sizes, side="right") - 1, 0, SIZE_STEPS - 1)
    last = len(INTENSITY_BOUNDS) - 2
    columns = np.clip(np.searchsorted(INTENSITY_BOUNDS, intensities, side="right") - 1, 0, last)
    return [
        _cell(bounds, row, column, optimal[(rows == row) & (columns == column)])
        for row in range(SIZE_STEPS)
        for column in range(last + 1)
    ]


def _cell(bounds: Sequence[float], row: int, column: int, optimal: FloatColumn) -> HeatCell:
    known = optimal[np.isfinite(optimal)]
    votes = [int(np.sum(known <= 0.0)), int(np.sum(known >= 1.0)), int(np.sum((known > 0.0) & (known < 1.0)))]
    return HeatCell(
        size_low=bounds[row],
        size_high=bounds[row + 1],
        intensity_low=INTENSITY_BOUNDS[column],
        intensity_high=INTENSITY_BOUNDS[column + 1],
        tasks=len(optimal),
        optimal_gpu_fraction=float(known.mean()) if len(known) else None,
        best_device=_KINDS[int(np.argmax(votes))] if len(known) else None,
    )
