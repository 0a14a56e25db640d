"""The shape of a dependency graph, in linear time."""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core.tasks import IntColumn

__all__ = ["levels"]


def levels(offsets: IntColumn, parents: IntColumn) -> IntColumn:
    """Return the level of every row (0 = no parents, else 1 + the deepest parent); -1 for rows behind a cycle.

    `parents[offsets[i]:offsets[i + 1]]` are the rows that row i waits for.
    """
    count = len(offsets) - 1
    waiting = np.diff(offsets)
    children, begin = _children(parents, np.repeat(np.arange(count), waiting), count)
    level = [0] * count
    left = waiting.tolist()
    free = np.flatnonzero(waiting == 0).tolist()
    done = [False] * count
    while free:
        row = free.pop()
        done[row] = True
        below = level[row] + 1
        for child in children[begin[row] : begin[row + 1]]:
            level[child] = max(level[child], below)
            left[child] -= 1
            if left[child] == 0:
                free.append(child)
    return np.where(np.array(done, dtype=np.bool_), np.array(level, dtype=np.int64), -1)


def _children(parents: IntColumn, child_of: IntColumn, count: int) -> tuple[list[int], list[int]]:
    """Turn the lists of parents round: a flat list of children and where each row's begin."""
    order = np.argsort(parents, kind="stable")
    begin = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(parents, minlength=count), out=begin[1:])
    return child_of[order].tolist(), begin.tolist()
