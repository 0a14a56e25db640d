"""Tasks with the oracle's best share, as training data for a forest."""

from __future__ import annotations

from hybrid_ml_scheduler.core import FloatColumn
from hybrid_ml_scheduler.learning.features import FeatureMatrix, feature_matrix
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.file_tasks import TaskSource, tasks_of
from hybrid_ml_scheduler.schedulers.forest.labels import best_fractions

__all__ = ["labelled"]


def labelled(law: TaskSource, node: Node, seed: int, count: int) -> tuple[FeatureMatrix, FloatColumn]:
    """Features and best shares of generated tasks."""
    batch = tasks_of(law, seed, count)
    features = feature_matrix(batch.size, batch.compute_intensity, batch.memory_required)
    return features, best_fractions(batch, node)
