"""A physics node from a measured profile, and in words what was assumed on the way."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.errors import ProfileError
from hybrid_ml_scheduler.core.tasks import FloatColumn, TaskBatch
from hybrid_ml_scheduler.hardware.files import read_profile
from hybrid_ml_scheduler.hardware.profile import DeviceProfile, Profile, Series

if TYPE_CHECKING:
    # Loaded late below: measuring a bare machine must not need the compiler that physics brings.
    from hybrid_ml_scheduler.physics import Cpu, Curves, Gpu, Node
    from hybrid_ml_scheduler.physics.gpu_types import GpuCurves

__all__ = ["TRANSFERS", "assumptions", "gpu_curves", "node_from_profile", "outside_range"]

TRANSFERS = ("pinned", "pageable")
_LEAST_SIZES = 2
_MOST_GPUS = 1024
_WORK = ("stream", "matmul")
_MEGABYTE = 1e6
Mask = npt.NDArray[np.bool_]


def node_from_profile(path: Path, *, transfer: str = "pinned", num_gpus: int | None = None) -> Node:
    """The node that was measured: `num_gpus` of its GPUs (default: as many as were found)."""
    from hybrid_ml_scheduler.physics import Node

    profile = read_profile(path)
    gpu = _measured_gpu(profile, path)
    count = gpu.facts.get("count", 1) if num_gpus is None else num_gpus
    if not isinstance(count, (int, float)) or not 1 <= count <= _MOST_GPUS:
        raise ProfileError(f"{path}: a node has 1 to {_MOST_GPUS} GPUs, not {count!r}.")
    return Node(
        cpu=_cpu(profile.cpu),
        gpus=(_gpu(gpu, transfer, path),) * int(count),
        curves=_curves(profile, path),
    )


def _measured_gpu(profile: Profile, path: Path | str) -> DeviceProfile:
    if profile.gpu is None:
        raise ProfileError(
            f"{path} holds no GPU, and a race needs one: measure on a machine with CUDA or MPS, "
            "or take a profile that has one, such as plans/hardware/h200.json."
        )
    return profile.gpu


def _cpu(device: DeviceProfile) -> Cpu:
    from hybrid_ml_scheduler.physics import Cpu

    powers: dict[str, Any] = {**_powers(device)}
    return Cpu(**powers)


def _gpu(device: DeviceProfile, transfer: str, path: Path) -> Gpu:
    from hybrid_ml_scheduler.physics import Gpu
    from hybrid_ml_scheduler.physics.gpu_types import type_in

    memory_mb = device.facts.get("memory_mb")
    if not isinstance(memory_mb, (int, float)) or memory_mb <= 0:
        raise ProfileError(f"The hardware profile {path} is damaged: gpu.facts.memory_mb must be a number above 0.")
    if "launch" not in device.readings:
        raise ProfileError(f"The hardware profile {path} is damaged: gpu.readings.launch is missing.")
    powers: dict[str, Any] = {**_powers(device)}
    return Gpu(
        memory_mb=float(memory_mb),
        bandwidth_mb_s=_bandwidth_mb_s(_transfer_series(device, transfer, path)),
        launch_s=device.readings["launch"].median,
        type=type_in(device.name),
        **powers,
    )


def _powers(device: DeviceProfile) -> dict[str, float]:
    """The measured powers; what was not readable keeps the default of the physics."""
    names = {"busy_power": "power_w", "idle_power": "idle_power_w"}
    return {names[name]: device.readings[name].median for name in names if name in device.readings}


def _transfer_series(device: DeviceProfile, transfer: str, path: Path) -> Series:
    if transfer not in TRANSFERS:
        raise ProfileError(f"transfer = {transfer!r} must be one of {', '.join(TRANSFERS)}.")
    # Memory shared by CPU and GPU (MPS) knows no pinning: its one kind of copy is used.
    for kind in (transfer, "pageable"):
        series = device.series.get(f"transfer_{kind}_to_device")
        if series is not None and series.points:
            return series
    raise ProfileError(f"The hardware profile {path} is damaged: gpu.series.transfer_{transfer}_to_device is missing.")


def _bandwidth_mb_s(series: Series) -> float:
    """The rate of the largest copy: tasks move megabytes, far beyond the size where a copy's start matters."""
    largest = series.points[-1]
    return largest.at / _MEGABYTE / largest.median


def _curves(profile: Profile, path: Path) -> Curves:
    from hybrid_ml_scheduler.physics import Curves
    from hybrid_ml_scheduler.physics.gpu_types import type_in

    gpu = _measured_gpu(profile, path)
    wanted = {
        "cpu_serial_s": (profile.cpu, "stream"),
        "cpu_dense_s": (profile.cpu, "matmul"),
        "gpu_serial_s": (gpu, "stream"),
        "gpu_dense_s": (gpu, "matmul"),
    }
    sizes = measured_sizes(profile)
    columns: dict[str, Any] = {key: _column(device.series[name], sizes) for key, (device, name) in wanted.items()}
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    source = f"{gpu.name} and {profile.cpu.name}, profile {digest}"
    return Curves(size=np.array(sizes), source=source, gpu_type=type_in(gpu.name), **columns)


def _column(series: Series, sizes: list[float]) -> FloatColumn:
    medians = series.medians
    return np.array([medians[size] for size in sizes])


