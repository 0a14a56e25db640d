"""What was measured on a machine, as records: readings with their spread, series over sizes, devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

__all__ = ["DeviceProfile", "Point", "Profile", "Reading", "Series", "disturbances", "disturbed_points"]


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


# On a quiet machine every spread stayed below 0.4 of its median; under other load some reach several medians.
_WIDE = 0.5
# Another kernel may make a larger size a little faster, never by half.
_SLOWER = 1.5


def disturbed_points(series: Series) -> list[float]:
    """Sizes whose spread exceeds half the median, or which took much longer than a larger size."""
    found = []
    for index, point in enumerate(series.points):
        later = min((other.median for other in series.points[index + 1 :]), default=point.median)
        if point.iqr > _WIDE * point.median or point.median > _SLOWER * later:
            found.append(point.at)
    return found


def disturbances(devices: Iterable[DeviceProfile]) -> list[str]:
    """One sentence for each device on which other work probably ran while it was measured."""
    said = []
    for device in devices:
        odd = {name: disturbed_points(series) for name, series in device.series.items()}
        count, total = sum(map(len, odd.values())), sum(len(series.points) for series in device.series.values())
        if count:
            where = ", ".join(name for name, sizes in odd.items() if sizes)
            said.append(
                f"{count} of {total} points of {device.name} look disturbed by other work ({where}): "
                "measure again on a quiet machine before relying on them."
            )
    return said
