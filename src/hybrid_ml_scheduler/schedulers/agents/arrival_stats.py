"""The pace of the arrivals as a strategy sees it: mean gap, mean work, and the load that follows from them.

A strategy that was trained elsewhere also remembers its *home*: the tasks it was trained on (mean and tolerance of
four numbers) and the load from which on it knows better than the estimates, the knee. It compares them with the tasks
it meets and trusts what it learned the less, the stranger they are. A tolerance may be so wide that its number does
not count: which ones count differs from strategy to strategy, how they are compared does not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn

__all__ = ["HOME", "Notice", "fresh_pace", "is_pace", "notice", "task_habits"]

PACE_MEMORY = 500.0  # tasks over which gaps and work are averaged
DOUBT = 20.0  # tasks that a load of one half counts for at the start
MOST_LOAD = 2.0
LEAST_WORK_S = 1e-9
HABITS = 4
HOME = 2 * HABITS + 1  # means, tolerances, knee
_BARE = 4
_SEEN, _KNOWN = _BARE, _BARE + HABITS


class Notice(NamedTuple):
    """What a strategy makes of the arrivals: the load, how busy that is (1 from the knee on), how familiar all is."""

    load: float
    busy: float
    familiar: float


def fresh_pace(home: FloatColumn | None = None) -> FloatColumn:
    """The last arrival, mean gap, mean work and number of tasks; with a home also the habits seen, and the home."""
    if home is None:
        return np.zeros(_BARE)
    return np.concatenate([np.zeros(_BARE), home[:HABITS], home])


def is_pace(column: FloatColumn) -> bool:
    """Whether a stored column has the length of a pace: compiled code would read beyond a shorter one."""
    return column.shape in ((_BARE,), (_KNOWN + HOME,))


def task_habits(size: FloatColumn, intensity: FloatColumn, memory_mb: FloatColumn, work_s: FloatColumn) -> FloatColumn:
    """The four numbers by which tasks are recognised, one row a task."""
    work = np.log(np.maximum(work_s, LEAST_WORK_S))
    return np.column_stack([np.log(size), intensity, np.log1p(memory_mb), work])


@compiled(nogil=True)
def _habit_step(size: float, intensity: float, memory_mb: float, work: float, pace: FloatColumn) -> None:
    """A task was seen: update the habits, which start at home and weigh as much as a few tasks there."""
    share = 1.0 / min(pace[3] + DOUBT, PACE_MEMORY)
    pace[_SEEN] += share * (math.log(size) - pace[_SEEN])
    pace[_SEEN + 1] += share * (intensity - pace[_SEEN + 1])
    pace[_SEEN + 2] += share * (math.log1p(memory_mb) - pace[_SEEN + 2])
    pace[_SEEN + 3] += share * (math.log(max(work, LEAST_WORK_S)) - pace[_SEEN + 3])


@compiled(nogil=True)
def _familiar(pace: FloatColumn) -> float:
    """1 at home, 0 among tasks twice as far off as tolerated."""
    worst = 0.0
    for index in range(HABITS):
        distance = abs(pace[_SEEN + index] - pace[_KNOWN + index]) / pace[_KNOWN + HABITS + index]
        worst = max(worst, distance)
    return float(min(1.0, max(0.0, 2.0 - worst)))


@compiled(nogil=True)
def _busy(load: float, knee: float) -> float:
    """1 from the knee on, falling with the square of the load below it."""
    return float(1.0 if load >= knee else (load / knee) ** 2)


@compiled(nogil=True)
def _pace_step(now: float, work: float, pace: FloatColumn) -> None:
    """A task was seen: update the means of gap and work (its seconds on the fastest device)."""
    share = max(1.0 / (pace[3] + 1.0), 1.0 / PACE_MEMORY)
    if pace[3] > 0.0:
        pace[1] += max(1.0 / pace[3], 1.0 / PACE_MEMORY) * (now - pace[0] - pace[1])
    pace[2] += share * (work - pace[2])
    pace[0] = now
    pace[3] += 1.0


@compiled(nogil=True)
def _seen_load(pace: FloatColumn, devices: int) -> float:
    """Work that comes in a second for each device, with a doubt that fades; all at once is the most."""
    seen = pace[3] - 1.0
    if seen <= 0.0:
        return 0.5
    load = min(MOST_LOAD, pace[2] / (pace[1] * devices)) if pace[1] > 0.0 else MOST_LOAD
    return float((seen * load + DOUBT * 0.5) / (seen + DOUBT))


@compiled(nogil=True)
def notice(
    now: float, work: float, size: float, intensity: float, memory_mb: float, devices: int, pace: FloatColumn
) -> Notice:
    """A task has come: remember it and say what it means; without a home all is busy and familiar."""
    _pace_step(now, work, pace)
    load = _seen_load(pace, devices)
    if pace.shape[0] == _BARE:
        return Notice(load, 1.0, 1.0)
    _habit_step(size, intensity, memory_mb, work, pace)
    return Notice(load, _busy(load, pace[_KNOWN + 2 * HABITS]), _familiar(pace))
