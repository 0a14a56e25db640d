"""A distribution of positive numbers in constant memory: counts in ranges that are one per cent wide."""

from __future__ import annotations

import math

import numpy as np

from hybrid_ml_scheduler.core import IntColumn
from hybrid_ml_scheduler.core.compiled import compiled

__all__ = ["BUCKETS", "bucket_of", "packed_counts", "percentile_of", "unpacked_counts"]

_LEAST, _MOST = 1e-7, 1e8
_STEP = math.log(1.01)
BUCKETS = math.ceil(math.log(_MOST / _LEAST) / _STEP)


@compiled()
def bucket_of(value: float) -> int:
    """Return the range that a number falls into; the first and the last have no end."""
    if not value > _LEAST:
        return 0
    return min(BUCKETS - 1, int(math.log(value / _LEAST) / _STEP))


def percentile_of(counts: IntColumn, percent: float) -> float | None:
    """Return a percentile, half a per cent away at most from the number of that rank."""
    total = int(counts.sum())
    if not total:
        return None
    rank = math.floor(percent / 100.0 * (total - 1))
    bucket = int(np.searchsorted(np.cumsum(counts), rank, side="right"))
    # The value with the same relative distance to both ends of the range.
    return _LEAST * math.exp(bucket * _STEP) * 2.0 * 1.01 / 2.01


def packed_counts(counts: IntColumn) -> tuple[int, IntColumn]:
    """Return the part that is not empty, and where it begins: a checkpoint need not hold thousands of zeros."""
    used = np.flatnonzero(counts)
    if not len(used):
        return 0, counts[:0].copy()
    return int(used[0]), counts[used[0] : used[-1] + 1].copy()


def unpacked_counts(packed: tuple[int, IntColumn]) -> IntColumn:
    """Return all ranges again."""
    begin, part = packed
    counts = np.zeros(BUCKETS, dtype=np.int64)
    counts[begin : begin + len(part)] = part
    return counts
