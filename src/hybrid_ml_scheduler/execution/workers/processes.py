"""The engine of worker processes: one thread hands out tasks and takes in results, and nobody else does.

A worker is sent more than one task only while these are believed to take a moment together, so that tiny tasks
travel in batches and long ones wait where any worker can take them.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
import time
import weakref
from collections.abc import Callable

from hybrid_ml_scheduler.execution.devices import Place
from hybrid_ml_scheduler.execution.futures import HybridFuture
from hybrid_ml_scheduler.execution.ledger import Ledger
from hybrid_ml_scheduler.execution.options import ExecutorOptions
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.execution.workers.crew import Crew
from hybrid_ml_scheduler.execution.workers.endings import Fetch
from hybrid_ml_scheduler.execution.workers.handing_out import WaitingTasks
from hybrid_ml_scheduler.execution.workers.payloads import call_encoded
from hybrid_ml_scheduler.execution.workers.worker_process import WorkerProcess

__all__ = ["ProcessEngine"]

_ENGINES: weakref.WeakSet[ProcessEngine] = weakref.WeakSet()


class ProcessEngine:
    """Queues of places and the processes that serve them."""

    def __init__(self, places: tuple[Place, ...], ledger: Ledger, options: ExecutorOptions) -> None:
        self._ledger = ledger
        self._waiting = WaitingTasks(places, ledger)
        self._selector = selectors.DefaultSelector()
        self._bell, self._ring = socket.socketpair()
        self._bell.setblocking(False)
        self._ring.setblocking(False)
        self._rung = self._started = self._stopping = self._killing = False
        self._crew = Crew(places, self._waiting, options, self._selector, self.wake)
        self._thread = threading.Thread(target=self._serve, name="hms-executor", daemon=True)
        self._decide: Callable[[], None] = _nothing
        _ENGINES.add(self)

    @property
    def workers(self) -> list[WorkerProcess]:
        """The processes as they are now."""
        return list(self._crew.workers)

    def start(self) -> None:
        """Begin to serve."""
        self._selector.register(self._bell, selectors.EVENT_READ, self._hear_bell)
        self._started = True
        self._thread.start()

    def wait_until_ready(self) -> None:
        """Wait until every worker process has started, or cannot be."""
        while self._thread.is_alive() and not self._crew.is_ready:
            time.sleep(0.01)

    def new_future(self) -> HybridFuture:
        """A future for a task of this engine."""
        return HybridFuture()

    def is_own_thread(self) -> bool:
        """Whether a callback of this engine is asking."""
        return threading.current_thread() is self._thread

    def connect(self, fetch: Fetch, decide: Callable[[], None]) -> None:
        """How a kept result is brought home, and who decides about more tasks."""
        self._waiting.ends.fetch = fetch
        self._decide = decide

    def prepare(self, work: Work) -> None:
        """Pack the arguments, on the thread of whoever submits: hostile objects trouble nobody else."""
        work.parcel = call_encoded(work.args, work.kwargs, work.kind)

    def enqueue(self, work: Work) -> None:
        """Put a task into the queue of its place."""
        self._waiting.put(work)
        if not self._rung:
            self.wake()

    def cancel_waiting(self) -> None:
        """Cancel every task that has not been handed to a worker."""
        self._waiting.cancel(self.workers)
        self.wake()

    def wake(self) -> None:
        """Let the thread look round."""
        self._rung = True
        with contextlib.suppress(OSError):
            self._ring.send(b"!")

    def stop(self, kill: bool = False) -> None:
        """End when all tasks have ended; with `kill` at once, and what runs fails."""
        self._stopping = True
        self._killing = self._killing or kill
        self.wake()

    def join(self) -> None:
        """Wait until everything is over."""
        if self._started and self._thread is not threading.current_thread():
            self._thread.join()

    def close(self) -> None:
        """Free what an engine has that never started."""
        if not self._started:
            self._close()

    def _serve(self) -> None:
        try:
            self._crew.hire_all()
            while not (self._stopping and (self._killing or self._ledger.is_empty())):
                for key, _ in self._selector.select(self._crew.pause_s()):
                    key.data()
                self._crew.look_after()
                if self._ledger.reserve:
                    self._decide()
                self._waiting.hand_out(self._crew.workers)
        finally:
            self._crew.dismiss(kill=self._killing)
            self._close()

    def _close(self) -> None:
        self._selector.close()
        self._bell.close()
        self._ring.close()

    def _hear_bell(self) -> None:
        with contextlib.suppress(OSError):
            while self._bell.recv(4096):
                pass
        # Only now: whoever found the bell rung has put its task where the next look round finds it.
        self._rung = False

    def abandon(self) -> None:
        """In a forked child: the workers belong to the parent."""
        for worker in self._crew.workers:
            worker.abandon()


def _nothing() -> None:
    """Nobody decides yet."""


def _leave_workers() -> None:
    for engine in list(_ENGINES):
        engine.abandon()


os.register_at_fork(after_in_child=_leave_workers)
