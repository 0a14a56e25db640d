"""Longest paths through a task graph: how early a task can be ready, how much must follow it."""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn

__all__ = ["heads_and_tails"]


@compiled()
def heads_and_tails(
    arrival: FloatColumn, fastest: FloatColumn, child_offsets: IntColumn, child_rows: IntColumn, parents: IntColumn
) -> tuple[FloatColumn, FloatColumn]:
    """Earliest ready time of each row, and the longest work that must come after its finish."""
    count = arrival.shape[0]
    heads, tails = arrival.copy(), np.zeros(count)
    if child_rows.shape[0] == 0:
        return heads, tails
    waiting, order = parents.copy(), np.empty(count, np.int64)
    length = 0
    for row in range(count):
        if waiting[row] == 0:
            order[length] = row
            length += 1
    done = 0
    while done < length:
        row = order[done]
        done += 1
        for place in range(child_offsets[row], child_offsets[row + 1]):
            child = child_rows[place]
            heads[child] = max(heads[child], heads[row] + fastest[row])
            waiting[child] -= 1
            if waiting[child] == 0:
                order[length] = child
                length += 1
    for place in range(length - 1, -1, -1):
        row = order[place]
        for link in range(child_offsets[row], child_offsets[row + 1]):
            child = child_rows[link]
            tails[row] = max(tails[row], fastest[child] + tails[child])
    return heads, tails
