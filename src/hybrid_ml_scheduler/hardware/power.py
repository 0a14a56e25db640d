"""Watts where the machine lets itself be read: nvidia-smi for NVIDIA GPUs, RAPL counters for CPUs."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from hybrid_ml_scheduler.hardware.effort import Effort, reading
from hybrid_ml_scheduler.hardware.profile import Reading

__all__ = ["busy_gpu_power", "cpu_power", "gpu_watts", "idle_gpu_power"]

_QUERY = ("nvidia-smi", "--query-gpu=uuid,power.draw", "--format=csv,noheader,nounits")
_IDLE_SAMPLES = 5
_CPU_SAMPLES = 4
_SPARE_S = 0.5
_COUNTERS = Path("/sys/class/powercap")


def gpu_watts() -> dict[str, float]:
    """The power of every readable NVIDIA GPU now, by its unique id; empty where nothing can be read."""
    try:
        asked = subprocess.run(_QUERY, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return {}
    return watts_of(asked.stdout)


def watts_of(answer: str) -> dict[str, float]:
    """Read the lines `id, watts`; a GPU that does not tell its power is left out."""
    found = {}
    for line in answer.splitlines():
        unique_id, _, watts = line.partition(",")
        try:
            found[unique_id.strip()] = float(watts)
        except ValueError:
            continue
    return found


def idle_gpu_power() -> dict[str, Reading]:
    """The idle power of every readable GPU; to be called before anything else touches them."""
    samples: dict[str, list[float]] = {}
    for _ in range(_IDLE_SAMPLES):
        for unique_id, watts in gpu_watts().items():
            samples.setdefault(unique_id, []).append(watts)
    return {unique_id: reading("W", watts) for unique_id, watts in samples.items()}


def busy_gpu_power(unique_id: str, work: Callable[[float], None], effort: Effort) -> Reading | None:
    """The power while `work(seconds)`, which must return at once, keeps the GPU busy; None if unreadable."""
    work(effort.power_s + _SPARE_S)
    begin = time.perf_counter()
    # nvidia-smi gives an average over about a second.
    time.sleep(effort.settle_s)
    samples: list[float] = []
    while not samples or time.perf_counter() - begin < effort.power_s:
        watts = gpu_watts().get(unique_id)
        if watts is None:
            return None
        samples.append(watts)
    return reading("W", samples)


def counters(folder: Path = _COUNTERS) -> dict[str, tuple[float, float]]:
    """Energy counters of the CPU packages: joules so far, and where the counter wraps."""
    found = {}
    for package in sorted(folder.glob("intel-rapl:?")):
        try:
            used, most = (int((package / name).read_text()) for name in ("energy_uj", "max_energy_range_uj"))
        except (OSError, ValueError):
            continue
        found[package.name] = (used / 1e6, most / 1e6)
    return found


def joules_between(before: dict[str, tuple[float, float]], after: dict[str, tuple[float, float]]) -> float:
    """Energy used between two states of the counters, each of which may have wrapped once."""
    return sum((after[name][0] - used) % most if most else 0.0 for name, (used, most) in before.items())


def cpu_power(work: Callable[[float], None], seconds: float) -> Reading | None:
    """Watts of all CPU packages while `work(seconds)` runs; None where the counters cannot be read."""
    if not counters():
        return None
    samples = []
    for _ in range(_CPU_SAMPLES):
        before, begin = counters(), time.perf_counter()
        work(seconds / _CPU_SAMPLES)
        samples.append(joules_between(before, counters()) / (time.perf_counter() - begin))
    return reading("W", samples)
