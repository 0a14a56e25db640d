"""What engines with a thread of their own have in common: tasks wait until that thread hands them out."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from typing import Any

from hybrid_ml_scheduler.execution.errors import attempt
from hybrid_ml_scheduler.execution.futures import HybridFuture
from hybrid_ml_scheduler.execution.ledger import Ledger
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.execution.workers.endings import Told
from hybrid_ml_scheduler.execution.workers.handing_out import WaitingTasks

__all__ = ["ServingEngine", "shut_down"]

_LOGGER = logging.getLogger("concurrent.futures.hybrid_ml_scheduler")


class ServingEngine(ABC):
    """A queue for every place, and the thread that serves them; how workers are reached is said below this class."""

    def __init__(self, waiting: WaitingTasks, ledger: Ledger, name: str) -> None:
        self._ledger, self._waiting = ledger, waiting
        self._rung = self._started = self._stopping = self._killing = False
        self._thread = threading.Thread(target=self._live, name=name, daemon=True)
        self._told: Told

    @property
    @abstractmethod
    def workers(self) -> list[Any]:
        """The workers as they are now."""

    @property
    @abstractmethod
    def is_ready(self) -> bool:
        """Whether all workers can take tasks."""

    @abstractmethod
    def wake(self) -> None:
        """Let the thread look round."""

    @abstractmethod
    def _serve(self) -> None:
        """Hand out tasks until the end."""

    @abstractmethod
    def _leave(self, kill: bool) -> None:
        """Let the workers go."""

    def _live(self) -> None:
        """The whole life of the thread: whatever fails here ends every future, so that nobody waits for ever."""
        error = attempt(self._serve).error
        kill = self._killing or error is not None
        steps = [lambda: self._leave(kill), self._told.ended]
        for step in steps if error is None else [lambda: self._told.broke(error), *steps]:
            problem = attempt(step).error
            if problem is not None:
                _LOGGER.error("An executor did not end as it should.", exc_info=problem)

    @property
    def _may_leave(self) -> bool:
        """Whether the thread is to end: at once, or because every task has."""
        return self._stopping and (self._killing or self._ledger.open.refuse_if_empty(shut_down))

    def start(self) -> None:
        """Begin to serve."""
        self._started = True
        self._thread.start()

    def wait_until_ready(self) -> None:
        """Wait until all workers can take tasks, or the engine has ended."""
        while self._thread.is_alive() and not self.is_ready:
            time.sleep(0.01)

    def new_future(self) -> HybridFuture:
        """A future for a task of this engine."""
        return HybridFuture()

    def is_own_thread(self) -> bool:
        """Whether a callback of this engine is asking."""
        return threading.current_thread() is self._thread

    def connect(self, told: Told) -> None:
        """Who is told what."""
        self._waiting.ends.fetch = told.fetch
        self._told = told

    def enqueue(self, work: Work) -> None:
        """Put a task into the queue of its place."""
        self._waiting.put(work)
        if not self._rung:
            self.wake()

    def cancel_waiting(self) -> None:
        """Cancel every task that has not been handed to a worker."""
        self._waiting.cancel(self.workers)
        self.wake()

    def stop(self, kill: bool = False) -> None:
        """End when all tasks have ended; with `kill` at once, and what runs fails."""
        self._stopping = True
        self._killing = self._killing or kill
        self.wake()

    def _hand_out(self) -> None:
        """Decide about what can be decided now, and give it to the workers."""
        if self._ledger.reserve:
            self._told.decide()
        if self._waiting.hand_out(self.workers):
            self.wake()  # nothing runs whose end would be heard, and what is undecided may have room now

    def join(self) -> None:
        """Wait until everything is over."""
        if self._started and self._thread is not threading.current_thread():
            self._thread.join()


def shut_down() -> Exception:
    """What whoever submits to an executor that has ended is told."""
    return RuntimeError("This executor was shut down and takes no more tasks.")
