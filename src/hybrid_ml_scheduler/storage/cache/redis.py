"""The cache in Redis: shared by all server processes. While Redis is away each process keeps its own."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from hybrid_ml_scheduler.core.errors import ConfigurationError
from hybrid_ml_scheduler.storage.cache.contract import CacheHealth, Count, Subscription
from hybrid_ml_scheduler.storage.cache.local import LocalCache
from hybrid_ml_scheduler.storage.connect.store import cancel_and_wait

__all__ = ["RedisCache"]

_PREFIX = "hms:"
_TIMEOUT_S = 1.0
_RETRY_S = 0.5
_POLL_S = 2.0
# The window begins with the first count; both steps in one, so that no counter is left without an end.
_COUNT_SCRIPT = """
local value = redis.call('INCR', KEYS[1])
if value == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return {value, redis.call('PTTL', KEYS[1])}
"""

_Answer = TypeVar("_Answer")
_OUTAGES = (RedisError, OSError, asyncio.TimeoutError)


class RedisCache:
    """Values, counters and channels in Redis; degrades to a local cache during an outage and returns by itself."""

    def __init__(self, url: str) -> None:
        try:
            self._redis: Redis = Redis.from_url(
                url,
                socket_timeout=_TIMEOUT_S,
                socket_connect_timeout=_TIMEOUT_S,
                # One more for a connection that went stale; an outage, or one that hangs, is ours to handle.
                retry=Retry(NoBackoff(), 1, supported_errors=(RedisConnectionError,)),
            )
        except ValueError:
            raise ConfigurationError(
                "The Redis URL cannot be read; it should look like redis://:password@host:6379/0."
            ) from None
        place = self._redis.connection_pool.connection_kwargs
        self.name = f"Redis {place.get('host', 'localhost')}:{place.get('port', 6379)}/{place.get('db', 0)}"
        self._prefix = _PREFIX
        self._local = LocalCache()
        self._down_since_s: float | None = None
        self._reason = ""
        self._lookout: asyncio.Task[None] | None = None

    def belong_to(self, name: str) -> None:
        """Keep everything under a name: several services with different databases may use one Redis."""
        self._prefix = f"{_PREFIX}{name}:"

    async def get(self, key: str) -> bytes | None:
        """Return a value that has not expired."""

        async def remote() -> bytes | None:
            found = await self._redis.get(self._prefix + key)
            return found.encode() if isinstance(found, str) else found

        return await self._either(remote, lambda: self._local.get(key))

    async def set(self, key: str, value: bytes, *, ttl_s: float) -> None:
        """Keep a value for some seconds."""
        milliseconds = max(1, round(ttl_s * 1000))

        async def remote() -> None:
            await self._redis.set(self._prefix + key, value, px=milliseconds)

        await self._either(remote, lambda: self._local.set(key, value, ttl_s=ttl_s))

    async def delete(self, key: str) -> None:
        """Forget a value; harmless when there is none."""

        async def remote() -> None:
            await self._redis.delete(self._prefix + key)

        await self._either(remote, lambda: self._local.delete(key))

    async def count(self, key: str, *, window_s: float) -> Count:
        """Count one more in the window that began with the first count."""

        async def remote() -> Count:
            milliseconds = str(max(1, round(window_s * 1000)))
            value, rest = await self._redis.eval(_COUNT_SCRIPT, 1, f"{self._prefix}count:{key}", milliseconds)
            return Count(value=int(value), reset_s=max(0, int(rest)) / 1000)

        return await self._either(remote, lambda: self._local.count(key, window_s=window_s))

    async def publish(self, channel: str, message: bytes) -> None:
        """Send a message to everyone who listens now; during an outage, to the listeners in this process."""

        async def remote() -> None:
            await self._redis.publish(self._prefix + channel, message)

        await self._either(remote, lambda: self._local.publish(channel, message))

    @contextlib.asynccontextmanager
    async def subscribe(self, channel: str, *, capacity: int = 16) -> AsyncIterator[Subscription]:
        """Listen to a channel, through outages."""
        async with self._local.subscribe(channel, capacity=capacity) as subscription:
            listening = asyncio.Event()
            task = asyncio.create_task(self._listen(channel, subscription, listening))
            try:
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(listening.wait(), _TIMEOUT_S)
                yield subscription
            finally:
                await cancel_and_wait(task)

    async def _listen(self, channel: str, subscription: Subscription, listening: asyncio.Event) -> None:
        """Pass messages on; after an outage subscribe again."""
        while True:
            problem = await self._listen_once(channel, subscription, listening)
            self._mark_down(problem)
            listening.set()
            await asyncio.sleep(_RETRY_S)

    async def _listen_once(self, channel: str, subscription: Subscription, listening: asyncio.Event) -> BaseException:
        """Pass messages on until something breaks, and return what it was."""
        try:
            async with self._redis.pubsub() as pubsub:
                await pubsub.subscribe(self._prefix + channel)
                is_asked = False
                while True:
                    message = await pubsub.get_message(timeout=_POLL_S)
                    if message is None and is_asked:
                        return RedisConnectionError("the subscription is silent")
                    is_asked = message is None
                    if message is None:  # nobody speaks, or the connection died without a word: the answer will tell
                        await pubsub.ping()
                    elif message["type"] == "message":
                        subscription.deliver(message["data"])
                    else:  # Redis says that we are subscribed, or answers
                        self._mark_up()
                        listening.set()
        except _OUTAGES as problem:
            return problem

    async def ping(self, *, timeout_s: float = 1.0) -> CacheHealth:
        """Ask Redis itself, however long it has been away."""
        begin_s = time.perf_counter()
        try:
            await asyncio.wait_for(self._redis.ping(), timeout_s)
        except _OUTAGES as problem:
            self._mark_down(problem)
            return CacheHealth(ok=False, latency_s=None, sentence=self._sentence())
        self._mark_up()
        return CacheHealth(ok=True, latency_s=time.perf_counter() - begin_s, sentence=f"{self.name} answers.")

    async def close(self) -> None:
        """Give back every connection."""
        if self._lookout is not None:
            await cancel_and_wait(self._lookout)
        await self._redis.aclose()

    async def _either(
        self, remote: Callable[[], Awaitable[_Answer]], local: Callable[[], Awaitable[_Answer]]
    ) -> _Answer:
        """Ask Redis; while it is away ask the local cache at once: a Redis that hangs must keep nobody waiting."""
        if self._down_since_s is not None:
            if self._lookout is None or self._lookout.done():
                self._lookout = asyncio.create_task(self._look_out())
            return await local()
        try:
            answer = await remote()
        except _OUTAGES as problem:
            self._mark_down(problem)
            return await local()
        self._mark_up()
        return answer

    async def _look_out(self) -> None:
        """Try Redis again and again until it is back: nobody else waits for that."""
        while self._down_since_s is not None:
            await asyncio.sleep(_RETRY_S)
            await self.ping(timeout_s=_TIMEOUT_S)

    def _mark_up(self) -> None:
        self._down_since_s = None

    def _mark_down(self, problem: BaseException) -> None:
        now_s = time.monotonic()
        self._down_since_s = now_s if self._down_since_s is None else self._down_since_s
        self._reason = " ".join(str(problem).split()) or type(problem).__name__

    def _sentence(self) -> str:
        away_s = time.monotonic() - (self._down_since_s or time.monotonic())
        return f"{self.name} has been away for {away_s:.0f} s ({self._reason}); each process keeps its own cache."
