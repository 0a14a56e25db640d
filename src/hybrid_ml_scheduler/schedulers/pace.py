"""The pace of the arrivals as a strategy sees it: mean gap, mean work, and the load that follows from them.

A strategy that was trained elsewhere also remembers its *home*: the tasks it was trained on (mean and tolerance
of three numbers) and the load from which on it knows better than the estimates. It compares them with the tasks it
meets, and trusts what it learned the less, the stranger they are.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from hybrid_ml_scheduler.core.tasks import FloatColumn

__all__ = ["HOME", "fresh_pace", "habit_step", "pace_step", "seen_load", "task_habits", "trust"]

PACE_MEMORY = 500.0  # tasks over which gaps and work are averaged
DOUBT = 20.0  # tasks that a load of one half counts for at the start
MOST_LOAD = 2.0
HABITS = 3
HOME = 2 * HABITS + 1  # means, tolerances, knee
_SEEN, _KNOWN = 4, 4 + HABITS


def fresh_pace(home: FloatColumn | None = None) -> FloatColumn:
    """The last arrival, mean gap, mean work and number of tasks; with a home also the habits seen, and the home."""
    if home is None:
        return np.zeros(4)
    return np.concatenate([np.zeros(4), home[:HABITS], home])


def task_habits(size: FloatColumn, intensity: FloatColumn, memory_mb: FloatColumn) -> FloatColumn:
    """The three numbers by which tasks are recognised, one row a task."""
    return np.column_stack([np.log(size), intensity, np.log1p(memory_mb)])


@njit(cache=True, nogil=True, error_model="numpy")
def habit_step(size: float, intensity: float, memory_mb: float, pace: FloatColumn) -> None:
    """A task was seen: update the habits, which start at home and weigh as much as a few tasks there."""
    if pace.shape[0] == 4:
        return
    share = 1.0 / min(pace[3] + DOUBT, PACE_MEMORY)
    pace[_SEEN] += share * (math.log(size) - pace[_SEEN])
    pace[_SEEN + 1] += share * (intensity - pace[_SEEN + 1])
    pace[_SEEN + 2] += share * (math.log1p(memory_mb) - pace[_SEEN + 2])


@njit(cache=True, nogil=True, error_model="numpy")
def trust(load: float, pace: FloatColumn) -> float:
    """How far to trust what was learned: 1 at home, 0 among tasks twice as far off as tolerated; less at low load."""
    if pace.shape[0] == 4:
        return 1.0
    worst = 0.0
    for index in range(HABITS):
        distance = abs(pace[_SEEN + index] - pace[_KNOWN + index]) / pace[_KNOWN + HABITS + index]
        worst = max(worst, distance)
    knee = pace[_KNOWN + 2 * HABITS]
    busy = 1.0 if load >= knee else (load / knee) ** 2
    return float(busy * min(1.0, max(0.0, 2.0 - worst)))


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
