"""How long a kind of task takes on a device, learned from measured times."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

__all__ = ["DurationModel", "Estimate", "LearnedDurations"]

# The exponent of seconds over size is believed to be near 1 (size means work) until data say otherwise.
_SLOPE_PRIOR = 1.0
_SLOPE_WEIGHT = 1.0
# Older measurements fade: a driver or a library may change. The memory is this many tasks long.
_MEMORY = 200.0
_LEAST_SPREAD = 0.02


class Estimate(NamedTuple):
    """Believed seconds, their spread (of the logarithm), and how many measurements they rest on."""

    seconds: float
    spread: float
    samples: float


class DurationModel(Protocol):
    """What the executor needs of a model of durations."""

    def estimate(self, kind: str, device: str, size: float) -> Estimate | None:
        """What is believed about a task; None if this kind was never measured on this device."""

    def observe(self, kind: str, device: str, size: float, seconds: float, cold: bool = False) -> None:
        """Learn from one measured time; `cold` is the first run of a function in a worker."""


class _Line:
    """Logarithm of seconds against logarithm of size: a fading least-squares line with a believed slope."""

    __slots__ = ("cold", "cold_s", "n", "sx", "sxx", "sxy", "sy", "syy")

    def __init__(self) -> None:
        self.n = self.sx = self.sy = self.sxx = self.sxy = self.syy = 0.0
        self.cold, self.cold_s = 0, math.inf

    def add(self, x: float, y: float) -> None:
        if self.n >= _MEMORY:
            keep = 1.0 - 1.0 / _MEMORY
            self.n, self.sx, self.sy = self.n * keep, self.sx * keep, self.sy * keep
            self.sxx, self.sxy, self.syy = self.sxx * keep, self.sxy * keep, self.syy * keep
        self.n += 1.0
        self.sx += x
        self.sy += y
        self.sxx += x * x
        self.sxy += x * y
        self.syy += y * y

    def at(self, x: float) -> Estimate:
        n, mean_x, mean_y = self.n, self.sx / self.n, self.sy / self.n
        spread_x = max(self.sxx - n * mean_x * mean_x, 0.0)
        cross = self.sxy - n * mean_x * mean_y
        slope = (cross + _SLOPE_WEIGHT * _SLOPE_PRIOR) / (spread_x + _SLOPE_WEIGHT)
        residual = max(self.syy - n * mean_y * mean_y - 2.0 * slope * cross + slope * slope * spread_x, 0.0)
        spread = math.sqrt((residual + 0.25) / (n + 1.0)) + _LEAST_SPREAD
        return Estimate(math.exp(mean_y + slope * (x - mean_x)), spread, n)


class LearnedDurations:
    """A line for every kind and device.

    The first run in a worker is a warm-up (imports, compilation, a GPU's start) and counts only while there is
    nothing better.
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], _Line] = {}

    def estimate(self, kind: str, device: str, size: float) -> Estimate | None:
        """What is believed about a task; None if this kind was never measured on this device."""
        line = self._lines.get((kind, device))
        if line is None:
            return None
        if line.n:
            return line.at(math.log(size))
        return Estimate(line.cold_s, 1.0, 0.0) if line.cold > 1 else None

    def observe(self, kind: str, device: str, size: float, seconds: float, cold: bool = False) -> None:
        """Learn from one measured time."""
        key = (kind, device)
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = _Line()
        if cold:
            line.cold += 1
            line.cold_s = min(line.cold_s, seconds)
        else:
            line.add(math.log(size), math.log(max(seconds, 1e-9)))

    def learn(self, observations: Iterable[tuple[str, str, float, float]]) -> None:
        """Start from measurements of earlier runs: (kind, device, size, seconds)."""
        for kind, device, size, seconds in observations:
            self.observe(kind, device, size, seconds)

    def known(self) -> list[tuple[str, str]]:
        """Every kind and device with a measurement."""
        return sorted(self._lines)

    def capture(self) -> dict[str, Any]:
        """The whole state as plain values."""
        return {
            "lines": [
                [*key, *(getattr(line, name) for name in _Line.__slots__)] for key, line in sorted(self._lines.items())
            ]
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a captured state."""
        self._lines.clear()
        for kind, device, *values in state["lines"]:
            line = self._lines[kind, device] = _Line()
            for name, value in zip(_Line.__slots__, values, strict=True):
                setattr(line, name, value)
