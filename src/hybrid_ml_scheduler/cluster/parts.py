"""Queues of parts in compiled form: what was promised to each device and what is believed of it.

Every part is one row of `table`: actual start, actual finish, estimated seconds, and the estimated moment
before which it cannot start (serial co-execution). `chain` links the parts of a device in order. When a part is
queued it is promised an end; `promised` remembers, for each device, those of the first and of the last part in its
queue. The promises move with the first part, by as much as it is early or late, so that however long a queue
is, its believed end is one sum.
"""

from __future__ import annotations

from numba import njit

from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn

__all__ = ["append_part", "estimated_end"]

START, FINISH, ESTIMATE, NOT_BEFORE = 0, 1, 2, 3
FIRST, LAST = 0, 1


@njit(cache=True, error_model="numpy")
def estimated_end(
    device: int, now: float, heads: IntColumn, chain: IntColumn, table: FloatColumn, promised: FloatColumn
) -> float:
    """When the device is believed to be free: finished parts are known, unfinished ones are estimated."""
    part = heads[device]
    while part >= 0 and table[part, FINISH] <= now:
        part = chain[part]
        if part >= 0:
            promised[device, FIRST] = max(promised[device, FIRST], table[part, NOT_BEFORE]) + table[part, ESTIMATE]
    heads[device] = part
    if part < 0:
        return now
    if table[part, START] <= now:
        end = max(now, table[part, START] + table[part, ESTIMATE])
    else:
        end = max(now, table[part, NOT_BEFORE]) + table[part, ESTIMATE]
    return max(end, promised[device, LAST] + (end - promised[device, FIRST]))


@njit(cache=True, error_model="numpy")
def append_part(
    device: int,
    part: int,
    now: float,
    start: float,
    finish: float,
    estimate: float,
    not_before: float,
    heads: IntColumn,
    tails: IntColumn,
    chain: IntColumn,
    table: FloatColumn,
    promised: FloatColumn,
) -> None:
    """Queue a part behind what was promised to the device before (`estimated_end` has been asked at this moment)."""
    table[part, START] = start
    table[part, FINISH] = finish
    table[part, ESTIMATE] = estimate
    table[part, NOT_BEFORE] = not_before
    chain[part] = -1
    if heads[device] < 0:
        heads[device] = part
        promised[device, LAST] = max(now, not_before) + estimate
        promised[device, FIRST] = promised[device, LAST]
    else:
        promised[device, LAST] = max(promised[device, LAST], not_before) + estimate
        chain[tails[device]] = part
    tails[device] = part
