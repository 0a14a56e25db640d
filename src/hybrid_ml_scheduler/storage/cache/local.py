"""The cache in this process: the default, and what stands in while Redis is away."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator

from hybrid_ml_scheduler.storage.cache.contract import CacheHealth, Count, Subscription

__all__ = ["LocalCache"]

_MOST_ENTRIES = 50_000


class LocalCache:
    """Values, counters and channels in dictionaries of bounded size; for one event loop."""

    def __init__(self, *, most_entries: int = _MOST_ENTRIES) -> None:
        self._most_entries = most_entries
        self._values: dict[str, tuple[bytes, float]] = {}
        self._counts: dict[str, tuple[int, float]] = {}
        self._listeners: dict[str, list[Subscription]] = {}

    def belong_to(self, name: str) -> None:
        """Change nothing: nobody else is here."""

    async def get(self, key: str) -> bytes | None:
        """Return a value that has not expired."""
        found = self._values.get(key)
        if found is None:
            return None
        if found[1] <= time.monotonic():
            self._values.pop(key, None)
            return None
        return found[0]

    async def set(self, key: str, value: bytes, *, ttl_s: float) -> None:
        """Keep a value for some seconds."""
        self._values.pop(key, None)  # to the end: the oldest entry is the first to go
        self._make_room(self._values)
        self._values[key] = (value, time.monotonic() + ttl_s)

    async def delete(self, key: str) -> None:
        """Forget a value; harmless when there is none."""
        self._values.pop(key, None)

    async def count(self, key: str, *, window_s: float) -> Count:
        """Count one more in the window that began with the first count."""
        now_s = time.monotonic()
        value, end_s = self._counts.get(key, (0, 0.0))
        if end_s <= now_s:
            self._counts.pop(key, None)
            self._make_room(self._counts)
            value, end_s = 0, now_s + window_s
        self._counts[key] = (value + 1, end_s)
        # (now + window) - now may be an ulp above the window.
        return Count(value=value + 1, reset_s=min(end_s - now_s, window_s))

    def _make_room(self, entries: dict[str, tuple[bytes, float]] | dict[str, tuple[int, float]]) -> None:
        """Drop what has expired, then the oldest, so that strangers' keys cannot fill the memory."""
        if len(entries) < self._most_entries:
            return
        now_s = time.monotonic()
        for key in [key for key, (_, end_s) in entries.items() if end_s <= now_s]:
            del entries[key]
        surplus = len(entries) - self._most_entries + self._most_entries // 10 + 1
        for key in list(entries)[: max(0, surplus)] if len(entries) >= self._most_entries else ():
            del entries[key]

    async def publish(self, channel: str, message: bytes) -> None:
        """Send a message to everyone who listens now."""
        for listener in self._listeners.get(channel, ()):
            listener.deliver(message)

    @contextlib.asynccontextmanager
    async def subscribe(self, channel: str, *, capacity: int = 16) -> AsyncIterator[Subscription]:
        """Listen to a channel."""
        subscription = Subscription(capacity)
        listeners = self._listeners.setdefault(channel, [])
        listeners.append(subscription)
        try:
            yield subscription
        finally:
            listeners.remove(subscription)
            if not listeners:
                self._listeners.pop(channel, None)

    async def ping(self, *, timeout_s: float = 1.0) -> CacheHealth:
        """Say how the cache is."""
        return CacheHealth(ok=True, latency_s=0.0, sentence="The cache is in this process.")

    async def close(self) -> None:
        """Forget everything."""
        self._values.clear()
        self._counts.clear()
