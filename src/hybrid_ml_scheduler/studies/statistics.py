"""Paired comparisons over seeds: who is better, by how much, and whether that is shown at all.

Every strategy meets the same tasks for the same seed (common random numbers), so strategies are compared by
their differences seed by seed. Over all pairs of one metric the error is held at 1 − level by Holm's method.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations

import numpy as np

from hybrid_ml_scheduler.core.tasks import FloatColumn
from hybrid_ml_scheduler.plans.intervals import DEFAULT_LEVEL, Interval, t_interval

__all__ = [
    "EQUAL",
    "EQUAL_WITHIN",
    "NOT_DECIDED",
    "POWER",
    "Comparison",
    "Samples",
    "Verdict",
    "compare",
    "compare_all",
    "holm",
    "paired_p_value",
]

POWER = 0.8  # the chance with which a difference of the detectable size is shown
EQUAL_WITHIN = 0.01  # of the second's mean: so near is as good as equal
MOST_SUGGESTED = 10_000
NOT_DECIDED, EQUAL = "not decided", "equal"  # in place of a winner
Samples = Mapping[str, Sequence[float] | FloatColumn]


class Verdict(str, Enum):
    """The three possible answers of a comparison."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One pair of strategies on one metric; `difference` is the mean of first − second over seeds.

    `p_adjusted` is Holm's p over all pairs of the metric. `difference` is the interval of this pair alone,
    `simultaneous` the wider one that holds for all pairs at once (Bonferroni).
    """

    metric: str
    first: str
    second: str
    difference: Interval
    simultaneous: Interval
    second_mean: float
    p_value: float
    p_adjusted: float
    verdict: Verdict

    @property
    def relative(self) -> float:
        """The difference as a share of the second's mean."""
        return self.difference.mean / abs(self.second_mean) if self.second_mean != 0.0 else math.nan

    @property
    def is_decided(self) -> bool:
        """Whether there is a winner, or the interval over all pairs lies within the margin of equality."""
        if self.verdict != Verdict.TIE:
            return True
        gap = self.simultaneous
        return gap.is_known and max(abs(gap.low), abs(gap.high)) <= EQUAL_WITHIN * abs(self.second_mean)

    @property
    def detectable(self) -> float:
        """The least difference that would have been shown with the usual power, over all pairs; NaN if not known."""
        return self.simultaneous.half_width * _stretch(self.simultaneous)

    @property
    def seeds_suggested(self) -> int | None:
        """About how many seeds would show the difference that was seen; None where none would, or it is shown."""
        seen, needed = abs(self.difference.mean), self.detectable
        if self.verdict != Verdict.TIE or self.is_decided or not (seen > 0.0 and needed > 0.0):
            return None
        count = self.difference.count * (needed / seen) ** 2
        return math.ceil(count) if count <= MOST_SUGGESTED else None

    @property
    def winner(self) -> str | None:
        """The better strategy, or None where no difference is shown."""
        return {Verdict.FIRST: self.first, Verdict.SECOND: self.second, Verdict.TIE: None}[self.verdict]


def _stretch(interval: Interval) -> float:
    """How many half-widths a true difference must have to be shown with the usual power."""
    if not interval.is_known or interval.count < 2:
        return math.nan
    from scipy.special import stdtrit

    freedom = interval.count - 1
    return 1.0 + float(stdtrit(freedom, POWER) / stdtrit(freedom, 0.5 + interval.level / 2.0))


def paired_p_value(differences: Sequence[float] | FloatColumn) -> float:
    """Two-sided p of a mean difference of zero (paired t test); 1 where nothing can be said."""
    column = np.asarray(differences, dtype=np.float64)
    if len(column) < 2 or not np.isfinite(column).all():
        return 1.0
    mean, spread = float(column.mean()), float(column.std(ddof=1))
    if spread == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    from scipy.special import stdtr

    statistic = abs(mean) / (spread / math.sqrt(len(column)))
    return float(2.0 * stdtr(len(column) - 1, -statistic))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values by Holm's step-down method: valid whatever the dependence between the tests."""
    count = len(p_values)
    adjusted = [1.0] * count
    largest = 0.0
    for rank, place in enumerate(sorted(range(count), key=lambda place: (p_values[place], place))):
        largest = max(largest, min(1.0, (count - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted


def compare(first: Sequence[float] | FloatColumn, second: Sequence[float] | FloatColumn, level: float) -> Interval:
    """Interval of the mean of first − second, seed by seed."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    return t_interval(a - b, level)


def compare_all(
    metric: str, samples: Samples, *, level: float = DEFAULT_LEVEL, lower_is_better: bool = True
) -> list[Comparison]:
    """Compare every pair of strategies on one metric; a winner is named only where Holm's p is below 1 − level."""
    pairs = list(combinations(samples, 2))
    columns = {name: np.asarray(values, dtype=np.float64) for name, values in samples.items()}
    p_values = [paired_p_value(columns[a] - columns[b]) for a, b in pairs]
    compared = []
    for (a, b), p_value, adjusted in zip(pairs, p_values, holm(p_values), strict=True):
        difference = compare(columns[a], columns[b], level)
        compared.append(
            Comparison(
                metric=metric,
                first=a,
                second=b,
                difference=difference,
                simultaneous=compare(columns[a], columns[b], 1.0 - (1.0 - level) / len(pairs)),
                second_mean=float(columns[b].mean()),
                p_value=p_value,
                p_adjusted=adjusted,
                verdict=_verdict(difference.mean, adjusted, 1.0 - level, lower_is_better),
            )
        )
    return compared


def _verdict(difference: float, p_adjusted: float, error: float, lower_is_better: bool) -> Verdict:
    if not p_adjusted < error or difference == 0.0:
        return Verdict.TIE
    return Verdict.FIRST if (difference < 0.0) == lower_is_better else Verdict.SECOND
