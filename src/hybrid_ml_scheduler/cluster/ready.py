"""The ready queue in compiled form: a binary heap ordered by (ready time, task id)."""

from __future__ import annotations

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn

__all__ = ["pop_ready", "push_ready"]


@compiled(inline="always", error_model="python")
def _before(a: int, b: int, ready: FloatColumn, identity: IntColumn) -> bool:
    return ready[a] < ready[b] or (ready[a] == ready[b] and identity[a] < identity[b])


@compiled(error_model="python")
def push_ready(heap: IntColumn, count: int, row: int, ready: FloatColumn, identity: IntColumn) -> int:
    """Add a row; returns the new length."""
    place = count
    while place > 0:
        parent = (place - 1) // 2
        if not _before(row, heap[parent], ready, identity):
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
        if child + 1 < length and _before(heap[child + 1], heap[child], ready, identity):
            child += 1
        if not _before(heap[child], last, ready, identity):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = last
    return int(first)
