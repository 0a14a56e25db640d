"""The c-mu rule by pull: an idle device takes the held task that it can finish soonest.

Due to D. R. Cox and W. L. Smith (1961), "Queues"; for several servers with speeds of their own to A. Mandelbaum and
A. L. Stolyar (2004), "Scheduling flexible servers with convex delay costs". All tasks cost the same to wait here, so
the index c x mu is one over the seconds on the device.
"""

from __future__ import annotations

import math

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, IntColumn
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.schedulers.holding.pulled import PullHold

__all__ = ["CMu"]


class CMu(PullHold):
    """An idle device takes the task that is shortest on it, unless another device is `slowest` times as fast."""

    name = "c_mu"
    reason = "an idle device takes the held task that it can finish soonest"

    def __init__(self, slowest: float = 3.0) -> None:
        if not 1.0 <= slowest < math.inf:
            raise PlanError(f"c_mu: slowest = {slowest:g} must be a finite number of at least 1.")
        self._slowest = slowest

    def orders(self, identity: IntColumn, arrival: FloatColumn, seconds: FloatColumn) -> FloatColumn:
        """The seconds on the device."""
        return np.where(seconds <= self._slowest * seconds.min(axis=0), seconds, math.inf)
