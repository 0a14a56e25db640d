"""Asking the arena's thread for something, but not for ever: a strategy may be stuck in its own code."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.live.compiling import compile_watch
from hybrid_ml_scheduler.service.logs import get_logger
from hybrid_ml_scheduler.service.problems import Unavailable

__all__ = ["Pulse", "ask_arena"]

T = TypeVar("T")

_OBEYED_WITHIN_S = 60.0
_SAY_EVERY_S = 10.0
_STUCK = "The engine has not answered for {:.0f} s; a strategy may be stuck in its own code."
_COMPILES = "The engine compiles {} for a first race, for {:.0f} s so far; it answers when that is done."
_log = get_logger("hms.service")


async def ask_arena(arena: Arena, command: Callable[[], T], *, within_s: float = _OBEYED_WITHIN_S) -> T:
    """Have a command carried out in the arena's thread; one that was not begun in time is taken back.

    A first race compiles its kernels: ten seconds on a machine that has nothing else to do, minutes on a starved one.
    As long as that goes on, nobody gives up.
    """
    answer, watch = asyncio.wrap_future(arena.ask(command)), compile_watch()
    begin_s, silent_s, seen = time.monotonic(), 0.0, watch.progress
    try:
        while silent_s < within_s:
            step_s = min(_SAY_EVERY_S, within_s - silent_s)
            if (await asyncio.wait({answer}, timeout=step_s))[0]:
                return answer.result()
            is_compiling, seen = watch.progress != seen or watch.now != "", watch.progress
            silent_s = 0.0 if is_compiling else silent_s + step_s
            if is_compiling:
                _log.info(_COMPILES.format(watch.now or "functions", time.monotonic() - begin_s))
        raise Unavailable(_STUCK.format(within_s))
    finally:
        answer.cancel()


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
            passed_s, name = time.perf_counter() - begin_s, compile_watch().now
            return None, _COMPILES.format(name, passed_s) if name else _STUCK.format(passed_s)
        problem = answer.exception()
        return (answer.result() - begin_s, "") if problem is None else (None, str(problem))
