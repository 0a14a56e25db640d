"""HeteroPrio: GPUs take what gains most from a GPU, the CPU what gains least.

Due to E. Agullo, B. Bramas, O. Coulaud, E. Darve, M. Messner and T. Takahashi (2016), "Task-based FMM for heterogeneous
architectures"; analysed by O. Beaumont, L. Eyraud-Dubois and S. Kumar (2017). Tasks of about the same gain are one
bucket, within which the longest goes first (LPT), so that the end of a batch is even.
"""

from __future__ import annotations

import math

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.schedulers.holding.pulled import PullHold

__all__ = ["HeteroPrio"]

_MOST_GAIN = 2.0**20


class HeteroPrio(PullHold):
    """GPUs take the held task with the highest gain from a GPU, the CPU that with the lowest.

    Gains within a factor of `bucket` are one bucket; the CPU refuses what a GPU does more than `slowest` times as fast.
    """

    name = "hetero_prio"
    reason = "GPUs take the held task that gains most from a GPU, the CPU that which gains least"

    def __init__(self, bucket: float = 1.02, slowest: float = 1e6) -> None:
        if not 1.0 < bucket <= _MOST_GAIN:
            raise PlanError(f"hetero_prio: bucket = {bucket:g} must be above 1 and at most {_MOST_GAIN:g}.")
        if not 1.0 <= slowest < math.inf:
            raise PlanError(f"hetero_prio: slowest = {slowest:g} must be a finite number of at least 1.")
        count = math.ceil(2.0 * math.log(_MOST_GAIN) / math.log(bucket))
        self._edges = np.array([bucket**place / _MOST_GAIN for place in range(count + 1)])
        self._slowest = slowest

    def orders(self, identity: IntColumn, arrival: FloatColumn, seconds: FloatColumn) -> FloatColumn:
        """By bucket, then the longest first: the length is squeezed into less than one bucket's step."""
        gains = seconds[0] / seconds[1:]
        buckets = np.searchsorted(self._edges, gains).astype(np.float64)
        least = buckets.max(axis=0)
        cpu = np.where(seconds[0] > self._slowest * seconds[1:].min(axis=0), math.inf, least)
        return np.vstack([cpu, -buckets]) - seconds / (1.0 + seconds)
