"""Queues in compiled form: binary heaps of rows ordered by (a number, task id); the ready queue has ready times."""

from __future__ import annotations

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import BoolColumn, FloatColumn, IntColumn

__all__ = ["is_before", "pop_ready", "push_ready", "release_children"]


@compiled(inline="always", error_model="python")
def is_before(a: int, b: int, ready: FloatColumn, identity: IntColumn) -> bool:
    """Whether a row comes before another one."""
    return ready[a] < ready[b] or (ready[a] == ready[b] and identity[a] < identity[b])


@compiled(error_model="python")
def push_ready(heap: IntColumn, count: int, row: int, ready: FloatColumn, identity: IntColumn) -> int:
    """Add a row; returns the new length."""
    place = count
    while place > 0:
        parent = (place - 1) // 2
        if not is_before(row, heap[parent], ready, identity):
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = row
    return count + 1


@compiled(error_model="python")
def pop_ready(heap: IntColumn, count: int, ready: FloatColumn, identity: IntColumn) -> int:
    """Remove the first row (the caller keeps `count - 1`); returns it."""
    first, last = heap[0], heap[count - 1]
    place, length = 0, count - 1
    while True:
        child = 2 * place + 1
        if child >= length:
            break
        if child + 1 < length and is_before(heap[child + 1], heap[child], ready, identity):
            child += 1
        if not is_before(heap[child], last, ready, identity):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = last
    return int(first)


@compiled()
def release_children(
    row: int,
    finish: float,
    failed: bool,
    child_offsets: IntColumn,
    child_rows: IntColumn,
    ready: FloatColumn,
    doomed: BoolColumn,
    open_parents: IntColumn,
    identity: IntColumn,
    heap: IntColumn,
    length: int,
) -> int:
    """Tell the children of a row when it is finished and queue those that wait for nobody else; the new length."""
    for place in range(child_offsets[row], child_offsets[row + 1]):
        child = child_rows[place]
        ready[child] = max(ready[child], finish)
        doomed[child] = doomed[child] or failed
        open_parents[child] -= 1
        if open_parents[child] == 0:
            length = push_ready(heap, length, child, ready, identity)
    return length
