"""Whether functions are being compiled just now: the first race on a machine must not be taken for one that hangs."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

__all__ = ["CompileWatch", "compile_watch"]


class CompileWatch:
    """Counts what Numba begins and ends to compile in this process; asked from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: list[str] = []
        self._ended = 0

    @property
    def now(self) -> str:
        """The function that is being compiled; "" where there is none."""
        names = self._names
        return names[-1] if names else ""

    @property
    def progress(self) -> tuple[int, int]:
        """How many are being compiled and how many are done: as long as this changes, something is going on."""
        return len(self._names), self._ended

    def begun(self, name: str) -> None:
        """Note that a function is being compiled."""
        with self._lock:
            self._names = [*self._names, name]

    def done(self) -> None:
        """Note that the latest one is compiled, or was refused."""
        with self._lock:
            self._names, self._ended = self._names[:-1], self._ended + 1


@cache
def compile_watch() -> CompileWatch:
    """The one watch of this process."""
    from numba.core import event

    numba_events: Any = event  # Numba's functions have no types
    watch = CompileWatch()

    class Relay(event.Listener):
        def on_start(self, event: Any) -> None:
            watch.begun(getattr(event.data["dispatcher"].py_func, "__name__", "a function"))

        def on_end(self, event: Any) -> None:
            watch.done()

    numba_events.register("numba:compile", Relay())
    return watch
