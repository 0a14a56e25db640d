"""Adding seeds until every comparison is decided, with the error of repeated looking paid for.

The looks are planned beforehand (5, 10, 20, 40 ... seeds). Each of the K looks may err with probability
(1 − level) / K, over all pairs together (Holm), so that over the whole search a wrong winner is named
with probability at most 1 − level: a group-sequential design with equal Bonferroni spending. It needs no
assumption about how the looks depend on each other, and pays for that with somewhat wider intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.plans.intervals import DEFAULT_LEVEL
from hybrid_ml_scheduler.studies.statistics import Comparison, Samples, Verdict, compare_all

__all__ = ["DEFAULT_MARGIN", "Look", "is_decided", "looks_until_decided", "planned_looks", "spent_level"]

DEFAULT_MARGIN = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was known after so many seeds; `level` is that of its intervals, after paying for all looks."""

    seeds: int
    level: float
    comparisons: tuple[Comparison, ...]
    open_pairs: int

    @property
    def decided(self) -> bool:
        """Whether every pair has a winner or is shown to be equal within the margin."""
        return self.open_pairs == 0


def planned_looks(most: int, first: int = 5) -> tuple[int, ...]:
    """The numbers of seeds at which to look: doubling from `first`, and at last `most`."""
    if first < 2 or most < first:
        raise PlanError(f"--max-seeds = {most} must be at least {max(first, 2)}.")
    looks = []
    seeds = first
    while seeds < most:
        looks.append(seeds)
        seeds *= 2
    return (*looks, most)


def spent_level(level: float, looks: int) -> float:
    """The level of each look, so that all of them together hold `level`."""
    return 1.0 - (1.0 - level) / looks


def is_decided(comparison: Comparison, margin: float) -> bool:
    """Whether there is a winner, or the simultaneous interval lies within ± margin of the second's mean."""
    if comparison.verdict != Verdict.TIE:
        return True
    gap = comparison.simultaneous
    return gap.is_known and max(abs(gap.low), abs(gap.high)) <= margin * abs(comparison.second_mean)


def looks_until_decided(
    metric: str,
    sample: Callable[[int], Samples],
    *,
    most: int,
    level: float = DEFAULT_LEVEL,
    margin: float = DEFAULT_MARGIN,
    lower_is_better: bool = True,
) -> Iterator[Look]:
    """Ask `sample` for more and more seeds and yield each look; stops after the one that decides, or the last."""
    looks = planned_looks(most)
    each = spent_level(level, len(looks))
    for seeds in looks:
        found = tuple(compare_all(metric, sample(seeds), level=each, lower_is_better=lower_is_better))
        pending = sum(not is_decided(one, margin) for one in found)
        yield Look(seeds=seeds, level=each, comparisons=found, open_pairs=pending)
        if pending == 0:
            return
