"""The pace of the arrivals as a strategy sees it: mean gap, mean work, and the load that follows from them."""

from __future__ import annotations

import numpy as np
from numba import njit

from hybrid_ml_scheduler.core.tasks import FloatColumn

__all__ = ["fresh_pace", "pace_step", "seen_load"]

PACE_MEMORY = 500.0  # tasks over which gaps and work are averaged
DOUBT = 20.0  # tasks that a load of one half counts for at the start
MOST_LOAD = 2.0


def fresh_pace() -> FloatColumn:
    """What is remembered of the arrivals: the last one, mean gap, mean work of a task, number of tasks."""
    return np.zeros(4)


@njit(cache=True, nogil=True, error_model="numpy")
def pace_step(now: float, work: float, pace: FloatColumn) -> None:
    """A task was seen: update the means of gap and work (its seconds on the fastest device)."""
    share = max(1.0 / (pace[3] + 1.0), 1.0 / PACE_MEMORY)
    if pace[3] > 0.0:
        pace[1] += max(1.0 / pace[3], 1.0 / PACE_MEMORY) * (now - pace[0] - pace[1])
    pace[2] += share * (work - pace[2])
    pace[0] = now
    pace[3] += 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def seen_load(pace: FloatColumn, devices: int) -> float:
    """Work that comes in a second for each device, with a doubt that fades; all at once is the most."""
    seen = pace[3] - 1.0
    if seen <= 0.0:
        return 0.5
    load = min(MOST_LOAD, pace[2] / (pace[1] * devices)) if pace[1] > 0.0 else MOST_LOAD
    return float((seen * load + DOUBT * 0.5) / (seen + DOUBT))
