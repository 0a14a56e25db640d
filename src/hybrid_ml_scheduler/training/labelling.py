"""Tasks with the oracle's best share, as training data for a forest."""

from __future__ import annotations

from hybrid_ml_scheduler.core import FloatColumn
from hybrid_ml_scheduler.learning.features import FeatureMatrix, feature_matrix
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.schedulers.forest.labels import best_fractions
from hybrid_ml_scheduler.workload import WorkloadParameters, generate

__all__ = ["labelled"]


def labelled(law: WorkloadParameters, node: Node, seed: int, count: int) -> tuple[FeatureMatrix, FloatColumn]:
    """Features and best shares of generated tasks."""
    batch = generate(law.with_values({"num_tasks": count}), seed)
    features = feature_matrix(batch.size, batch.compute_intensity, batch.memory_required)
    return features, best_fractions(batch, node)
