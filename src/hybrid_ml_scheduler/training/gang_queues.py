"""Whole tasks on queues, for training: gangs hold all their GPUs, and the CPU's slots serve side by side."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.terms import BatchTerms, Terms
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.physics.choices import row_terms
from hybrid_ml_scheduler.physics.durations import gpu_kinds
from hybrid_ml_scheduler.physics.gangs import gang_backlogs, gang_members, kind_counts
from hybrid_ml_scheduler.physics.placement import first_slot, place_whole
from hybrid_ml_scheduler.plans.loads import LoadedTasks

__all__ = ["Crew", "crew_of", "fill_backlogs", "free_devices", "place_task", "task_terms"]


class Crew(NamedTuple):
    """How many GPUs each task needs, the kind of each GPU, how many there are of a kind, and their memory."""

    needed: IntColumn
    gpu_kind: IntColumn
    counts: IntColumn
    gpu_memory_mb: FloatColumn


def crew_of(tasks: LoadedTasks, node: Node) -> Crew:
    """What compiled runs need to know about gangs."""
    kind = gpu_kinds(node)[1]
    return Crew(tasks.batch.gpus_required, kind, kind_counts(kind), node.gpu_column("memory_mb"))


def free_devices(node: Node) -> FloatColumn:
    """When each device is free at first: the CPU, the GPUs, the further slots of the CPU."""
    return np.zeros(node.num_gpus + node.cpu.slots)


@compiled(nogil=True)
def fill_backlogs(now: float, needed: int, crew: Crew, free: FloatColumn, backlog: FloatColumn) -> None:
    """Seconds until the CPU and each GPU are free, for a gang until the GPUs that this one would lead are."""
    _, gpu_kind, counts, memory = crew
    backlog[0] = max(free[first_slot(gpu_kind.shape[0], free)] - now, 0.0)
    for device in range(1, backlog.shape[0]):
        backlog[device] = max(free[device] - now, 0.0)
    if needed > 1:
        alone, room = backlog[1:].copy(), np.empty(gpu_kind.shape[0])
        gang_backlogs(needed, gpu_kind, counts, memory, alone, backlog[1:], room)


@compiled(nogil=True)
def place_task(now: float, device: int, seconds: float, needed: int, crew: Crew, free: FloatColumn) -> float:
    """Place a whole task on the CPU (0) or on a GPU and its gang; returns when it is finished."""
    _, gpu_kind, counts, _ = crew
    if device == 0:
        return place_whole(now, first_slot(gpu_kind.shape[0], free), seconds, free)
    if needed < 2:
        return place_whole(now, device, seconds, free)
    alone, others = np.empty(gpu_kind.shape[0]), np.empty(needed - 1, np.int32)
    for gpu in range(gpu_kind.shape[0]):
        alone[gpu] = max(free[gpu + 1] - now, 0.0)
    gang_members(device - 1, needed, gpu_kind, counts, alone, others)
    begin = max(now, free[device])
    for one in others:
        begin = max(begin, free[one + 1])
    free[device] = begin + seconds
    for one in others:
        free[one + 1] = begin + seconds
    return float(begin + seconds)


@compiled(nogil=True)
def task_terms(tasks: BatchTerms, row: int, crew: Crew) -> Terms:
    """The terms of one task; a gang must fit every GPU that it may be given."""
    cpu_s, gpu_s, paged_s, gpu_kind, memory_mb, gpu_memory_mb, rule, serial = row_terms(tasks, row)
    needed, _, counts, _ = crew
    if needed[row] < 2:
        return cpu_s, gpu_s, paged_s, gpu_kind, memory_mb, gpu_memory_mb, rule, serial
    idle, room = np.zeros_like(gpu_memory_mb), np.empty_like(gpu_memory_mb)
    gang_backlogs(needed[row], gpu_kind, counts, gpu_memory_mb, idle, idle.copy(), room)
    return cpu_s, gpu_s, paged_s, gpu_kind, memory_mb, room, rule, serial
