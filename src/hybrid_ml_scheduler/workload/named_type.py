"""The type of GPU on which the times of a file were measured, where a person knows it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.tasks import TaskBatch

if TYPE_CHECKING:
    from hybrid_ml_scheduler.physics import Node

__all__ = ["with_named_type"]


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
