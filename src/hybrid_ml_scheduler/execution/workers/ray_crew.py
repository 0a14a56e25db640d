"""The actors of an engine on a Ray cluster: hired where there is room, heard, stopped when overdue, mourned."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from hybrid_ml_scheduler.execution.devices import Place
from hybrid_ml_scheduler.execution.errors import ExecutionError, KeptResultLost, TaskTimeout, WorkerDied
from hybrid_ml_scheduler.execution.ledger import Ledger
from hybrid_ml_scheduler.execution.options import ExecutorOptions
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.execution.workers.codes import code_by_value
from hybrid_ml_scheduler.execution.workers.handing_out import WaitingTasks
from hybrid_ml_scheduler.execution.workers.ray_cluster import needs
from hybrid_ml_scheduler.execution.workers.ray_worker import RayServer, RayWorker

__all__ = ["RayCrew"]

# How often it is looked whether the cluster has room for a worker that was lost.
_LOOK_AGAIN_S = 5.0
_CHECK_S = 0.05
_LOST = "The worker on {place} was lost with its node or its process: {how}."


class RayCrew:
    """All actors of one engine; only its thread uses this."""

    def __init__(
        self,
        places: tuple[Place, ...],
        waiting: WaitingTasks,
        ledger: Ledger,
        options: ExecutorOptions,
        ray: Any,
        heard: Callable[[Callable[[], None]], None],
    ) -> None:
        self.workers: list[RayWorker] = []
        self._places, self._waiting, self._ledger, self._options = places, waiting, ledger, options
        self._ray, self._heard = ray, heard
        self._initializer = code_by_value((options.initializer, options.initargs))[0]
        self._made = 0
        self._looked_s = 0.0

    @property
    def is_ready(self) -> bool:
        """Whether every actor that the cluster had room for answers."""
        return self._looked_s > 0.0 and all(worker.is_ready for worker in list(self.workers))

    def pause_s(self) -> float:
        """How long to wait for news at most."""
        limited = any(self._limit_s(work) is not None for one in self.workers for work in one.in_flight.values())
        return _CHECK_S if limited else _LOOK_AGAIN_S

    def _limit_s(self, work: Work) -> float | None:
        own = work.options.timeout_s
        return self._options.timeout_s if own is None else own

    def hire(self) -> None:
        """Start an actor for every worker that is missing and for which the cluster has room."""
        resources = self._ray.cluster_resources()
        left = dict(resources)
        for place in self._places:
            wanted = needs(place.device, resources)
            amounts = {"CPU": wanted["num_cpus"], "GPU": wanted.get("num_gpus", 0), **wanted.get("resources", {})}
            present = sum(one.place.index == place.index for one in self.workers)
            for index in range(place.workers):
                if any(left.get(name, 0.0) < amount for name, amount in amounts.items()):
                    break
                for name, amount in amounts.items():
                    left[name] = left.get(name, 0.0) - amount
                if index >= present:
                    self._start_actor(place, wanted)
        self._looked_s = time.perf_counter()

    def _start_actor(self, place: Place, wanted: dict[str, Any]) -> None:
        server = self._ray.remote(max_restarts=0, max_task_retries=0, **wanted)(RayServer)
        self._made += 1
        worker = RayWorker(self._made, place, server.remote(place.device, self._initializer), self._heard)
        worker.answered = self._answered
        self.workers.append(worker)
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
            for answer in worker.answers(done.result()):
                if answer.is_result:
                    value = ends.keep(worker, answer.work) if answer.work.options.keep else answer.parcel
                    ends.done(answer.work, value, answer.begun, answer.ended, answer.work.is_cold)
                else:
                    ends.raised(answer.work, answer.parcel.payload, answer.traceback, answer.begun, answer.ended)

    def _lose(self, worker: RayWorker, how: str, overdue: tuple[Work, TaskTimeout] | None = None) -> None:
        """The actor is gone: end or repeat what was sent to it, and look for room for another one."""
        worker.has_ended = True
        self.workers.remove(worker)
        with contextlib.suppress(self._ray.exceptions.RayError):
            self._ray.kill(worker.actor)
        for work in [*worker.in_flight.values()][::-1]:
            if overdue is not None and work is overdue[0]:
                self._waiting.ends.failed(work, overdue[1], "timeout")
            else:
                self._waiting.ends.died(work, WorkerDied(_LOST.format(place=worker.place.name, how=how)))
        worker.in_flight.clear()
        self._waiting.fail_all(worker.own, KeptResultLost(f"The worker on {worker.place.name} died with its results."))
        self.hire()

    def look_after(self) -> None:
        """Stop what is overdue; where workers are missing, look for room, and serve what they cannot."""
        now = time.perf_counter()
        for worker in list(self.workers):
            for number, work in list(worker.in_flight.items())[:1]:
                limit = self._limit_s(work)
                if limit is not None and now - worker.since[number] > limit:
                    error = TaskTimeout(f"{work.kind} ran longer than {limit:g} s and was stopped.")
                    self._lose(worker, "it was stopped", (work, error))
        if len(self.workers) < sum(place.workers for place in self._places):
            if now - self._looked_s > _LOOK_AGAIN_S:
                self.hire()
            self._serve_without_workers()

    def _serve_without_workers(self) -> None:
        """Where nobody serves a place its tasks go to the CPU; where nobody serves the CPU they end."""
        served = {worker.place.index for worker in self.workers}
        for place in self._places[::-1]:
            if place.index in served:
                continue
            for work in self._waiting.take_all(place.index):
                if place.index and 0 in served:
                    self._ledger.move(work, 0)
                    self._waiting.put_first(work)
                else:
                    error: ExecutionError = WorkerDied(f"No node of the cluster serves {place.name} any more.")
                    self._waiting.ends.failed(work, error, "died")

    def dismiss(self) -> None:
        """End all actors; what was running fails."""
        stopped = WorkerDied("The executor was stopped while the task ran or waited.")
        for worker in self.workers:
            worker.has_ended = True
            with contextlib.suppress(self._ray.exceptions.RayError):
                self._ray.kill(worker.actor)
            for work in worker.in_flight.values():
                self._waiting.ends.failed(work, stopped, "died")
        self._waiting.cancel(self.workers)
        self.workers.clear()
