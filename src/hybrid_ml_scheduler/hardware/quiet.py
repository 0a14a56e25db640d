"""Telling a disturbed measurement from a quiet one."""

from __future__ import annotations

from collections.abc import Iterable

from hybrid_ml_scheduler.hardware.profile import DeviceProfile, Series

__all__ = ["disturbances", "disturbed_points"]

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
