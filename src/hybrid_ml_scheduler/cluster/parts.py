"""Queues of parts in compiled form: what was promised to each device and what is believed of it.

Every part is one row of `table`: actual start, actual finish, estimated seconds, the estimated moment before which
it cannot start (serial co-execution), and the end it was promised when it was queued. `chain` links the parts of a
device in order. The promises move with the first part, by as much as it is early or late, so that however long a
queue is, its believed end is one sum.
"""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn

__all__ = ["append_part", "empty_queues", "estimated_end"]

START, FINISH, ESTIMATE, NOT_BEFORE, PROMISED = 0, 1, 2, 3, 4
PART_COLUMNS = 5


@compiled()
def empty_queues(devices: int, parts: int) -> tuple[IntColumn, IntColumn, IntColumn, FloatColumn]:
    """First and last part of each device (-1 = none), what follows each part, and room for so many parts."""
    return np.full(devices, -1), np.full(devices, -1), np.empty(parts, np.int64), np.empty((parts, PART_COLUMNS))


@compiled(inline="always")
def _believed_end(part: int, now: float, table: FloatColumn) -> float:
    """When the first part of a queue will be done, as far as one can tell."""
    if table[part, START] <= now:
        return max(now, table[part, START] + table[part, ESTIMATE])
    return max(now, table[part, NOT_BEFORE]) + table[part, ESTIMATE]


@compiled()
def estimated_end(
    device: int, now: float, heads: IntColumn, tails: IntColumn, chain: IntColumn, table: FloatColumn
) -> float:
    """When the device is believed to be free: finished parts are known, unfinished ones are estimated."""
    part = heads[device]
    while part >= 0 and table[part, FINISH] <= now:
        part = chain[part]
    heads[device] = part
    if part < 0:
        return now
    end = _believed_end(part, now, table)
    return max(end, table[tails[device], PROMISED] + (end - table[part, PROMISED]))


@compiled()
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
) -> None:
    """Queue a part behind what was promised to the device before (`estimated_end` has been asked at this moment).

    Promises are kept as they were given, so what the part must wait for is set back by what the first one is late.
    """
    head, tail = heads[device], tails[device]
    if head < 0:
        heads[device] = part
        promised = max(now, not_before) + estimate
    else:
        late = _believed_end(head, now, table) - table[head, PROMISED]
        promised = max(table[tail, PROMISED], not_before - late) + estimate
        chain[tail] = part
    table[part, START] = start
    table[part, FINISH] = finish
    table[part, ESTIMATE] = estimate
    table[part, NOT_BEFORE] = not_before
    table[part, PROMISED] = promised
    chain[part] = -1
    tails[device] = part
