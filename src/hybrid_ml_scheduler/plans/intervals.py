"""Confidence intervals of a mean over seeds: Student's t by default, a BCa bootstrap on request."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core.tasks import FloatColumn

__all__ = [
    "DEFAULT_LEVEL",
    "Interval",
    "bootstrap_interval",
    "bounded_interval",
    "ratio_interval",
    "share_interval",
    "t_interval",
]

DEFAULT_LEVEL = 0.95
PROVEN = ("bound", "optimum")  # the rivals that nobody can beat


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean with its interval; the ends are NaN where one value says nothing about spread."""

    mean: float
    low: float
    high: float
    count: int
    level: float = DEFAULT_LEVEL
    method: str = "t"

    @property
    def is_known(self) -> bool:
        """Whether there were enough values for an interval."""
        return not math.isnan(self.low)

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2.0


def t_interval(values: Sequence[float] | FloatColumn, level: float = DEFAULT_LEVEL) -> Interval:
    """Student's t interval of the mean; exact for normal values, good for means over many tasks."""
    column = np.asarray(values, dtype=np.float64)
    count = len(column)
    mean = float(column.mean()) if count else math.nan
    if count < 2:
        return Interval(mean=mean, low=math.nan, high=math.nan, count=count, level=level)
    # Equal values have no spread, whatever rounding makes of their mean.
    equal = bool(np.all(column == column[0]))
    mean = float(column[0]) if equal else mean
    spread = 0.0 if equal else float(column.std(ddof=1))
    if spread == 0.0 or not math.isfinite(spread):
        ends = mean if spread == 0.0 else math.nan
        return Interval(mean=mean, low=ends, high=ends, count=count, level=level)
    from scipy.special import stdtrit  # the quantile alone: scipy.stats takes a second to import

    half = float(stdtrit(count - 1, 0.5 + level / 2.0)) * spread / math.sqrt(count)
    return Interval(mean=mean, low=mean - half, high=mean + half, count=count, level=level)


def bootstrap_interval(
    values: Sequence[float] | FloatColumn,
    rng: np.random.Generator,
    level: float = DEFAULT_LEVEL,
    resamples: int = 4_000,
) -> Interval:
    """Bias-corrected and accelerated bootstrap of the mean, for values far from normal."""
    column = np.asarray(values, dtype=np.float64)
    count = len(column)
    mean = float(column.mean()) if count else math.nan
    if count < 2 or not np.isfinite(column).all():
        return Interval(mean=mean, low=math.nan, high=math.nan, count=count, level=level, method="bootstrap")
    if float(np.ptp(column)) == 0.0:
        return Interval(mean=mean, low=mean, high=mean, count=count, level=level, method="bootstrap")
    means = column[rng.integers(0, count, size=(resamples, count))].mean(axis=1)
    low, high = np.quantile(means, _bca_quantiles(column, means, level))
    return Interval(mean=mean, low=float(low), high=float(high), count=count, level=level, method="bootstrap")


def _bca_quantiles(column: FloatColumn, means: FloatColumn, level: float) -> npt.NDArray[np.float64]:
    """Where to cut the resampled means: shifted by their bias, stretched by the jackknife's skewness."""
    from scipy.special import ndtr, ndtri

    below = (np.mean(means < column.mean()) + np.mean(means <= column.mean())) / 2.0
    bias = ndtri(np.clip(below, 1e-9, 1 - 1e-9))
    others = (column.sum() - column) / (len(column) - 1)
    away = others.mean() - others
    stretch = float((away**3).sum() / (6.0 * (away**2).sum() ** 1.5))
    ends = ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    moved = bias + (bias + ends) / (1.0 - stretch * (bias + ends))
    return np.asarray(ndtr(moved), dtype=np.float64)


def bounded_interval(
    values: Sequence[float] | FloatColumn,
    *,
    least: float = 0.0,
    most: float = math.inf,
    level: float = DEFAULT_LEVEL,
) -> Interval:
    """Student's t interval cut off where the quantity cannot lie, such as a time below zero.

    What is cut off cannot hold the true mean, so the interval covers it as often as before.
    """
    plain = t_interval(values, level)
    if math.isnan(plain.low):
        return plain
    low, high = np.clip([plain.low, plain.high], least, most).tolist()
    return Interval(mean=plain.mean, low=low, high=high, count=plain.count, level=level)


def share_interval(shares: Sequence[float] | FloatColumn, level: float = DEFAULT_LEVEL) -> Interval:
    """Interval of a mean share over seeds, kept within [0, 1]."""
    return bounded_interval(shares, most=1.0, level=level)


def ratio_interval(ratios: Sequence[float] | FloatColumn, rival: str) -> Interval:
    """Interval of a mean ratio to a rival: never below zero, and to what is proven unbeatable never below 1."""
    return bounded_interval(ratios, least=1.0 if rival in PROVEN else 0.0)
