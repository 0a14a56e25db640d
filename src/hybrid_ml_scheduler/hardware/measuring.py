"""Measuring this machine from end to end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hybrid_ml_scheduler.core.errors import ProfileError
from hybrid_ml_scheduler.hardware.backend import Backend, Cuda
from hybrid_ml_scheduler.hardware.effort import FULL, QUICK, Effort, Tick
from hybrid_ml_scheduler.hardware.machine import cpu_model, describe_machine, usable_cores
from hybrid_ml_scheduler.hardware.power import busy_gpu_power, cpu_power, idle_gpu_power
from hybrid_ml_scheduler.hardware.profile import DeviceProfile, Profile, Reading, disturbances
from hybrid_ml_scheduler.hardware.series import launch, matmul, product, stream_add, transfers

__all__ = ["DEVICES", "Progress", "measure"]

DEVICES = ("auto", "cpu", "cuda", "mps")
# Told what is measured next, how many steps are done and how many there are.
Progress = Callable[[str, int, int], None]

# Large enough that a few hundred queued products last for seconds: a launch queue holds about a thousand.
_BUSY_SIZE = 8192
_WARM_SIZE = 1024
_MEGABYTE = 1e6


def measure(
    *, quick: bool = False, device: str = "auto", progress: Progress | None = None, effort: Effort | None = None
) -> Profile:
    """Measure the CPU and, where present and wanted, a GPU; `effort` overrides `quick`."""
    effort = effort or (QUICK if quick else FULL)
    accelerator = chosen_accelerator(device)
    idle = idle_gpu_power() if accelerator == "cuda" else {}
    tick = _counted(progress, steps(effort, accelerator))
    notes: list[str] = []
    with _all_cores(), _plain_fp32():
        cpu = _measured_cpu(effort, tick, notes)
        gpu = None if accelerator is None else _measured_gpu(accelerator, effort, tick, idle, notes)
    notes += disturbances([device for device in (cpu, gpu) if device is not None])
    tick("done")
    return Profile(machine=describe_machine(), quick=quick, cpu=cpu, gpu=gpu, notes=tuple(notes))


def chosen_accelerator(device: str) -> str | None:
    """The GPU backend to measure, or None; one that was asked for must be there."""
    import torch

    if device not in DEVICES:
        raise ProfileError(f"--device {device!r} must be one of {', '.join(DEVICES)}.")
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device == "auto":
        return next((kind for kind, found in present.items() if found), None)
    if device != "cpu" and not present[device]:
        raise ProfileError(f"--device {device}: torch {torch.__version__} finds no such device on this machine.")
    return None if device == "cpu" else device


def steps(effort: Effort, accelerator: str | None) -> int:
    """How many steps a measurement has, for the progress bar."""
    sizes, copies = len(effort.sizes), 2 * len(effort.transfer_bytes)
    gpu = {None: 0, "mps": 3 * sizes + copies + 1, "cuda": 4 * sizes + 2 * copies + 2}
    return 2 * sizes + 1 + gpu[accelerator]


def _counted(progress: Progress | None, total: int) -> Tick:
    done = -1

    def tick(label: str) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(label, min(done, total), total)

    return tick


@contextmanager
def _all_cores() -> Iterator[None]:
    """Let torch use every core while measuring, and give back the number of threads found."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(usable_cores())
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def _plain_fp32(precision: str = "highest") -> Iterator[None]:
    """Choose between fp32 as it is ("highest") and TF32 ("high"), and put back what was set before."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _measured_cpu(effort: Effort, tick: Tick, notes: list[str]) -> DeviceProfile:
    backend = Backend("cpu")
    idle = cpu_power(time.sleep, effort.power_s / 2)
    series = {"matmul": matmul(backend, effort, tick), "stream": stream_add(backend, effort, tick)}
    tick("cpu power")
    busy = None if idle is None else cpu_power(lambda seconds: _keep_busy(backend, seconds), effort.power_s / 2)
    if idle is None:
        notes.append("CPU power could not be read (no readable RAPL counters).")
    return DeviceProfile(
        name=cpu_model(),
        facts={"threads": usable_cores(), "precision": "fp32"},
        series=series,
        readings=_present(idle_power=idle, busy_power=busy),
    )


def _measured_gpu(kind: str, effort: Effort, tick: Tick, idle: dict[str, Reading], notes: list[str]) -> DeviceProfile:
    backend = Cuda() if kind == "cuda" else Backend(kind)
    _keep_busy(backend, effort.settle_s / 3)  # clocks rise from idle only under load
    series = {
        "matmul": matmul(backend, effort, tick),
        "matmul_alone": matmul(backend, effort, tick, label="lone product", alone=True),
        "stream": stream_add(backend, effort, tick),
        **transfers(backend, effort, tick, pinned=False),
    }
    tick(f"{kind} launch")
    readings = {
        "launch": launch(backend, effort, awaited=True),
        "launch_queued": launch(backend, effort, awaited=False),
    }
    if kind == "cuda":
        with _plain_fp32("high"):
            series["matmul_tf32"] = matmul(backend, effort, tick, label="TF32 product")
        series.update(transfers(backend, effort, tick, pinned=True))
        tick("cuda power")
        readings.update(_cuda_power(backend, effort, idle))
    if "busy_power" not in readings:
        notes.append("GPU power could not be read.")
    name, facts = _cuda_facts(notes) if kind == "cuda" else _mps_facts()
    return DeviceProfile(name=name, facts=facts, series=series, readings=readings)


def _keep_busy(backend: Backend, seconds: float) -> None:
    """Multiply matrices for so long."""
    call = product(backend, _WARM_SIZE)
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for turn in range(10):
            call(turn)
        backend.synchronize()


def _cuda_power(backend: Backend, effort: Effort, idle: dict[str, Reading]) -> dict[str, Reading]:
    import torch

    unique_id = f"GPU-{torch.cuda.get_device_properties(0).uuid}"
    if unique_id not in idle:
        return {}
    call = product(backend, _BUSY_SIZE)
    once = min(backend.alone(call)(1) for _ in range(2))

    def work(seconds: float) -> None:
        for turn in range(int(seconds / once)):
            call(turn)

    busy = busy_gpu_power(unique_id, work, effort)
    backend.synchronize()
    return _present(idle_power=idle[unique_id], busy_power=busy)


def _cuda_facts(notes: list[str]) -> tuple[str, dict[str, float | str]]:
    import torch

    names = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    others = [name for name in names if name != names[0]]
    if others:
        notes.append(f"Only {names[0]} was measured; this machine also has {', '.join(others)}.")
    properties = torch.cuda.get_device_properties(0)
    facts: dict[str, float | str] = {
        "backend": "cuda",
        "precision": "fp32",
        "count": len(names) - len(others),
        "memory_mb": properties.total_memory / _MEGABYTE,
        "multiprocessors": properties.multi_processor_count,
    }
    return names[0], facts


def _mps_facts() -> tuple[str, dict[str, float | str]]:
    import torch

    memory_mb = torch.mps.recommended_max_memory() / _MEGABYTE
    return f"{cpu_model()} GPU", {"backend": "mps", "precision": "fp32", "count": 1, "memory_mb": memory_mb}


def _present(**readings: Reading | None) -> dict[str, Reading]:
    return {name: found for name, found in readings.items() if found is not None}
