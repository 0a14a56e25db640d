"""One policy on one node: its figures over seeds, and what they say of the target."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hybrid_ml_scheduler.plans.intervals import Interval, t_interval

__all__ = ["Trial", "paired_difference", "verdict_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One policy on one node: the target's metric over seeds, and whether the target is kept, broken or open.

    `peak` is the metric over the tasks that arrive at the busiest time, and `cannot_run` is how many tasks need more
    GPUs at once than the node has.
    """

    node: str
    policy: str
    price: float
    price_usd_h: float
    interval: Interval
    peak: Interval
    limit: float
    values: tuple[float, ...]
    cannot_run: int = 0
    load: float | None = None
    is_dropped: bool = False

    @property
    def verdict(self) -> str:
        """`kept` or `broken` where the whole intervals say so (one value: where it says so), else `open`.

        A policy that got fewer seeds than others of its node, because it was worse there, is never said to keep it.
        """
        both = {verdict_of(one, self.limit) for one in (self.interval, self.peak)}
        if self.cannot_run or "broken" in both:
            return "broken"
        return "open" if "open" in both or self.is_dropped else "kept"

    @property
    def breaks_at_peak_only(self) -> bool:
        """Whether the target is kept over all tasks, and not at the busiest time."""
        return verdict_of(self.interval, self.limit) == "kept" and verdict_of(self.peak, self.limit) != "kept"

    @property
    def rank(self) -> tuple[bool, float, float, str, str]:
        """The best first: those that run all tasks, then by the metric, then by price."""
        mean = math.inf if math.isnan(self.interval.mean) else self.interval.mean
        return bool(self.cannot_run), mean, self.price, self.node, self.policy


def verdict_of(interval: Interval, limit: float) -> str:
    """`kept` or `broken` where the whole interval lies on one side of the limit, else `open`."""
    low, high = interval.low, interval.high
    if math.isnan(low):
        low = high = interval.mean
    if math.isnan(interval.mean) or low > limit:
        return "broken"
    return "kept" if high <= limit else "open"


def paired_difference(one: Trial, other: Trial) -> Interval:
    """The interval of the difference of two trials over the seeds that both were run with."""
    count = min(len(one.values), len(other.values))
    return t_interval(np.subtract(one.values[:count], other.values[:count]))
