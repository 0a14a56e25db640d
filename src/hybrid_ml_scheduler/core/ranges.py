"""A distribution of positive numbers in constant memory: counts in ranges that are one per cent wide."""

from __future__ import annotations

import math

import numpy as np

from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn

__all__ = ["BUCKETS", "LEAST", "STEP", "buckets_of", "packed_counts", "percentile_of", "unpacked_counts"]

LEAST, _MOST = 1e-7, 1e8
STEP = math.log(1.01)
BUCKETS = math.ceil(math.log(_MOST / LEAST) / STEP)


def buckets_of(values: FloatColumn) -> IntColumn:
    """Return the range that each number falls into; the first and the last have no end."""
    scaled = np.log(np.maximum(values, LEAST) / LEAST) / STEP
    buckets: IntColumn = np.minimum(scaled, BUCKETS - 1).astype(np.int64)
    return buckets


def percentile_of(counts: IntColumn, percent: float) -> float | None:
    """Return a percentile, half a per cent away at most from the number of that rank."""
    total = int(counts.sum())
    if not total:
        return None
    rank = math.floor(percent / 100.0 * (total - 1))
    bucket = int(np.searchsorted(np.cumsum(counts), rank, side="right"))
    # The value with the same relative distance to both ends of the range.
    return LEAST * math.exp(bucket * STEP) * 2.0 * 1.01 / 2.01


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
