"""Devices: classes of workers with their own implementation of a task, and the cores that each worker gets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path

from hybrid_ml_scheduler.core.errors import PlanError

__all__ = [
    "CPU",
    "Device",
    "Place",
    "check_gpus",
    "core_sets",
    "cuda_count",
    "node_devices",
    "places",
    "usable_core_ids",
]

CPU = "cpu"
_GPU_FOLDER = Path("/proc/driver/nvidia/gpus")
# Drivers that do not list their GPUs in that folder: WSL and Jetson.
_OTHER_GPU_PATHS = ("/dev/dxg", "/dev/nvmap")
_MANY_CORES = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """Some workers that serve one implementation: `name` is what a task says in `.on(name)`.

    The workers of `cpu` share one queue. Every worker of another device is a device of its own, with its own queue,
    as every GPU is. `memory_mb` bounds what a task may bring along (its arrays); unknown by default.
    """

    name: str
    workers: int = 1
    memory_mb: float = 1e12

    def __post_init__(self) -> None:
        if not self.name or not self.name.replace("_", "").isalnum():
            raise PlanError(f"device name {self.name!r} must be made of letters, digits and underscores.")
        if self.workers < 1:
            raise PlanError(f"device {self.name}: workers = {self.workers!r} must be a whole number of at least 1.")
        if not self.memory_mb > 0.0:
            raise PlanError(f"device {self.name}: memory_mb = {self.memory_mb!r} must be above 0.")


# What a program says about devices: several, one, or nothing.
Devices = Sequence[Device | str] | Device | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A queue with its workers: place 0 is the CPU, every further place is one worker of another device."""

    index: int
    device: str
    ordinal: int
    workers: int
    memory_mb: float

    @property
    def name(self) -> str:
        """The place in words: `cpu`, `cuda_0`."""
        return self.device if self.device == CPU else f"{self.device}_{self.ordinal}"


def cuda_count() -> int:
    """How many CUDA GPUs this process may use, without loading CUDA."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    present = len(list(_GPU_FOLDER.iterdir())) if _GPU_FOLDER.is_dir() else 0
    if visible is None:
        return present
    named = [word for word in visible.split(",") if word.strip()]
    return min(present, len(named)) if "-1" not in named else 0


def check_gpus(devices: Sequence[Device]) -> None:
    """Refuse more CUDA workers than this machine has GPUs, where their number can be known."""
    wanted = sum(device.workers for device in devices if device.name == "cuda")
    if wanted > (count := cuda_count()) and not any(Path(path).exists() for path in _OTHER_GPU_PATHS):
        raise PlanError(
            f"devices: {wanted} cuda worker{'s' if wanted > 1 else ''}, but this process may use {count} CUDA GPUs. "
            "Leave cuda out, or check the driver and CUDA_VISIBLE_DEVICES."
        )


def cuda_name(ordinal: int) -> str:
    """What `CUDA_VISIBLE_DEVICES` must say for a worker to see one GPU alone, as number 0."""
    named = [word.strip() for word in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if word.strip()]
    return named[ordinal] if ordinal < len(named) else str(ordinal)


def usable_core_ids() -> list[int]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def node_devices(max_workers: int | None, devices: Devices) -> tuple[Device, ...]:
    """The CPU first, then the further devices; by default every CUDA GPU, and a CPU worker for each core left.

    A single name or `Device` is one device.

    One of many cores is left to the program itself where there are further devices: while it has none, it takes one
    from a worker whenever it decides, and a GPU whose next task is late stands still.
    """
    if devices is None:
        count = cuda_count()
        further = [Device(name="cuda", workers=count)] if count else []
    else:
        listed = [devices] if isinstance(devices, (str, Device)) else devices
        further = [Device(name=item) if isinstance(item, str) else item for item in listed]
    names = [device.name for device in further]
    for name in names:
        if name == CPU or names.count(name) > 1:
            raise PlanError(f"devices: {name!r} is named twice; the CPU's workers are `max_workers`.")
    if max_workers is None:
        cores = len(usable_core_ids())
        own = 1 if further and cores >= _MANY_CORES else 0
        max_workers = max(1, cores - own - sum(device.workers for device in further))
    if not isinstance(max_workers, Integral) or max_workers < 1:
        raise PlanError(f"max_workers = {max_workers!r} must be a whole number of at least 1.")
    return (Device(name=CPU, workers=int(max_workers)), *further)


def places(devices: Sequence[Device]) -> tuple[Place, ...]:
    """The queues of a node, in order: the CPU, then one for each worker of every further device."""
    found = [Place(index=0, device=CPU, ordinal=0, workers=devices[0].workers, memory_mb=devices[0].memory_mb)]
    for device in devices[1:]:
        for ordinal in range(device.workers):
            found.append(
                Place(index=len(found), device=device.name, ordinal=ordinal, workers=1, memory_mb=device.memory_mb)
            )
    return tuple(found)


def core_sets(cores: Sequence[int], workers: int) -> list[tuple[int, ...]]:
    """Cores for each worker, none shared; empty sets (no pinning) where there are fewer cores than workers."""
    if workers < 1 or len(cores) < workers:
        return [()] * workers
    share, rest = divmod(len(cores), workers)
    sets, begin = [], 0
    for worker in range(workers):
        # The last workers, which serve the further devices, take what is left over.
        end = begin + share + (1 if worker >= workers - rest else 0)
        sets.append(tuple(cores[begin:end]))
        begin = end
    return sets
