"""Tasks with the oracle's best share, as training data for a forest."""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn
from hybrid_ml_scheduler.learning.features import FeatureMatrix, feature_matrix
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.schedulers.labels import best_fraction
from hybrid_ml_scheduler.workload import WorkloadParameters, generate

__all__ = ["labelled"]


def labelled(law: WorkloadParameters, node: Node, seed: int, count: int) -> tuple[FeatureMatrix, FloatColumn]:
    """Features and best shares of generated tasks."""
    batch = generate(law.with_values({"num_tasks": count}), seed)
    estimator = PhysicsEstimator(node)
    shares = np.array([best_fraction(task, estimator) for task in batch])
    return feature_matrix(batch.size, batch.compute_intensity, batch.memory_required), shares
