"""Making batches from columns whose parents are already flat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.tasks import IntColumn, TaskBatch
from hybrid_ml_scheduler.core.text import nearest_hint

if TYPE_CHECKING:
    from hybrid_ml_scheduler.physics import Node

__all__ = ["batch_of", "check_types", "flat_parents", "in_order", "with_named_type"]


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
    return batch.select(order)


def check_types(batch: TaskBatch, node: Node | None, path: Path) -> None:
    """Refuse times on a type of GPU that neither the catalogue nor the node knows: a race could not use them."""
    if node is None or not batch.gpu_types:
        return
    from hybrid_ml_scheduler.physics.gpu_types import GPU_TYPES  # compiled code stands behind it

    known = (*GPU_TYPES, *(one.name for one in node.types))
    for name in batch.gpu_types:
        if name not in known:
            raise PlanError(
                f"{path}: the column gpu_time.{name} names no known GPU type{nearest_hint(name, known)} "
                "`hms nodes` lists them; physics.types adds one."
            )


def with_named_type(batch: TaskBatch, name: str, node: Node | None) -> TaskBatch:
    """The batch whose GPU times belong to a named type, so that they can be scaled to another one."""
    from hybrid_ml_scheduler.physics.gpu_types import gpu_type  # compiled code stands behind it

    gpu_type(name, () if node is None else node.types)
    if np.isnan(batch.gpu_time).all():
        raise PlanError(f"Trace option gpu_type = {name!r}: the file has no GPU times without a type.")
    if name in batch.gpu_types:
        raise PlanError(f"Trace option gpu_type = {name!r}: the file has a column gpu_time.{name} too.")
    times = np.column_stack([batch.gpu_times, batch.gpu_time])
    unknown = np.full(len(batch), np.nan)
    for column in (times, unknown):
        column.flags.writeable = False
    note = f"gpu_type: GPU times without a type were measured on {name}, as asked."
    return replace(
        batch,
        gpu_time=unknown,
        gpu_times=times,
        gpu_types=(*batch.gpu_types, name),
        assumptions=(*batch.assumptions, note),
    )
