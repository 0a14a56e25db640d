"""Meters of energy that this machine lets a program read: RAPL counters of the CPU, NVML counters of the GPUs."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

__all__ = ["Meters"]

_RAPL = Path("/sys/class/powercap")
_LIBRARY = "libnvidia-ml.so.1"
_Read = Callable[[], float]


class Meters:
    """Joules since a moment, of everything that can be read; nothing is guessed where nothing can."""

    def __init__(self, rapl: Path = _RAPL) -> None:
        found = {"RAPL": _rapl_counters(rapl), "NVML": _nvml_counters()}
        self._counters = [counter for several in found.values() for counter in several]
        self._sources = [name for name, several in found.items() if several]
        self._began: list[float] = []

    @property
    def sentence(self) -> str:
        """Which meters are read, in words."""
        return " and ".join(self._sources) or "This machine has no meter of energy that can be read."

    def start(self) -> None:
        """Note where the counters stand."""
        self._began = [read() for read, _ in self._counters]

    def joules(self) -> float | None:
        """What was used since the start; None without a meter. A counter that began anew went once round."""
        if not self._counters or not self._began:
            return None
        total = 0.0
        for (read, wraps_at), began in zip(self._counters, self._began, strict=True):
            used = read() - began
            total += used if used >= 0.0 else used + wraps_at
        return total


def _rapl_counters(folder: Path) -> list[tuple[_Read, float]]:
    """The packages; their parts are counted in them."""
    found = []
    for zone in sorted(folder.glob("intel-rapl:[0-9]*")):
        counter, reach = zone / "energy_uj", zone / "max_energy_range_uj"
        if zone.name.count(":") > 1:
            continue
        try:
            int(counter.read_text())
            most = float(reach.read_text()) / 1e6
        except (OSError, ValueError):
            continue
        found.append((_rapl_reader(counter), most))
    return found


def _rapl_reader(counter: Path) -> _Read:
    return lambda: int(counter.read_text()) / 1e6


def _nvml_counters() -> list[tuple[_Read, float]]:
    try:
        library = ctypes.CDLL(_LIBRARY)
        if library.nvmlInit_v2() != 0:
            return []
        count = ctypes.c_uint()
        library.nvmlDeviceGetCount_v2(ctypes.byref(count))
    except (OSError, AttributeError):
        return []
    found: list[tuple[_Read, float]] = []
    for index in range(count.value):
        handle = ctypes.c_void_p()
        used = ctypes.c_ulonglong()
        known = library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(handle)) == 0
        if known and library.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(used)) == 0:
            found.append((_nvml_reader(library, handle), 2.0**64 / 1e3))
    return found


def _nvml_reader(library: ctypes.CDLL, handle: ctypes.c_void_p) -> _Read:
    def read() -> float:
        millijoules = ctypes.c_ulonglong()
        library.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(millijoules))
        return millijoules.value / 1e3

    return read
