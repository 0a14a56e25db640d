"""Binary heaps of rows, ordered by (a number, a second number such as the task id)."""

from __future__ import annotations

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn

__all__ = ["is_before", "pop_row", "push_row"]


@compiled(inline="always")
def is_before(a: int, b: int, key: FloatColumn, identity: IntColumn) -> bool:
    """Whether a row comes before another one."""
    return key[a] < key[b] or (key[a] == key[b] and identity[a] < identity[b])


@compiled(inner=True)
def push_row(heap: IntColumn, length: int, row: int, key: FloatColumn, identity: IntColumn) -> int:
    """Add a row; returns the new length."""
    place = length
    while place > 0:
        parent = (place - 1) >> 1
        if not is_before(row, heap[parent], key, identity):
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = row
    return length + 1


@compiled(inner=True)
def pop_row(heap: IntColumn, length: int, key: FloatColumn, identity: IntColumn) -> int:
    """Remove the first row and return it; the caller keeps `length - 1`."""
    first, last = heap[0], heap[length - 1]
    place, left = 0, length - 1
    while True:
        child = 2 * place + 1
        if child >= left:
            break
        if child + 1 < left and is_before(heap[child + 1], heap[child], key, identity):
            child += 1
        if not is_before(heap[child], last, key, identity):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = last
    return int(first)
