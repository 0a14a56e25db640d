"""Compiling is seen while it goes on, so that nobody takes a first race for one that hangs."""

from __future__ import annotations

import threading
from typing import Any

from numba import njit

from hybrid_ml_scheduler.live.compiling import compile_watch


def test_what_is_compiled_is_named_while_it_is_and_counted_when_it_is_done() -> None:
    watch = compile_watch()
    before = watch.progress

    def doubled(value: float) -> float:
        return 2.0 * value

    quick: Any = njit(doubled)
    said: list[str] = []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set():
            said.append(watch.now)

    looking = threading.Thread(target=look)
    looking.start()
    assert quick(2.0) == 4.0
    is_over.set()
    looking.join()
    assert "doubled" in said
    assert (watch.now, watch.progress) == ("", (0, before[1] + 1))
