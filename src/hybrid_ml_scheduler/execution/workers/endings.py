"""How a task can end, once for all engines; every way ends its future."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

from hybrid_ml_scheduler.execution.errors import ExecutionError, WorkerDied
from hybrid_ml_scheduler.execution.futures import Kept, remote_exception
from hybrid_ml_scheduler.execution.ledger import Ledger
from hybrid_ml_scheduler.execution.work import Work, resolve

__all__ = ["Endings", "Fetch", "Told", "is_out_of_memory"]

Fetch = Callable[[Kept], Any]


class Told(NamedTuple):
    """What an engine calls: for a kept result, to decide about more tasks, when it broke, and at its end."""

    fetch: Fetch
    decide: Callable[[], None]
    broke: Callable[[BaseException], None]
    ended: Callable[[], None]


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device had too little memory: Python's own error, or the one of torch, by its name."""
    return isinstance(error, MemoryError) or any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__)


class Endings:
    """Writes the end of a task down first, then tells its future."""

    def __init__(self, ledger: Ledger, requeue: Callable[[Work], None]) -> None:
        self._ledger, self._requeue = ledger, requeue
        self.fetch: Fetch | None = None

    def done(self, work: Work, value: Any, begun: float, ended: float, cold: bool) -> None:
        """The task returned."""
        self._ledger.ended(work, "done", begun, ended, cold)
        resolve(work, value)

    def keep(self, worker: Any, work: Work) -> Kept:
        """A handle for the result that stays where it is."""
        if self.fetch is None:
            raise ExecutionError("Nothing can bring kept results home.")
        handle = Kept(work.number, worker, self.fetch)
        weakref.finalize(handle, worker.drop, work.number).atexit = False
        return handle

    def raised(self, work: Work, error: bytes | BaseException, text: str, begun: float, ended: float) -> None:
        """The task raised; a device without memory hands it to the CPU if the rule says so."""
        found = remote_exception(error, text) if isinstance(error, bytes) else error
        if work.place and self._ledger.options.memory_rule == "cpu" and is_out_of_memory(found):
            self._ledger.states["out_of_memory"] += 1
            self._ledger.move(work, 0)
            self._requeue(work)
            return
        self._ledger.ended(work, "failed", begun, ended)
        resolve(work, None, found)

    def died(self, work: Work, error: ExecutionError) -> None:
        """The worker of a task ended: again, if it may be started again."""
        own = work.options.retries
        if work.attempts <= (self._ledger.options.retries if own is None else own):
            self._requeue(work)
        else:
            self.failed(work, error, "died")

    def failed(self, work: Work, error: BaseException, state: str) -> None:
        """The task is over without a word of its own."""
        self._ledger.ended(work, state)
        resolve(work, None, error)

    def cancelled(self, work: Work) -> None:
        """The task never began and never will."""
        self._ledger.ended(work, "cancelled")
        if not work.announced and work.future.cancel():
            work.release().set_running_or_notify_cancel()
        else:
            resolve(work, None, WorkerDied("The executor was stopped before the task could be started again."))
