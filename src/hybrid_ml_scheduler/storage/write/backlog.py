"""A bounded queue of batches between the race's thread and the writer's."""

from __future__ import annotations

import threading
from collections import deque

from hybrid_ml_scheduler.storage.errors import StorageError
from hybrid_ml_scheduler.storage.write.batches import RowBatch

__all__ = ["Backlog"]


class Backlog:
    """Batches in order; full means that `put` waits. Rows count until they are stored, not until they are taken."""

    def __init__(self, capacity_rows: int) -> None:
        self.capacity_rows = capacity_rows
        self._waiting: deque[RowBatch] = deque()
        self._rows = 0
        self._changed = threading.Condition()
        self._closed: str | None = None
        self._broken = False

    @property
    def rows(self) -> int:
        """Rows that are not stored yet."""
        return self._rows

    def put(self, batch: RowBatch, timeout_s: float | None) -> None:
        """Append a batch, waiting for room; a batch larger than the whole backlog is taken when it is empty."""
        size = len(batch)
        with self._changed:
            fits = self._changed.wait_for(lambda: self._closed is not None or self._has_room(size), timeout_s)
            if self._closed is not None:
                raise StorageError(self._closed)
            if not fits:
                raise StorageError(f"The backlog of {self._rows} rows had no room within {timeout_s:g} s.")
            self._waiting.append(batch)
            self._rows += size
            self._changed.notify_all()

    def _has_room(self, size: int) -> bool:
        return self._rows == 0 or self._rows + size <= self.capacity_rows

    def take(self, most_rows: int, timeout_s: float) -> list[RowBatch]:
        """Return the oldest batches, at least one and about `most_rows` rows; none after the timeout or when closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed is not None, timeout_s)
            taken: list[RowBatch] = []
            rows = 0
            while self._waiting and (not taken or rows + len(self._waiting[0]) <= most_rows):
                taken.append(self._waiting.popleft())
                rows += len(taken[-1])
            return taken

    def stored(self, rows: int) -> None:
        """Say that taken rows are safe: their room is free again."""
        with self._changed:
            self._rows -= rows
            self._changed.notify_all()

    def wait_empty(self, timeout_s: float) -> bool:
        """Wait until every row is stored; say whether that came true."""
        with self._changed:
            self._changed.wait_for(lambda: self._rows == 0 or self._broken, timeout_s)
            return self._rows == 0

    @property
    def is_closed(self) -> bool:
        """Whether no more batches are accepted."""
        return self._closed is not None

    def close(self, reason: str) -> None:
        """Accept nothing more; the reason is what a later `put` raises."""
        with self._changed:
            self._closed = self._closed or reason
            self._changed.notify_all()

    def give_up(self, reason: str) -> None:
        """Accept nothing more and let nobody wait for what cannot be stored."""
        with self._changed:
            self._closed = reason
            self._broken = True
            self._changed.notify_all()
