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
    lengths = np.diff(batch.parent_offsets)[order]
    offsets = np.zeros(len(batch) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    begins = np.repeat(batch.parent_offsets[:-1][order] - offsets[:-1], lengths)
    return batch_of(
        task_id=batch.task_id[order],
        size=batch.size[order],
        compute_intensity=batch.compute_intensity[order],
        memory_required=batch.memory_required[order],
        arrival_time=batch.arrival_time[order],
        cpu_time=batch.cpu_time[order],
        gpu_time=batch.gpu_time[order],
        duration_factor=batch.duration_factor[order],
        assumptions=batch.assumptions,
        parent_offsets=offsets,
        parent_ids=batch.parent_ids[begins + np.arange(len(begins))],
    )
