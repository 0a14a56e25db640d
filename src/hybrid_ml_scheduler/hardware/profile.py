"""What was measured on a machine, as records: readings with their spread, series over sizes, devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["DeviceProfile", "Point", "Profile", "Reading", "Series"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One quantity: median, interquartile range and number of repeats."""

    unit: str
    median: float
    iqr: float
    repeats: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One reading of a series, at a matrix dimension or a number of bytes."""

    at: float
    median: float
    iqr: float
    repeats: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One quantity over sizes: `axis` names the size (`size` or `bytes`), `method` how it was timed."""

    unit: str
    axis: str
    method: str
    points: tuple[Point, ...]

    @property
    def medians(self) -> dict[float, float]:
        """The median at every size."""
        return {point.at: point.median for point in self.points}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceProfile:
    """A CPU or one kind of GPU: its name, plain facts, series and single readings."""

    name: str
    facts: Mapping[str, float | str] = field(default_factory=dict)
    series: Mapping[str, Series] = field(default_factory=dict)
    readings: Mapping[str, Reading] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Everything measured on one machine; `gpu` is None where no GPU was found or asked for."""

    machine: Mapping[str, str]
    quick: bool
    cpu: DeviceProfile
    gpu: DeviceProfile | None = None
    notes: tuple[str, ...] = ()
