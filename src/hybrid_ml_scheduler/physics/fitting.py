"""Which tasks a node can run at all: gangs that are not too wide, and tasks for GPUs only that fit one."""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core.tasks import BoolColumn, Task, TaskBatch
from hybrid_ml_scheduler.physics.durations import gpu_kinds
from hybrid_ml_scheduler.physics.gangs import kind_counts, pool_memory_mb
from hybrid_ml_scheduler.physics.node import MemoryRule, Node

__all__ = ["can_run", "fits_no_gpu"]


def fits_no_gpu(batch: TaskBatch, node: Node) -> BoolColumn:
    """Which tasks run on GPUs only and fit none of the node, so that they would fail; too wide gangs do not count."""
    found = batch.gpu_only & (batch.gpus_required <= node.num_gpus)
    if node.memory_rule == MemoryRule.PAGE or not found.any():
        return np.zeros(len(batch), dtype=np.bool_)
    _, kind = gpu_kinds(node)
    counts, memory = kind_counts(kind), node.gpu_column("memory_mb")
    for width in np.unique(batch.gpus_required[found]).tolist():
        room = float(pool_memory_mb(width, kind, counts, memory).max()) if width > 1 else float(memory.max())
        found &= (batch.gpus_required != width) | (batch.memory_required > room)
    return found


def can_run(task: Task, node: Node) -> bool:
    """Whether the node has a device that the task fits."""
    alone = TaskBatch.from_tasks([task])
    return task.gpus_required <= node.num_gpus and not bool(fits_no_gpu(alone, node)[0])
