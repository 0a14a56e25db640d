"""The life of an executor: started by its first task, ended by `shutdown`, with the program, or when it is dropped.

It belongs to the engine and its threads, which know nothing of the executor itself. So an executor that a program has
dropped is collected, and its workers leave when its tasks have ended.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable

from hybrid_ml_scheduler.execution.program_report import LiveReport
from hybrid_ml_scheduler.execution.task_flow import TaskFlow
from hybrid_ml_scheduler.execution.workers.engines import Engine

__all__ = ["Session"]

_OPEN: set[Session] = set()


class Session:
    """What outlives an executor until its last task has ended."""

    def __init__(
        self,
        flow: TaskFlow,
        engine: Engine,
        follow: Callable[[], LiveReport | None],
        keep: Callable[[], None],
    ) -> None:
        self._flow, self._engine, self._follow, self._keep = flow, engine, follow, keep
        self._lock = threading.Lock()
        self.is_started = self.is_closed = False
        self._is_over = False
        self._live: LiveReport | None = None
        self.pid = os.getpid()
        flow.when_ended = self._finish
        _OPEN.add(self)

    def start(self) -> None:
        """Start the workers, once."""
        with self._lock:
            if not self.is_started and not self.is_closed:
                self._engine.start()
                self.is_started = True
                self._live = self._follow()

    def shutdown(self, wait: bool, cancel_futures: bool, kill: bool = False) -> None:
        """Take no more tasks; with `kill`, stop at once."""
        with self._lock:
            self.is_closed = True
        if self.pid != os.getpid():
            return
        if cancel_futures or kill:
            self._flow.cancel_undecided()
            self._engine.cancel_waiting()
        self._engine.stop(kill)
        if not self.is_started:
            self._finish()
        elif wait:
            self._engine.join()

    def drop(self) -> None:
        """Nobody holds the executor any more; called while garbage is collected, so that no lock may be taken."""
        if self.pid != os.getpid() or self.is_closed:
            return
        self.is_closed = True
        self._engine.stop()
        if not self.is_started:
            self._engine.close()
            _OPEN.discard(self)

    def _finish(self) -> None:
        """Nothing runs any more: end what was left over, and keep what was measured, once."""
        self._flow.end()
        with self._lock:
            if self._is_over:
                return
            self._is_over = True
        self._engine.close()
        if self._live is not None:
            self._live.stop()
        _OPEN.discard(self)
        self._keep()


def _close_all() -> None:
    """At the end of the program: let every executor finish its tasks, unless the program was interrupted."""
    interrupted = isinstance(getattr(sys, "last_value", None), KeyboardInterrupt)
    for session in list(_OPEN):
        session.shutdown(wait=True, cancel_futures=False, kill=interrupted)


atexit.register(_close_all)
