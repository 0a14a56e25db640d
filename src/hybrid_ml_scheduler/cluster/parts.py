"""Queues of parts in compiled form: what was promised to each device and what is believed of it.

Every part is one row of `table`: actual start, actual finish, estimated seconds, and the estimated moment
before which it cannot start (serial co-execution). `chain` links the parts of a device in order. `known` remembers,
for each device, the head of its queue, the head's believed end and the believed end of the whole queue: while the
first two hold, so does the third, and the queue need not be walked again.
"""

from __future__ import annotations

from numba import njit

from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn

__all__ = ["append_part", "estimated_end"]

START, FINISH, ESTIMATE, NOT_BEFORE = 0, 1, 2, 3
HEAD, FIRST_END, LAST_END = 0, 1, 2


@njit(cache=True, error_model="numpy")
def estimated_end(
    device: int, now: float, heads: IntColumn, chain: IntColumn, table: FloatColumn, known: FloatColumn
) -> float:
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
    if known[device, HEAD] == part and known[device, FIRST_END] == end:
        return known[device, LAST_END]
    known[device, HEAD], known[device, FIRST_END] = part, end
    part = chain[part]
    while part >= 0:
        end = max(end, table[part, NOT_BEFORE]) + table[part, ESTIMATE]
        part = chain[part]
    known[device, LAST_END] = end
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
    known: FloatColumn,
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
        if known[device, HEAD] == heads[device]:
            known[device, LAST_END] = max(known[device, LAST_END], not_before) + estimate
        chain[tails[device]] = part
    tails[device] = part
