"""The garbage collector kept out of the way of requests."""

from __future__ import annotations

import gc
from collections.abc import Callable

__all__ = ["TIDY_EVERY_S", "Tidying", "tidy"]

TIDY_EVERY_S = 4
_ROUNDS = 3


def tidy() -> None:
    """Collect what is garbage, and have the collector never look at the rest again: it has come to stay."""
    gc.collect()
    gc.freeze()


class Tidying:
    """Tidies a few times once the race has begun.

    Only then are the compiled functions loaded, as hundreds of thousands of objects; walking over all of them
    again and again would keep every request waiting for a twentieth of a second.
    """

    def __init__(self, tasks_processed: Callable[[], int]) -> None:
        self._tasks_processed = tasks_processed
        self._at_first: int | None = None
        self._rounds = _ROUNDS

    async def __call__(self) -> None:
        """Take a look; to be called every few seconds."""
        if self._rounds == 0:
            return
        tasks = self._tasks_processed()
        if self._at_first is None:
            self._at_first = tasks
        elif tasks != self._at_first:
            self._rounds -= 1
            tidy()
