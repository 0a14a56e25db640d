"""Viewers of the latest state: one slot each, so that a slow one misses updates and delays nobody."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Connection", "Hub"]

_SLICE = 64
_SLICE_EVERY_S = 0.005
_LINES = 64


class Connection:
    """One viewer's place: the newest update and the latest few lines it has not seen."""

    def __init__(self, focus: str, *, is_viewer: bool = True) -> None:
        self.focus = focus
        self.is_viewer = is_viewer
        self.missed = 0
        self._fresh = False
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._wake = asyncio.Event()

    def refresh(self) -> None:
        """Tell the viewer that there is a newer update; one it has not taken yet is replaced."""
        if self._fresh:
            self.missed += 1
        self._fresh = True
        self._wake.set()

    def line(self, message: str) -> None:
        """Queue a short message; the oldest is dropped when the viewer does not read."""
        self._lines.append(message)
        self._wake.set()

    async def news(self) -> tuple[list[str], bool]:
        """Wait for something new; return the lines, and whether there is a newer update."""
        await self._wake.wait()
        self._wake.clear()
        lines, fresh = list(self._lines), self._fresh
        self._lines.clear()
        self._fresh = False
        return lines, fresh


class Hub:
    """All viewers of one process; lives on the event loop."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._connections: set[Connection] = set()

    def __len__(self) -> int:
        return sum(connection.is_viewer for connection in self._connections)

    @property
    def is_full(self) -> bool:
        """Whether one more viewer would be too many."""
        return len(self) >= self._capacity

    @contextmanager
    def connection(self, focus: str, *, is_viewer: bool = True) -> Iterator[Connection]:
        """Give a viewer (or the house's own listener, which does not count) a place for as long as it stays."""
        taken = Connection(focus, is_viewer=is_viewer)
        self._connections.add(taken)
        try:
            yield taken
        finally:
            self._connections.discard(taken)

    def refresh(self) -> None:
        """Wake all viewers for a newer update, in slices, so that other work on the loop gets its turn."""
        loop = asyncio.get_running_loop()
        for place, connection in enumerate(self._connections):
            if place < _SLICE:
                connection.refresh()
            else:
                loop.call_later(place // _SLICE * _SLICE_EVERY_S, connection.refresh)

    def line(self, message: str) -> None:
        """Send a short message to everyone."""
        for connection in self._connections:
            connection.line(message)
