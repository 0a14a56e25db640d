"""The engine of worker processes: one thread hands out tasks and takes in results, and nobody else does.

A worker is sent more than one task only while these are believed to take a moment together, so that tiny tasks
travel in batches and long ones wait where any worker can take them.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import weakref

from hybrid_ml_scheduler.execution.devices import Place
from hybrid_ml_scheduler.execution.ledger import Ledger
from hybrid_ml_scheduler.execution.options import ExecutorOptions
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.execution.workers.codes import FunctionCodes, code_of
from hybrid_ml_scheduler.execution.workers.crew import Crew
from hybrid_ml_scheduler.execution.workers.handing_out import WaitingTasks
from hybrid_ml_scheduler.execution.workers.payloads import call_encoded
from hybrid_ml_scheduler.execution.workers.serving import ServingEngine
from hybrid_ml_scheduler.execution.workers.worker_process import WorkerProcess

__all__ = ["ProcessEngine"]

_ENGINES: weakref.WeakSet[ProcessEngine] = weakref.WeakSet()


class ProcessEngine(ServingEngine):
    """Queues of places and the processes that serve them."""

    def __init__(self, places: tuple[Place, ...], ledger: Ledger, options: ExecutorOptions) -> None:
        super().__init__(WaitingTasks(places, ledger), ledger, "hms-executor")
        self._codes = FunctionCodes(code_of)
        self._selector = selectors.DefaultSelector()
        self._bell, self._ring = socket.socketpair()
        self._bell.setblocking(False)
        self._ring.setblocking(False)
        self._crew = Crew(places, self._waiting, options, self._selector, self.wake)
        _ENGINES.add(self)

    @property
    def workers(self) -> list[WorkerProcess]:
        """The processes as they are now."""
        return list(self._crew.workers)

    def start(self) -> None:
        """Begin to serve."""
        self._crew.prepare()
        self._selector.register(self._bell, selectors.EVENT_READ, self._hear_bell)
        super().start()

    @property
    def is_ready(self) -> bool:
        """Whether every worker process has started, or cannot be."""
        return self._crew.is_ready

    def prepare(self, work: Work) -> None:
        """Pack the function and its arguments on the submitting thread: hostile objects disturb no other task."""
        work.code = self._codes.code(work.function)
        work.parcel = call_encoded(work.args, work.kwargs, work.kind)

    def wake(self) -> None:
        """Let the thread look round."""
        self._rung = True
        with contextlib.suppress(OSError):
            self._ring.send(b"!")

    def close(self) -> None:
        """Free what an engine has that never started."""
        if not self._started:
            self._close()

    def _serve(self) -> None:
        self._crew.hire_all()
        while not self._may_leave:
            for key, _ in self._selector.select(self._crew.pause_s()):
                key.data()
            self._crew.look_after()
            self._hand_out()

    def _leave(self, kill: bool) -> None:
        try:
            self._crew.dismiss(kill)
        finally:
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


def _leave_workers() -> None:
    for engine in list(_ENGINES):
        engine.abandon()


os.register_at_fork(after_in_child=_leave_workers)
