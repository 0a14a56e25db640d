"""Gangs: tasks that hold several GPUs at once, and which GPUs these are.

The GPU of a decision leads its gang. The others are the GPUs of the leader's kind that are free earliest as believed at
the decision, the lower id first among equals. Where the kind has too few, they are taken from the whole node, and the
gang goes at the pace of the node's slowest kind. A gang starts when the last of its GPUs is free, and holds them all
to its end; its memory must fit each GPU that it could be given.
"""

from __future__ import annotations

import math

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
        raise WorkloadError(
            f"Task {task_id} needs {width} GPUs at once, and the node has {have} (--gpus gives a modelled node more)."
        )


def kind_counts(gpu_kind: IntColumn) -> IntColumn:
    """How many GPUs there are of each kind."""
    return np.bincount(gpu_kind).astype(np.int64)


def gang_seconds(width: IntColumn, counts: IntColumn, gpu_s: FloatColumn) -> None:
    """Give gangs that a kind has too few GPUs for the seconds of the slowest kind; changes `gpu_s` in place."""
    slowest = gpu_s.max(axis=1) if gpu_s.size else gpu_s[:, :0].sum(axis=1)
    for kind in range(gpu_s.shape[1]):
        mixed = width > counts[kind]
        gpu_s[mixed, kind] = slowest[mixed]


@compiled(allocates=False, nogil=True, inline="always")
def _next_free(after: int, lead: int, own_kind: int, gpu_kind: IntColumn, backlog: FloatColumn) -> int:
    """The GPU of a pool that is free next after another one (-1: the first of all); the lower id first among equals.

    `own_kind` is the kind that the pool is limited to (-1: none), `lead` a GPU that is passed over (-1: none).
    """
    found = -1
    for one in range(gpu_kind.shape[0]):
        if one == lead or (own_kind >= 0 and gpu_kind[one] != own_kind):
            continue
        if after >= 0 and (backlog[one] < backlog[after] or (backlog[one] == backlog[after] and one <= after)):
            continue
        if found < 0 or backlog[one] < backlog[found]:
            found = one
    return found


@compiled(allocates=False, nogil=True)
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
    pool, last, least_mb = -2, 0.0, 0.0  # of the pool that was looked at last
    for lead in range(gpu_kind.shape[0]):
        own_kind = gpu_kind[lead] if counts[gpu_kind[lead]] >= width else -1
        if own_kind != pool:
            pool, least_mb, at = own_kind, math.inf, -1
            for _ in range(width):
                at = _next_free(at, -1, own_kind, gpu_kind, backlog)
            last = backlog[at]
            for one in range(gpu_kind.shape[0]):
                if own_kind < 0 or gpu_kind[one] == own_kind:
                    least_mb = min(least_mb, gpu_memory_mb[one])
        lead_backlog[lead], lead_memory_mb[lead] = max(backlog[lead], last), least_mb


@compiled(allocates=False, nogil=True)
def gang_members(
    lead: int, width: int, gpu_kind: IntColumn, counts: IntColumn, backlog: FloatColumn, others: Gang
) -> None:
    """Fill in the GPUs of a gang besides its leader, by rising id; places beyond them are -1."""
    own_kind = gpu_kind[lead] if counts[gpu_kind[lead]] >= width else -1
    at = -1
    others[:] = -1
    for filled in range(width - 1):
        at = _next_free(at, lead, own_kind, gpu_kind, backlog)
        place = filled
        while place > 0 and others[place - 1] > at:
            others[place] = others[place - 1]
            place -= 1
        others[place] = at


def pool_memory_mb(width: int, gpu_kind: IntColumn, counts: IntColumn, gpu_memory_mb: FloatColumn) -> FloatColumn:
    """What a gang of this width finds on each GPU, if that one leads: the least of all that it may be given."""
    found, idle = np.empty_like(gpu_memory_mb), np.zeros_like(gpu_memory_mb)
    gang_backlogs(width, gpu_kind, counts, gpu_memory_mb, idle, idle.copy(), found)
    return found
