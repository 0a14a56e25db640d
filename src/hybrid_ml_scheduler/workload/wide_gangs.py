"""Tasks that a node cannot run are left out of a file, counted and named: too wide gangs, and what fits no GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.core.tasks import TaskBatch
from hybrid_ml_scheduler.core.text import amount

if TYPE_CHECKING:
    from hybrid_ml_scheduler.physics import Node

__all__ = ["most_gpus", "wide_gangs_note", "without_misfits", "without_wide_gangs"]


def most_gpus(node: Node | None, asked: float | None) -> int | None:
    """How many GPUs a task may need at once: those of the node, else those that a load is asked for."""
    if node is not None:
        return node.num_gpus
    return None if asked is None else int(asked)


def wide_gangs_note(left_out: int, total: int, num_gpus: int, widest: int) -> str:
    """What was left out, in a sentence."""
    return (
        f"wide_gangs: {left_out:,} of {total:,} tasks need more than the node's {amount(num_gpus, 'GPU')} at once "
        f"(up to {widest}) and are left out; a node with more GPUs takes more of them."
    )


def without_wide_gangs(batch: TaskBatch, num_gpus: int, source: str) -> TaskBatch:
    """The tasks that fit a node of so many GPUs; refused where none does, or where others wait for one another."""
    fits = batch.gpus_required <= num_gpus
    if fits.all():
        return batch
    needed = batch.gpus_required[~fits]
    least, widest = int(needed.min()), int(needed.max())
    if not fits.any():
        raise WorkloadError(
            f"{source}: every task needs more GPUs at once than the node's {num_gpus}; a node with more takes them "
            f"(--gpus {least} or more)."
        )
    if batch.has_dependencies:
        raise WorkloadError(
            f"{source}: its tasks wait for each other and need up to {widest} GPUs at once, and the node has "
            f"{amount(num_gpus, 'GPU')}; a node with more takes them (--gpus {widest})."
        )
    note = wide_gangs_note(len(needed), len(batch), num_gpus, widest)
    return replace(batch.select(np.flatnonzero(fits)), assumptions=(*batch.assumptions, note))


def without_misfits(batch: TaskBatch, node: Node, source: str) -> TaskBatch:
    """The tasks without those that run on GPUs only and fit none of the node; refused where others wait for them."""
    from hybrid_ml_scheduler.physics.durations import fits_no_gpu  # compiled code stands behind it

    lost = fits_no_gpu(batch, node)
    if not lost.any():
        return batch
    most, names = float(batch.memory_required[lost].max()), batch.task_id[lost].tolist()
    shown = ", ".join(map(str, names[:3])) + (", ..." if len(names) > 3 else "")
    if lost.all() or batch.has_dependencies:
        what = "every task runs" if lost.all() else "its tasks wait for each other, and some run"
        raise WorkloadError(
            f"{source}: {what} on GPUs only and needs more memory (up to {most:,.0f} MB) than any GPU of the node has. "
            "Use larger GPUs, or physics.memory_rule = page."
        )
    note = (
        f"fits_no_gpu: {len(names):,} of {len(batch):,} tasks run on GPUs only and fit no GPU of the node (up to "
        f"{most:,.0f} MB) and are left out (tasks {shown})."
    )
    return replace(batch.select(np.flatnonzero(~lost)), assumptions=(*batch.assumptions, note))
