"""What the forest sees of a task: five numbers, scaled."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["FEATURES", "FeatureMatrix", "Scaler", "feature_matrix", "feature_row"]

FeatureMatrix = npt.NDArray[np.float64]

FEATURES = ("size", "compute_intensity", "memory_required", "memory_per_size", "compute_to_memory")
LEAST_MEMORY_MB = 1e-3  # keeps the ratios of a task without memory finite


def feature_row(size: float, compute_intensity: float, memory_required: float) -> tuple[float, ...]:
    """Return the features of one task, in the order of `FEATURES`."""
    memory = max(memory_required, LEAST_MEMORY_MB)
    work = size * math.sqrt(size)
    return size, compute_intensity, memory_required, memory_required / size, work / memory


def feature_matrix(
    size: npt.NDArray[np.float64],
    compute_intensity: npt.NDArray[np.float64],
    memory_required: npt.NDArray[np.float64],
) -> FeatureMatrix:
    """Return the features of many tasks, one row a task."""
    memory = np.maximum(memory_required, LEAST_MEMORY_MB)
    work = size * np.sqrt(size)
    return np.column_stack([size, compute_intensity, memory_required, memory_required / size, work / memory])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaler:
    """Zero mean and unit spread for every feature, remembered with the model."""

    mean: tuple[float, ...]
    spread: tuple[float, ...]

    @classmethod
    def fit(cls, matrix: FeatureMatrix) -> Scaler:
        """Take mean and spread from the rows; a constant feature keeps its unit."""
        spread = matrix.std(axis=0)
        spread[spread == 0.0] = 1.0
        return cls(mean=tuple(matrix.mean(axis=0).tolist()), spread=tuple(spread.tolist()))

    def transform(self, matrix: FeatureMatrix) -> npt.NDArray[np.float32]:
        """Scale many rows, in the precision the trees compare in."""
        return ((matrix - np.array(self.mean)) / np.array(self.spread)).astype(np.float32)
