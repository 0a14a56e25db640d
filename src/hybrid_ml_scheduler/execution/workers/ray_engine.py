"""The engine of a Ray cluster: its CPUs are workers, its GPUs devices; one thread here hands out and takes in.

An actor that dies takes with it what was sent to it. How far it had come is not known here, so that all of it counts as
begun: it fails, or starts again as often as `retries` allows. A place that has lost its last worker hands its tasks to
the CPU.
"""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable
from typing import Any

from hybrid_ml_scheduler.execution.devices import Place
from hybrid_ml_scheduler.execution.ledger import Ledger
from hybrid_ml_scheduler.execution.options import ExecutorOptions
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.execution.workers.codes import FunctionCodes, code_by_value
from hybrid_ml_scheduler.execution.workers.handing_out import WaitingTasks
from hybrid_ml_scheduler.execution.workers.payloads import call_encoded_by_value
from hybrid_ml_scheduler.execution.workers.ray_crew import RayCrew
from hybrid_ml_scheduler.execution.workers.ray_worker import RayWorker
from hybrid_ml_scheduler.execution.workers.serving import ServingEngine

__all__ = ["RayEngine"]


class RayEngine(ServingEngine):
    """Queues of places and the actors that serve them."""

    def __init__(
        self, places: tuple[Place, ...], ledger: Ledger, options: ExecutorOptions, ray: Any, leaves: bool
    ) -> None:
        super().__init__(WaitingTasks(places, ledger), ledger, "hms-ray")
        self._ray, self._leaves = ray, leaves
        self._codes = FunctionCodes(code_by_value)
        self._events: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._crew = RayCrew(places, self._waiting, ledger, options, ray, self._events.put)

    @property
    def workers(self) -> list[RayWorker]:
        """The actors as they are now."""
        return list(self._crew.workers)

    @property
    def is_ready(self) -> bool:
        """Whether every actor that the cluster has room for answers."""
        return self._crew.is_ready

    def prepare(self, work: Work) -> None:
        """Pack the function and its arguments so that another machine can unpack them."""
        work.code = self._codes.code(work.function)
        work.parcel = call_encoded_by_value(work.args, work.kwargs, work.kind)

    def wake(self) -> None:
        """Let the thread look round."""
        self._rung = True
        self._events.put(None)

    def close(self) -> None:
        """Leave the cluster if it was joined for this executor."""
        if self._leaves and self._ray.is_initialized():
            self._ray.shutdown()
        self._leaves = False

    # -- on the engine's thread ---------------------------------------------------------------------------------

    def _serve(self) -> None:
        self._crew.hire()
        while not self._may_leave:
            self._hear()
            self._crew.look_after()
            self._hand_out()

    def _leave(self, kill: bool) -> None:
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
