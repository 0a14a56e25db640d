"""Arrivals as a strategy sees them: mean gap, mean work, and the load that follows from them.

A strategy that was trained elsewhere also remembers its *training profile*: the tasks it was trained on (mean and
tolerance of four numbers) and the load from which on it knows better than the estimates, the knee. It compares them
with the tasks it meets and trusts what it learned the less, the stranger they are. A tolerance may be so wide that its
number does not count: which ones count differs from strategy to strategy, how they are compared does not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn

__all__ = ["PROFILE_LENGTH", "Notice", "fresh_arrival_stats", "is_arrival_stats", "notice", "task_habits"]

STATS_MEMORY = 500.0  # tasks over which gaps and work are averaged
DOUBT = 20.0  # tasks that a load of one half counts for at the start
MOST_LOAD = 2.0
LEAST_WORK_S = 1e-9
HABITS = 4
PROFILE_LENGTH = 2 * HABITS + 1  # means, tolerances, knee
_BARE = 4
_SEEN, _KNOWN = _BARE, _BARE + HABITS


class Notice(NamedTuple):
    """What a strategy makes of the arrivals: the load, how busy that is (1 from the knee on), how familiar all is."""

    load: float
    busy: float
    familiar: float


def fresh_arrival_stats(training_profile: FloatColumn | None = None) -> FloatColumn:
    """The last arrival, mean gap, mean work and number of tasks; with a training profile also the habits seen."""
    if training_profile is None:
        return np.zeros(_BARE)
    return np.concatenate([np.zeros(_BARE), training_profile[:HABITS], training_profile])


def is_arrival_stats(column: FloatColumn) -> bool:
    """Whether a stored column has the length of arrival statistics: compiled code would read beyond a shorter one."""
    return column.shape in ((_BARE,), (_KNOWN + PROFILE_LENGTH,))


def task_habits(size: FloatColumn, intensity: FloatColumn, memory_mb: FloatColumn, work_s: FloatColumn) -> FloatColumn:
    """The four numbers by which tasks are recognised, one row a task."""
    work = np.log(np.maximum(work_s, LEAST_WORK_S))
    return np.column_stack([np.log(size), intensity, np.log1p(memory_mb), work])


@compiled(nogil=True)
def _habit_step(size: float, intensity: float, memory_mb: float, work: float, arrival_stats: FloatColumn) -> None:
    """A task was seen: update the habits, which start as in the training and weigh as much as a few tasks."""
    share = 1.0 / min(arrival_stats[3] + DOUBT, STATS_MEMORY)
    arrival_stats[_SEEN] += share * (math.log(size) - arrival_stats[_SEEN])
    arrival_stats[_SEEN + 1] += share * (intensity - arrival_stats[_SEEN + 1])
    arrival_stats[_SEEN + 2] += share * (math.log1p(memory_mb) - arrival_stats[_SEEN + 2])
    arrival_stats[_SEEN + 3] += share * (math.log(max(work, LEAST_WORK_S)) - arrival_stats[_SEEN + 3])


@compiled(nogil=True)
def _familiar(arrival_stats: FloatColumn) -> float:
    """1 among tasks like those of the training, 0 among tasks twice as far off as tolerated."""
    worst = 0.0
    for index in range(HABITS):
        distance = (
            abs(arrival_stats[_SEEN + index] - arrival_stats[_KNOWN + index]) / arrival_stats[_KNOWN + HABITS + index]
        )
        worst = max(worst, distance)
    return float(min(1.0, max(0.0, 2.0 - worst)))


@compiled(nogil=True)
def _busy(load: float, knee: float) -> float:
    """1 from the knee on, falling with the square of the load below it."""
    return float(1.0 if load >= knee else (load / knee) ** 2)


@compiled(nogil=True)
def _arrival_step(now: float, work: float, arrival_stats: FloatColumn) -> None:
    """A task was seen: update the means of gap and work (its seconds on the fastest device)."""
    share = max(1.0 / (arrival_stats[3] + 1.0), 1.0 / STATS_MEMORY)
    if arrival_stats[3] > 0.0:
        arrival_stats[1] += max(1.0 / arrival_stats[3], 1.0 / STATS_MEMORY) * (
            now - arrival_stats[0] - arrival_stats[1]
        )
    arrival_stats[2] += share * (work - arrival_stats[2])
    arrival_stats[0] = now
    arrival_stats[3] += 1.0


@compiled(nogil=True)
def _seen_load(arrival_stats: FloatColumn, devices: int) -> float:
    """Work that comes in a second for each device, with a doubt that fades; all at once is the most."""
    seen = arrival_stats[3] - 1.0
    if seen <= 0.0:
        return 0.5
    load = min(MOST_LOAD, arrival_stats[2] / (arrival_stats[1] * devices)) if arrival_stats[1] > 0.0 else MOST_LOAD
    return float((seen * load + DOUBT * 0.5) / (seen + DOUBT))


@compiled(nogil=True)
def notice(
    now: float, work: float, size: float, intensity: float, memory_mb: float, devices: int, arrival_stats: FloatColumn
) -> Notice:
    """A task has come: remember it and say what it means; without a training profile all is busy and familiar."""
    _arrival_step(now, work, arrival_stats)
    load = _seen_load(arrival_stats, devices)
    if arrival_stats.shape[0] == _BARE:
        return Notice(load, 1.0, 1.0)
    _habit_step(size, intensity, memory_mb, work, arrival_stats)
    return Notice(load, _busy(load, arrival_stats[_KNOWN + 2 * HABITS]), _familiar(arrival_stats))
