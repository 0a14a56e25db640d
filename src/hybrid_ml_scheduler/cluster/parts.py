"""Queues of parts in compiled form: what was promised to each device and what is believed of it.

Every part is one row of `table`: actual start, actual finish, estimated seconds, and the estimated moment
before which it cannot start (serial co-execution). `chain` links the parts of a device in order.
"""

from __future__ import annotations

from numba import njit

from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn

__all__ = ["append_part", "estimated_end"]

START, FINISH, ESTIMATE, NOT_BEFORE = 0, 1, 2, 3


@njit(cache=True, error_model="numpy")
def estimated_end(device: int, now: float, heads: IntColumn, chain: IntColumn, table: FloatColumn) -> float:
    """When the device is believed to be free: finished parts are known, unfinished ones are estimated."""
    part = heads[device]
    while part >= 0 and table[part, FINISH] <= now:
        part = chain[part]
    heads[device] = part
    if part < 0:
        return now
    if table[part, START] <= now:
        end = max(now, table[part, START] + table[part, ESTIMATE])
    else:
        end = max(now, table[part, NOT_BEFORE]) + table[part, ESTIMATE]
    part = chain[part]
    while part >= 0:
        end = max(end, table[part, NOT_BEFORE]) + table[part, ESTIMATE]
        part = chain[part]
    return end


@njit(cache=True, error_model="numpy")
def append_part(
    device: int,
    part: int,
    start: float,
    finish: float,
    estimate: float,
    not_before: float,
    heads: IntColumn,
    tails: IntColumn,
    chain: IntColumn,
    table: FloatColumn,
) -> None:
    """Queue a part behind what was promised to the device before."""
    table[part, START] = start
    table[part, FINISH] = finish
    table[part, ESTIMATE] = estimate
    table[part, NOT_BEFORE] = not_before
    chain[part] = -1
    if heads[device] < 0:
        heads[device] = part
    else:
        chain[tails[device]] = part
    tails[device] = part
