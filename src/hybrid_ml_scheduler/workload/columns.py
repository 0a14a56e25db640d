"""Making batches from columns whose parents are already flat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.tasks import IntColumn, TaskBatch

__all__ = ["batch_of", "flat_parents", "in_order"]


def batch_of(*, parent_offsets: IntColumn, parent_ids: IntColumn, **columns: Any) -> TaskBatch:
    """Build a batch from columns and flat parents; the parents are taken over, not copied."""
    for column in (parent_offsets, parent_ids):
        column.flags.writeable = False
    return replace(TaskBatch.from_columns(**columns), parent_offsets=parent_offsets, parent_ids=parent_ids)


def flat_parents(dependencies: Sequence[Sequence[int]]) -> tuple[IntColumn, IntColumn]:
    """Turn lists of parents into offsets and one flat column."""
    offsets = np.zeros(len(dependencies) + 1, dtype=np.int64)
    np.cumsum([len(parents) for parents in dependencies], out=offsets[1:])
    flat = np.array([parent for parents in dependencies for parent in parents], dtype=np.int64)
    return offsets, flat


def in_order(batch: TaskBatch) -> TaskBatch:
    """Return the batch sorted by (arrival_time, task_id); itself if it is so already."""
    order = np.lexsort((batch.task_id, batch.arrival_time))
    if np.array_equal(order, np.arange(len(batch))):
        return batch
    return batch.chosen(order)
