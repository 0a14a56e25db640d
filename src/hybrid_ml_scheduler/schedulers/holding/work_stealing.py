"""Work stealing: every device has a queue of its own, and one that has nothing left takes the newest of another.

Due to F. W. Burton and M. R. Sleep (1981) and R. D. Blumofe and C. E. Leiserson (1999), "Scheduling multithreaded
computations by work stealing". Tasks are dealt to the devices in turn by their ids. It knows no durations.
"""

from __future__ import annotations

import math

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, IntColumn
from hybrid_ml_scheduler.schedulers.holding.pulled import PullHold

__all__ = ["WorkStealing"]

_BEHIND_ALL = 2.0**52


class WorkStealing(PullHold):
    """A device takes the oldest task of its own queue, else the newest one of the others."""

    name = "work_stealing"
    reason = "a device takes its own oldest task; one with none left takes the newest of another's"

    def __init__(self, steals: bool = True) -> None:
        self._steals = steals

    def orders(self, identity: IntColumn, arrival: FloatColumn, seconds: FloatColumn) -> FloatColumn:
        """Its own by rising id, then all others by falling id."""
        home = identity % len(seconds)
        own = home == np.arange(len(seconds))[:, None]
        others = _BEHIND_ALL - identity if self._steals else np.full(len(identity), math.inf)
        return np.where(own, identity.astype(np.float64), others)
