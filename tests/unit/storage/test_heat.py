"""The map from size and intensity to the best device."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_ml_scheduler.storage.read.heat import SIZE_STEPS, heat_cells, size_bounds


def test_bounds_are_logarithmic_and_hold_the_extremes() -> None:
    bounds = np.array(size_bounds(np.array([100.0, 5000.0, 700.0]), 10))
    assert (bounds[0], bounds[-1], len(bounds)) == (100.0, 5000.0, 11)
    assert bounds[1:] / bounds[:-1] == pytest.approx(np.full(10, 50**0.1))


@pytest.mark.parametrize("sizes", [[5.0], [5.0, 5.0], [0.0], [0.0, 3.0]])
def test_bounds_rise_even_when_sizes_do_not(sizes: list[float]) -> None:
    assert (np.diff(size_bounds(np.array(sizes), 4)) > 0).all()


def test_every_task_lies_in_one_cell_and_the_majority_wins() -> None:
    sizes = np.array([100.0, 100.0, 100.0, 5000.0, 5000.0])
    intensities = np.array([0.0, 0.05, 0.05, 1.0, 1.0])
    optimal = np.array([0.0, 0.0, 1.0, 0.5, np.nan])
    cells = heat_cells(sizes, intensities, optimal)
    assert len(cells) == SIZE_STEPS * 10
    assert sum(cell.tasks for cell in cells) == 5
    first, last = cells[0], cells[-1]
    assert (first.tasks, first.best_device) == (3, "cpu")
    assert first.optimal_gpu_fraction == pytest.approx(1 / 3)
    assert (last.tasks, last.best_device, last.optimal_gpu_fraction) == (2, "split", 0.5)
    assert {cell.best_device for cell in cells[1:-1]} == {None}


def test_no_task_no_map() -> None:
    nothing = np.zeros(0)
    assert heat_cells(nothing, nothing, nothing) == []