def gpu_curves(path: Path) -> GpuCurves:
    """The GPU of a profile alone, to scale times from and to its type."""
    from hybrid_ml_scheduler.physics.gpu_types import GpuCurves

    profile = read_profile(path)
    gpu, sizes = _measured_gpu(profile, path), measured_sizes(profile)
    return GpuCurves(
        log_size=np.log(sizes),
        log_serial_s=np.log(_column(gpu.series["stream"], sizes)),
        log_dense_s=np.log(_column(gpu.series["matmul"], sizes)),
    )


def measured_sizes(profile: Profile) -> list[float]:
    """The problem sizes at which both kinds of work were measured on both devices, ascending."""
    devices = [device for device in (profile.cpu, profile.gpu) if device is not None]
    series = [device.series.get(name) for device in devices for name in _WORK]
    sizes = set.intersection(*(set() if one is None else set(one.medians) for one in series))
    if len(sizes) < _LEAST_SIZES:
        raise ProfileError(
            f"The hardware profile has {len(sizes)} sizes at which streaming and matrix product were both measured "
            f"on every device; it needs at least {_LEAST_SIZES}."
        )
    return sorted(sizes)


def outside_range(profile: Path | Profile, batch: TaskBatch) -> str | None:
    """One sentence if tasks lie outside the measured sizes, where the curves are only prolonged; else None."""
    found = read_profile(profile) if isinstance(profile, Path) else profile
    sizes = measured_sizes(found)
    untimed = _untimed(batch)
    below, above = untimed & (batch.size < sizes[0]), untimed & (batch.size > sizes[-1])
    outside = below | above
    if not outside.any():
        return None
    reached = batch.size[outside]
    return (
        f"{int(outside.sum()):,} of {len(batch):,} tasks have a size outside the measured {sizes[0]:g} to "
        f"{sizes[-1]:g} ({int(below.sum()):,} below, {int(above.sum()):,} above; they reach from {reached.min():g} to "
        f"{reached.max():g}): their times prolong the curves and were not measured."
    )


def _untimed(batch: TaskBatch) -> Mask:
    """The tasks whose seconds come from the curves alone."""
    return np.isnan(batch.cpu_time) & np.isnan(batch.gpu_time)


def assumptions(profile: Path | Profile, batch: TaskBatch, *, transfer: str = "pinned") -> tuple[str, ...]:
    """Every sentence a reader of a race on this profile must know."""
    found = read_profile(profile) if isinstance(profile, Path) else profile
    gpu = _measured_gpu(found, profile if isinstance(profile, Path) else "The profile")
    said = [
        *_uses(found, gpu, batch),
        f"Transfers run at the measured rate of {_kind_used(gpu, transfer)} host memory to the device; "
        "prices are the defaults.",
    ]
    for label, device in (("CPU", found.cpu), ("GPU", gpu)):
        if "busy_power" not in device.readings:
            said.append(f"No power was measured for the {label}: the default of the physics is used.")
    outside = outside_range(found, batch)
    return (*said, *found.notes, *((outside,) if outside else ()))


def _uses(profile: Profile, gpu: DeviceProfile, batch: TaskBatch) -> list[str]:
    """For how many tasks the profile gives both times, one of them, or none."""
    machine = f"{gpu.name} and {profile.cpu.name}{' (quick measurement)' if profile.quick else ''}"
    untimed, half = _untimed(batch), np.isnan(batch.cpu_time) != np.isnan(batch.gpu_time)
    said = []
    if untimed.any():
        which = "Durations" if untimed.all() else f"The durations of {_count(untimed)}"
        said.append(
            f"{which} are interpolated from measurements on {machine}: size N stands for a matrix product of "
            "dimension N at intensity 1 and for streaming N×N numbers at intensity 0."
        )
    if half.any():
        said.append(_half_timed(profile, machine, batch, half))
    timed = ~untimed & ~half
    if timed.any():
        said.append(
            f"The profile does not change the durations of {_count(timed)}: both times of these were measured, "
            f"on a machine that is not named, and are not scaled to {machine}."
        )
    return said


def _half_timed(profile: Profile, machine: str, batch: TaskBatch, half: Mask) -> str:
    """How the second time of a task is found whose first time was measured elsewhere."""
    sizes = measured_sizes(profile)
    beyond = int((half & ((batch.size < sizes[0]) | (batch.size > sizes[-1]))).sum())
    nearest = f"; for {beyond:,} beyond the measured sizes it is that of the nearest one" if beyond else ""
    without_gpu = np.isnan(batch.gpu_time[half])
    which = "GPU times" if without_gpu.all() else "missing times" if without_gpu.any() else "CPU times"
    return (
        f"The {which} of {_count(half)} follow from the other device's measured time by the speed-up "
        f"of {machine} at the task's size and intensity{nearest}. The measured time itself stays that of the machine "
        "in the file."
    )


def _count(marked: Mask) -> str:
    if len(marked) == 1:
        return "the one task"
    return f"all {len(marked):,} tasks" if marked.all() else f"{int(marked.sum()):,} of {len(marked):,} tasks"


def _kind_used(gpu: DeviceProfile, transfer: str) -> str:
    return transfer if f"transfer_{transfer}_to_device" in gpu.series else "pageable"
