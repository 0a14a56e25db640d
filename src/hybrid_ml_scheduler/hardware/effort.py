"""How long to measure: sizes, repeats and time limits, and the sampling loop that obeys them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hybrid_ml_scheduler.hardware.profile import Point, Reading

__all__ = ["FULL", "QUICK", "Effort", "Run", "Tick", "reading", "sample", "sweep"]

# Does the work so many times and returns the seconds it took altogether.
Run = Callable[[int], float]
# Told before each step what is measured next.
Tick = Callable[[str], None]

# A sample shorter than this would be the clock's noise; the work is repeated until it lasts so long.
_LEAST_SAMPLE_S = 0.001
_LARGEST_BURST = 256
_WARM_UPS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What is measured and for how long; sizes up to `always` are never left out."""

    sizes: tuple[int, ...]
    transfer_bytes: tuple[int, ...]
    point_s: float
    longest_point_s: float
    least_repeats: int
    most_repeats: int
    power_s: float
    settle_s: float
    always: int = 1024


FULL = Effort(
    sizes=(64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192),
    transfer_bytes=(*(4**k for k in range(6, 14)), 2**28),
    point_s=0.3,
    longest_point_s=16.0,
    least_repeats=3,
    most_repeats=100,
    power_s=4.0,
    settle_s=1.5,
)
QUICK = Effort(
    sizes=(64, 256, 1024, 4096),
    transfer_bytes=(2**16, 2**21, 2**26),
    point_s=0.05,
    longest_point_s=2.0,
    least_repeats=3,
    most_repeats=20,
    power_s=1.2,
    settle_s=1.0,
)


def sample(run: Run, effort: Effort) -> list[float]:
    """Seconds of one unit of work, sampled again and again; the warm-up is discarded."""
    once = min(run(1) for _ in range(_WARM_UPS))
    burst = min(_LARGEST_BURST, max(1, math.ceil(_LEAST_SAMPLE_S / max(once, 1e-9))))
    if burst > 1:
        run(burst)
    samples: list[float] = []
    begin = time.perf_counter()
    while len(samples) < effort.least_repeats or (
        len(samples) < effort.most_repeats and time.perf_counter() - begin < effort.point_s
    ):
        samples.append(run(burst) / burst)
    return samples


def spread(samples: list[float]) -> tuple[float, float, int]:
    """Median, interquartile range and count."""
    low, middle, high = np.quantile(samples, (0.25, 0.5, 0.75))
    return float(middle), float(high - low), len(samples)


def reading(unit: str, samples: list[float]) -> Reading:
    """A single reading from its samples."""
    median, iqr, repeats = spread(samples)
    return Reading(unit=unit, median=median, iqr=iqr, repeats=repeats)


def sweep(
    label: str, sizes: tuple[int, ...], growth: float, run_at: Callable[[int], Run], effort: Effort, tick: Tick
) -> tuple[Point, ...]:
    """Measure over growing sizes; stop before one that would take too long (time grows as size^growth)."""
    points: list[Point] = []
    pace = math.inf  # the best seconds per size^growth so far: a disturbed point must not end the sweep
    for size in sizes:
        expected_s = pace * size**growth * (_WARM_UPS + effort.least_repeats)
        if size > effort.always and points and expected_s > effort.longest_point_s:
            tick(f"{label} {size}: left out, too long")
            continue
        tick(f"{label} {size}")
        samples = sample(run_at(size), effort)
        pace = min(pace, min(samples) / size**growth)
        median, iqr, repeats = spread(samples)
        points.append(Point(at=float(size), median=median, iqr=iqr, repeats=repeats))
    return tuple(points)
