"""What every cache promises."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Cache", "CacheHealth", "Count", "Subscription"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """How often something happened in the current window, and the seconds until the window ends."""

    value: int
    reset_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheHealth:
    """Whether the cache does its whole duty, how quickly it answers, and one sentence."""

    ok: bool
    latency_s: float | None
    sentence: str


class Subscription:
    """Messages of one channel for one listener: a bounded queue that drops the oldest and counts what it dropped."""

    def __init__(self, capacity: int) -> None:
        self.dropped = 0
        self._messages: deque[bytes] = deque(maxlen=max(1, capacity))
        self._arrived = asyncio.Event()

    def deliver(self, message: bytes) -> None:
        """Append a message; never waits."""
        self.dropped += len(self._messages) == self._messages.maxlen
        self._messages.append(message)
        self._arrived.set()

    async def get(self) -> bytes:
        """Wait for the next message."""
        while not self._messages:
            self._arrived.clear()
            await self._arrived.wait()
        return self._messages.popleft()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield await self.get()


class Cache(Protocol):
    """A small store of short-lived values. No method raises because a server is away: see `ping`."""

    def belong_to(self, name: str) -> None:
        """Share keys, counters and channels from now on only with those who belong to the same name."""

    async def get(self, key: str) -> bytes | None:
        """Return a value that has not expired."""

    async def set(self, key: str, value: bytes, *, ttl_s: float) -> None:
        """Keep a value for some seconds."""

    async def delete(self, key: str) -> None:
        """Forget a value; harmless when there is none."""

    async def count(self, key: str, *, window_s: float) -> Count:
        """Count one more in the window that began with the first count."""

    async def publish(self, channel: str, message: bytes) -> None:
        """Send a message to everyone who listens now; never waits for a listener."""

    def subscribe(self, channel: str, *, capacity: int = 16) -> AbstractAsyncContextManager[Subscription]:
        """Listen to a channel; with `capacity=1` only the newest message waits."""

    async def ping(self, *, timeout_s: float = 1.0) -> CacheHealth:
        """Say how the cache is; never raises."""

    async def close(self) -> None:
        """Give back what is held."""
