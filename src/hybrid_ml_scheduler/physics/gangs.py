"""Gangs: tasks that hold several GPUs at once, and which GPUs these are.

The GPU of a decision leads its gang. The others are the GPUs of the leader's kind that are free earliest as believed at
the decision, the lower id first among equals. Where the kind has too few, they are taken from the whole node, and the
gang goes at the pace of the node's slowest kind. A gang starts when the last of its GPUs is free, and holds them all
to its end; its memory must fit each GPU that it could be given.
"""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn, TaskBatch
from hybrid_ml_scheduler.physics.placement import Gang

__all__ = [
    "check_width",
    "check_widths",
    "gang_backlogs",
    "gang_members",
    "gang_seconds",
    "has_gangs",
    "kind_counts",
    "pool_memory_mb",
]


def has_gangs(batch: TaskBatch) -> bool:
    """Whether any task of the batch needs more than one GPU."""
    return len(batch) > 0 and int(batch.gpus_required.max()) > 1


def check_widths(batch: TaskBatch, num_gpus: int) -> None:
    """Refuse a batch with a task that needs more GPUs than there are."""
    wide = np.flatnonzero(batch.gpus_required > num_gpus)
    if len(wide):
        check_width(int(batch.task_id[wide[0]]), int(batch.gpus_required[wide[0]]), num_gpus)


def check_width(task_id: int, width: int, num_gpus: int) -> None:
    """Refuse a task that needs more GPUs than there are."""
    if width > num_gpus:
        have = "1 GPU" if num_gpus == 1 else f"{num_gpus} GPUs"
        raise WorkloadError(f"Task {task_id} needs {width} GPUs at once, and the node has {have}.")


def kind_counts(gpu_kind: IntColumn) -> IntColumn:
    """How many GPUs there are of each kind."""
    return np.bincount(gpu_kind).astype(np.int64)


def gang_seconds(width: IntColumn, counts: IntColumn, gpu_s: FloatColumn) -> None:
    """Give gangs that a kind has too few GPUs for the seconds of the slowest kind; changes `gpu_s` in place."""
    slowest = gpu_s.max(axis=1) if gpu_s.size else gpu_s[:, :0].sum(axis=1)
    for kind in range(gpu_s.shape[1]):
        mixed = width > counts[kind]
        gpu_s[mixed, kind] = slowest[mixed]


@compiled(nogil=True, inline="always")
def _comes_before(one: int, other: int, backlog: FloatColumn) -> bool:
    """Whether a GPU is free earlier than another one; the lower id first among equals."""
    return backlog[one] < backlog[other] or (backlog[one] == backlog[other] and one < other)


@compiled(nogil=True)
def gang_backlogs(
    width: int,
    gpu_kind: IntColumn,
    counts: IntColumn,
    gpu_memory_mb: FloatColumn,
    backlog: FloatColumn,
    lead_backlog: FloatColumn,
    lead_memory_mb: FloatColumn,
) -> None:
    """Fill in, for a gang led by each GPU: seconds until all its GPUs are free, and the least memory of the pool."""
    total = gpu_kind.shape[0]
    for lead in range(total):
        own = counts[gpu_kind[lead]] >= width
        last, least_mb = backlog[lead], gpu_memory_mb[lead]
        for one in range(total):
            if own and gpu_kind[one] != gpu_kind[lead]:
                continue
            least_mb = min(least_mb, gpu_memory_mb[one])
            before = 0
            for other in range(total):
                in_pool = not own or gpu_kind[other] == gpu_kind[lead]
                before += in_pool and _comes_before(other, one, backlog)
            if before == width - 1:
                last = max(last, backlog[one])
        lead_backlog[lead], lead_memory_mb[lead] = last, least_mb


@compiled(nogil=True)
def gang_members(
    lead: int, width: int, gpu_kind: IntColumn, counts: IntColumn, backlog: FloatColumn, others: Gang
) -> None:
    """Fill in the GPUs of a gang besides its leader, by rising id; places beyond them are -1."""
    total, found = gpu_kind.shape[0], 0
    own = counts[gpu_kind[lead]] >= width
    others[:] = -1
    for one in range(total):
        if one == lead or (own and gpu_kind[one] != gpu_kind[lead]):
            continue
        before = 0
        for other in range(total):
            in_pool = other != lead and (not own or gpu_kind[other] == gpu_kind[lead])
            before += in_pool and _comes_before(other, one, backlog)
        if before < width - 1:
            others[found] = one
            found += 1


def pool_memory_mb(width: int, gpu_kind: IntColumn, counts: IntColumn, gpu_memory_mb: FloatColumn) -> FloatColumn:
    """What a gang of this width finds on each GPU, if that one leads: the least of all that it may be given."""
    found, idle = np.empty_like(gpu_memory_mb), np.zeros_like(gpu_memory_mb)
    gang_backlogs(width, gpu_kind, counts, gpu_memory_mb, idle, idle.copy(), found)
    return found
