"""Asking the arena's thread for something, but not for ever: a strategy may be stuck in its own code."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.service.problems import Unavailable

__all__ = ["Pulse", "asked"]

T = TypeVar("T")

# A first race compiles its kernels, for some ten seconds where the machine has nothing else to do.
_OBEYED_WITHIN_S = 60.0
_STUCK = "The engine has not answered for {:.0f} s; a strategy may be stuck in its own code, or be compiled just now."


async def asked(arena: Arena, command: Callable[[], T], *, within_s: float = _OBEYED_WITHIN_S) -> T:
    """Have a command carried out in the arena's thread; one that was not begun in time is taken back."""
    answer = asyncio.wrap_future(arena.ask(command))
    try:
        return await asyncio.wait_for(answer, within_s)
    except asyncio.TimeoutError:
        raise Unavailable(_STUCK.format(within_s)) from None


class Pulse:
    """Measures how long the arena's thread takes to answer; one question at a time, however often it is felt."""

    def __init__(self, arena: Arena) -> None:
        self._arena = arena
        self._begin_s = 0.0
        self._answer: Future[float] | None = None

    async def feel(self, *, within_s: float) -> tuple[float | None, str]:
        """Return the seconds that an answer took, or None with the sentence that says how long there has been none."""
        if self._answer is None or self._answer.done():
            self._begin_s, self._answer = time.perf_counter(), self._arena.ask(time.perf_counter)
        answer, begin_s = self._answer, self._begin_s
        await asyncio.wait({asyncio.wrap_future(answer)}, timeout=within_s)
        if not answer.done():
            return None, _STUCK.format(time.perf_counter() - begin_s)
        problem = answer.exception()
        return (answer.result() - begin_s, "") if problem is None else (None, str(problem))
