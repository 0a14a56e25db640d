"""The engine of a Ray cluster: its CPUs are workers, its GPUs devices; one thread here hands out and takes in.

An actor that dies takes with it what was sent to it. How far it had come is not known here, so that all of it counts as
begun: it fails, or starts again as often as `retries` allows. A place that has lost its last worker hands its tasks to
the CPU.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from hybrid_ml_scheduler.execution.devices import Place
from hybrid_ml_scheduler.execution.futures import HybridFuture
from hybrid_ml_scheduler.execution.ledger import Ledger
from hybrid_ml_scheduler.execution.options import ExecutorOptions
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.execution.workers.endings import Fetch
from hybrid_ml_scheduler.execution.workers.handing_out import WaitingTasks
from hybrid_ml_scheduler.execution.workers.payloads import call_encoded_by_value, code_by_value
from hybrid_ml_scheduler.execution.workers.ray_crew import RayCrew
from hybrid_ml_scheduler.execution.workers.ray_worker import RayWorker

__all__ = ["RayEngine"]


class RayEngine:
    """Queues of places and the actors that serve them."""

    def __init__(
        self, places: tuple[Place, ...], ledger: Ledger, options: ExecutorOptions, ray: Any, leaves: bool
    ) -> None:
        self._ledger = ledger
        self._ray, self._leaves = ray, leaves
        self._waiting = WaitingTasks(places, ledger, code_by_value)
        self._events: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._crew = RayCrew(places, self._waiting, ledger, options, ray, self._events.put)
        self._rung = self._started = self._stopping = self._killing = False
        self._thread = threading.Thread(target=self._serve, name="hms-ray", daemon=True)
        self._decide: Callable[[], None] = _nothing

    @property
    def workers(self) -> list[RayWorker]:
        """The actors as they are now."""
        return list(self._crew.workers)

    def start(self) -> None:
        """Begin to serve."""
        self._started = True
        self._thread.start()

    def wait_until_ready(self) -> None:
        """Wait until every actor that the cluster has room for answers."""
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
        """Pack the arguments so that another machine can unpack them."""
        work.parcel = call_encoded_by_value(work.args, work.kwargs, work.kind)

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
        self._events.put(None)

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
        """Leave the cluster if it was joined for this executor."""
        if self._leaves and self._ray.is_initialized():
            self._ray.shutdown()
        self._leaves = False

    # -- on the engine's thread ---------------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            self._crew.hire()
            while not (self._stopping and (self._killing or self._ledger.is_empty())):
                self._hear()
                self._crew.look_after()
                if self._ledger.reserve:
                    self._decide()
                self._waiting.hand_out(self._crew.workers)
        finally:
            self._crew.dismiss()

    def _hear(self) -> None:
        with contextlib.suppress(queue.Empty):
            event = self._events.get(timeout=self._crew.pause_s())
            while True:
                if event is None:
                    # Whoever finds it rung has put its task where the next look round finds it.
                    self._rung = False
                else:
                    event()
                event = self._events.get_nowait()


def _nothing() -> None:
    """Nobody decides yet."""
