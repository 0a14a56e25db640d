"""Expensive answers kept for a moment: everybody gets the newest one at once, and it is renewed behind their backs."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from hybrid_ml_scheduler.storage import Cache, StoreUnavailableError

__all__ = ["Shelf"]

_KEPT = 64


class Shelf:
    """Answers by name. One is fresh for `fresh_s`; after that it is given once more while the next is being made.

    What is made here is also put into the cache, so that other processes need not make it.
    """

    def __init__(self, cache: Cache, *, fresh_s: float, usable_s: float) -> None:
        self._cache = cache
        self._fresh_s = fresh_s
        self._usable_s = usable_s
        self._answers: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._making: dict[str, asyncio.Task[bytes]] = {}

    async def get(self, name: str, make: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return the answer of this name, making it only if there is none that can be used."""
        made_s, answer = self._answers.get(name, (-self._usable_s, b""))
        age_s = time.monotonic() - made_s
        if age_s < self._fresh_s:
            return answer
        task = self._making.get(name)
        if task is None:
            task = self._making[name] = asyncio.create_task(self._made(name, make))
            task.add_done_callback(lambda _: self._making.pop(name, None))
        if age_s < self._usable_s:
            task.add_done_callback(_looked_at)
            return answer
        return await asyncio.shield(task)

    async def _made(self, name: str, make: Callable[[], Awaitable[bytes]]) -> bytes:
        answer = await self._cache.get(name)
        if answer is None:
            answer = await make()
            await self._cache.set(name, answer, ttl_s=self._fresh_s)
        self._answers[name] = (time.monotonic(), answer)
        self._answers.move_to_end(name)
        while len(self._answers) > _KEPT:
            self._answers.popitem(last=False)
        return answer


def _looked_at(task: asyncio.Task[bytes]) -> None:
    """A renewal that failed because the store is away is told to the next one who must wait for it."""
    problem = None if task.cancelled() else task.exception()
    if problem is not None and not isinstance(problem, StoreUnavailableError):
        raise problem
