"""The placement: when the parts of a decided task start and end. Every form of the cluster computes it here.

Nothing is pre-empted and every queue is first-in first-out, so a device is one number: the moment it is free.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn

__all__ = ["Gang", "Placement", "first_slot", "place", "place_parts", "place_shared", "place_whole"]

Gang = npt.NDArray[np.int32]
"""The GPUs of a gang besides its leader; -1 for none."""

Placement = tuple[float, float, float, float, float, float, float]
"""CPU start, GPU start (NaN where unused), finish, seconds on the CPU and on the GPU, and when each is free again."""


@compiled(allocates=False, nogil=True, inline="always")
def place(
    now: float,
    cpu_free: float,
    gpu_free: float,
    cpu_part: float,
    gpu_part: float,
    cpu_factor: float,
    gpu_factor: float,
    serial: bool,
) -> Placement:
    """Queue the two parts of a task that is decided now, behind what its two devices have promised.

    The parts are in the seconds of the durations, the factors say how much longer each really takes. Whoever gives a
    part to several devices at once hands in the moment when the last of them is free.
    """
    cpu_s, gpu_s = cpu_part * cpu_factor, gpu_part * gpu_factor
    cpu_start, gpu_start, finish = math.nan, math.nan, now
    if cpu_part > 0.0:
        cpu_start = now if now > cpu_free else cpu_free
        finish = cpu_start + cpu_s
        cpu_free = finish
    if gpu_part > 0.0:
        gpu_start = now if now > gpu_free else gpu_free
        if serial:
            gpu_start = finish if finish > gpu_start else gpu_start
        gpu_free = gpu_start + gpu_s
        finish = finish if finish > gpu_free else gpu_free
    return cpu_start, gpu_start, finish, cpu_s, gpu_s, cpu_free, gpu_free


@compiled(allocates=False, nogil=True, inline="always")
def place_parts(
    now: float,
    gpu: int,
    cpu_part: float,
    gpu_part: float,
    cpu_factor: float,
    gpu_factor: float,
    serial: bool,
    free: FloatColumn,
) -> Placement:
    """Place the parts on the CPU and one GPU; `free` (CPU first) says when devices are free and moves on."""
    placed = place(now, free[0], free[gpu + 1], cpu_part, gpu_part, cpu_factor, gpu_factor, serial)
    if cpu_part > 0.0:
        free[0] = placed[5]
    if gpu_part > 0.0:
        free[gpu + 1] = placed[6]
    return placed


@compiled(allocates=False, nogil=True, inline="always")
def first_slot(num_gpus: int, free: FloatColumn) -> int:
    """The slot of the CPU that is free first: device 0, or one of those behind the GPUs."""
    slot = 0
    for other in range(num_gpus + 1, free.shape[0]):
        if free[other] < free[slot]:
            slot = other
    return slot


@compiled(allocates=False, nogil=True)
def place_shared(
    now: float,
    slot: int,
    gpu: int,
    gang: Gang,
    cpu_part: float,
    gpu_part: float,
    cpu_factor: float,
    gpu_factor: float,
    serial: bool,
    free: FloatColumn,
) -> Placement:
    """Place the parts on a slot of the CPU and on a GPU, or on several at once: with the others of its gang.

    `free` has the first slot, the GPUs, the further slots; it moves on.
    """
    gpu_free = free[gpu + 1]
    for place_in_gang in range(gang.shape[0]):
        if gang[place_in_gang] >= 0:
            gpu_free = max(gpu_free, free[gang[place_in_gang] + 1])
    placed = place(now, free[slot], gpu_free, cpu_part, gpu_part, cpu_factor, gpu_factor, serial)
    if cpu_part > 0.0:
        free[slot] = placed[5]
    if gpu_part > 0.0:
        free[gpu + 1] = placed[6]
        for place_in_gang in range(gang.shape[0]):
            if gang[place_in_gang] >= 0:
                free[gang[place_in_gang] + 1] = placed[6]
    return placed


@compiled(allocates=False, nogil=True, inline="always")
def place_whole(now: float, device: int, seconds: float, free: FloatColumn) -> float:
    """Place a whole task on one device (0 = CPU) as estimated; returns when it is finished."""
    free[device] = place(now, free[device], now, seconds, 0.0, 1.0, 1.0, False)[5]
    return float(free[device])
