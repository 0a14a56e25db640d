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
from hybrid_ml_scheduler.execution.errors import ExecutionError, KeptResultLost, TaskTimeout, WorkerDied
from hybrid_ml_scheduler.execution.futures import HybridFuture
from hybrid_ml_scheduler.execution.ledger import Ledger
from hybrid_ml_scheduler.execution.options import ExecutorOptions
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.execution.workers.endings import Fetch
from hybrid_ml_scheduler.execution.workers.handing_out import WaitingTasks
from hybrid_ml_scheduler.execution.workers.payloads import call_encoded_by_value, code_by_value
from hybrid_ml_scheduler.execution.workers.ray_cluster import needs
from hybrid_ml_scheduler.execution.workers.ray_worker import RayServer, RayWorker

__all__ = ["RayEngine"]

# How often it is looked whether the cluster has room for a worker that was lost.
_LOOK_AGAIN_S = 5.0
_CHECK_S = 0.05
_LOST = "The worker on {place} was lost with its node or its process: {how}."


class RayEngine:
    """Queues of places and the actors that serve them."""

    def __init__(
        self, places: tuple[Place, ...], ledger: Ledger, options: ExecutorOptions, ray: Any, leaves: bool
    ) -> None:
        self._places, self._ledger, self._options = places, ledger, options
        self._ray, self._leaves = ray, leaves
        self._waiting = WaitingTasks(places, ledger, code_by_value)
        self._initializer = code_by_value((options.initializer, options.initargs))[0]
        self._events: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._workers: list[RayWorker] = []
        self._made = 0
        self._looked_s = 0.0
        self._rung = self._started = self._stopping = self._killing = False
        self._thread = threading.Thread(target=self._serve, name="hms-ray", daemon=True)
        self._decide: Callable[[], None] = _nothing

    @property
    def workers(self) -> list[RayWorker]:
        """The actors as they are now."""
        return list(self._workers)

    def start(self) -> None:
        """Begin to serve."""
        self._started = True
        self._thread.start()

    def wait_until_ready(self) -> None:
        """Wait until every actor that the cluster has room for answers."""
        while self._thread.is_alive() and not (
            self._workers and all(worker.is_ready for worker in list(self._workers))
        ):
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
            self._hire()
            while not (self._stopping and (self._killing or self._ledger.is_empty())):
                self._hear()
                self._look_after()
                if self._ledger.reserve:
                    self._decide()
                self._waiting.hand_out(self._workers)
        finally:
            self._dismiss()

    def _hear(self) -> None:
        with contextlib.suppress(queue.Empty):
            event = self._events.get(timeout=self._pause_s())
            while True:
                if event is None:
                    # Whoever finds it rung has put its task where the next look round finds it.
                    self._rung = False
                else:
                    event()
                event = self._events.get_nowait()

    def _pause_s(self) -> float | None:
        limited = any(self._limit_s(work) is not None for one in self._workers for work in one.in_flight.values())
        return _CHECK_S if limited else _LOOK_AGAIN_S

    def _limit_s(self, work: Work) -> float | None:
        own = work.options.timeout_s
        return self._options.timeout_s if own is None else own

    def _hire(self) -> None:
        """Start an actor for every worker that is missing and for which the cluster has room."""
        self._looked_s = time.perf_counter()
        resources = self._ray.cluster_resources()
        left = dict(resources)
        for place in self._places:
            wanted = needs(place.device, resources)
            amounts = {"CPU": wanted["num_cpus"], "GPU": wanted.get("num_gpus", 0), **wanted.get("resources", {})}
            present = sum(one.place.index == place.index for one in self._workers)
            for index in range(place.workers):
                if any(left.get(name, 0.0) < amount for name, amount in amounts.items()):
                    break
                for name, amount in amounts.items():
                    left[name] = left.get(name, 0.0) - amount
                if index >= present:
                    self._start_actor(place, wanted)

    def _start_actor(self, place: Place, wanted: dict[str, Any]) -> None:
        server = self._ray.remote(max_restarts=0, max_task_retries=0, **wanted)(RayServer)
        self._made += 1
        worker = RayWorker(self._made, place, server.remote(place.device, self._initializer), self._events.put)
        worker.answered = self._answered
        self._workers.append(worker)
        worker.call("ready")

    def _answered(self, worker: RayWorker, method: str, done: Any) -> None:
        error = done.exception()
        if worker.has_ended:
            return
        if error is not None:
            self._lose(worker, " ".join(str(error).split())[:200])
        elif method == "ready":
            worker.is_ready = True
        else:
            ends = self._waiting.ends
            for answer in worker.taken(done.result()):
                if answer.is_result:
                    value = ends.kept(worker, answer.work) if answer.work.options.keep else answer.parcel
                    ends.done(answer.work, value, answer.begun, answer.ended, answer.cold)
                else:
                    ends.raised(answer.work, answer.parcel.payload, answer.traceback, answer.begun, answer.ended)

    def _lose(self, worker: RayWorker, how: str, overdue: tuple[Work, TaskTimeout] | None = None) -> None:
        """The actor is gone: end or repeat what was sent to it, and look for room for another one."""
        worker.has_ended = True
        self._workers.remove(worker)
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.kill(worker.actor)
        for work in [*worker.in_flight.values()][::-1]:
            if overdue is not None and work is overdue[0]:
                self._waiting.ends.failed(work, overdue[1], "timeout")
            else:
                self._waiting.ends.died(work, WorkerDied(_LOST.format(place=worker.place.name, how=how)))
        worker.in_flight.clear()
        self._waiting.fail_all(worker.own, KeptResultLost(f"The worker on {worker.place.name} died with its results."))
        self._hire()

    def _look_after(self) -> None:
        now = time.perf_counter()
        for worker in self.workers:
            for number, work in list(worker.in_flight.items())[:1]:
                limit = self._limit_s(work)
                if limit is not None and now - worker.since[number] > limit:
                    error = TaskTimeout(f"{work.kind} ran longer than {limit:g} s and was stopped.")
                    self._lose(worker, "it was stopped", (work, error))
        if len(self._workers) < sum(place.workers for place in self._places):
            if now - self._looked_s > _LOOK_AGAIN_S:
                self._hire()
            self._serve_without_workers()

    def _serve_without_workers(self) -> None:
        """Where nobody serves a place its tasks go to the CPU; where nobody serves the CPU they end."""
        served = {worker.place.index for worker in self._workers}
        for place in self._places[::-1]:
            if place.index in served:
                continue
            for work in self._waiting.taken(place.index):
                if place.index and 0 in served:
                    self._ledger.move(work, 0)
                    self._waiting.put_first(work)
                else:
                    error: ExecutionError = WorkerDied(f"No node of the cluster serves {place.name} any more.")
                    self._waiting.ends.failed(work, error, "died")

    def _dismiss(self) -> None:
        stopped = WorkerDied("The executor was stopped while the task ran or waited.")
        for worker in self._workers:
            worker.has_ended = True
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.kill(worker.actor)
            for work in worker.in_flight.values():
                self._waiting.ends.failed(work, stopped, "died")
        self._waiting.cancel(self._workers)
        self._workers.clear()


def _nothing() -> None:
    """Nobody decides yet."""
