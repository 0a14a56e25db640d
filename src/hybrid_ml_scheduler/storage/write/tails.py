"""How results are spread: what percentiles, slowdowns and kept deadlines of a range are made from without its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn
from hybrid_ml_scheduler.core.ranges import BUCKETS, buckets_of, percentile_of
from hybrid_ml_scheduler.physics.optimum import bounded_slowdown

__all__ = ["COUNTED", "RANGES", "Spread", "spread_columns"]

RANGES = "ranges"
COUNTED = ("told", "due", "in_time")
_RANGE = np.dtype("<u2")


def spread_columns(
    latency_s: FloatColumn, fastest_s: FloatColumn, deadline_s: FloatColumn, starts: np.ndarray
) -> dict[str, list[Any]]:
    """Return what is kept of the groups that begin at `starts`; NaN is a task that failed, has no label or no deadline.

    `told` counts the tasks with a slowdown, `due` those with a deadline, `in_time` those that kept it.
    """
    done, due = np.isfinite(latency_s), ~np.isnan(deadline_s)
    slowdown = bounded_slowdown(latency_s, fastest_s)
    told = np.isfinite(slowdown)
    kept = due & (latency_s <= deadline_s)  # a task that failed has no latency, which keeps no deadline
    packed = buckets_of(latency_s[done]).astype(_RANGE).tobytes()
    ends = (_RANGE.itemsize * np.cumsum(np.add.reduceat(done.astype(np.int64), starts))).tolist()
    counts = {
        name: np.add.reduceat(which.astype(np.int64), starts).tolist()
        for name, which in zip(COUNTED, (told, due, kept), strict=True)
    }
    worst = np.fmax.reduceat(np.where(told, slowdown, np.nan), starts).tolist()
    return {
        RANGES: [packed[begin:end] for begin, end in zip([0, *ends], ends, strict=False)],
        **counts,
        "sum_slowdown": np.add.reduceat(np.where(told, slowdown, 0.0), starts).tolist(),
        "high_slowdown": [None if value != value else value for value in worst],
    }


class Spread:
    """How the results of one strategy in a range are spread, put together from stretches and single rows."""

    __slots__ = ("_counts", "_due", "_in_time", "_slowdown", "_told", "_worst")

    def __init__(self) -> None:
        self._counts = np.zeros(BUCKETS, dtype=np.int64)
        self._told = self._due = self._in_time = 0
        self._slowdown, self._worst = 0.0, 0.0

    @property
    def finished(self) -> int:
        """How many finished results are known."""
        return int(self._counts.sum())

    @property
    def within_deadline(self) -> float | None:
        """The share of the tasks with a deadline that kept it."""
        return self._in_time / self._due if self._due else None

    @property
    def slowdowns(self) -> tuple[float, float] | tuple[None, None]:
        """The mean and the longest slowdown, where labels are known."""
        return (self._slowdown / self._told, self._worst) if self._told else (None, None)

    def percentile(self, percent: float) -> float | None:
        """Return a percentile of latency, half a per cent away at most from the number of that rank."""
        return percentile_of(self._counts, percent)

    def add_stretches(self, ranges: bytes, counts: tuple[int, int, int], slowdown: float, worst: float | None) -> None:
        """Add what is kept of stretches."""
        self._counts += np.bincount(np.frombuffer(ranges, dtype=_RANGE), minlength=BUCKETS)
        told, due, in_time = counts
        self._told, self._due, self._in_time = self._told + told, self._due + due, self._in_time + in_time
        self._slowdown, self._worst = self._slowdown + slowdown, max(self._worst, worst or 0.0)

    def add_rows(self, latency_s: FloatColumn, fastest_s: FloatColumn, deadline_s: FloatColumn) -> None:
        """Add single results, NaN as in `spread_columns`."""
        one = {
            name: column[0] for name, column in spread_columns(latency_s, fastest_s, deadline_s, np.array([0])).items()
        }
        counts = (one["told"], one["due"], one["in_time"])
        self.add_stretches(one[RANGES], counts, one["sum_slowdown"], one["high_slowdown"])
