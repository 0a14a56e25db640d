"""A worker on a Ray cluster: an actor that runs batches of tasks one after another, and its end here.

The clocks of two machines differ: an actor sends its own moment with every answer, and the least difference to the
moment of hearing it, which holds the shortest way home, translates its times.
"""

from __future__ import annotations

import math
import os
import pickle
import time
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from hybrid_ml_scheduler.execution.devices import Place
from hybrid_ml_scheduler.execution.errors import attempt
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.execution.workers.payloads import Parcel, decode, encode
from hybrid_ml_scheduler.execution.workers.worker import (
    KEPT_RESULTS,
    callable_on,
    exception_bytes,
    finish_device,
)
from hybrid_ml_scheduler.execution.workers.worker_process import Answer, Item, warm_up

__all__ = ["RayServer", "RayWorker"]

Said = tuple[int, bool, bytes, list[Any], str, float, float]


class RayServer:
    """The actor: lives on a node of the cluster."""

    def __init__(self, device: str, initializer: bytes) -> None:
        os.environ["HMS_DEVICE"] = device
        self._device = device
        self._functions: dict[int, Callable[..., Any]] = {}
        call, arguments = pickle.loads(initializer)
        if call is not None:
            call(*arguments)

    def ready(self) -> int:
        """Answer, so that it is known that the actor lives."""
        return os.getpid()

    def drop(self, numbers: list[int]) -> None:
        """Nobody holds these kept results any more."""
        for number in numbers:
            KEPT_RESULTS.pop(number, None)

    def run(self, items: list[tuple[Any, ...]]) -> tuple[float, list[Said]]:
        """Run tasks in order; the moment of answering, and what became of each."""
        answers = [self._run(*item) for item in items]
        return time.perf_counter(), answers

    def _run(
        self, number: int, function: int, code: bytes | None, payload: bytes, buffers: list[Any], keep: bool
    ) -> Said:
        begun = time.perf_counter()
        value, error = attempt(self._answered, number, function, code, payload, buffers, keep)
        ended = time.perf_counter()
        if error is None:
            return number, True, *value, "", begun, ended
        text = "".join(traceback.format_exception(error))
        return number, False, exception_bytes(error), [], text, begun, ended

    def _answered(
        self, number: int, function: int, code: bytes | None, payload: bytes, buffers: list[Any], keep: bool
    ) -> tuple[bytes, list[Any]]:
        call = self._functions[function] if code is None else callable_on(self._device, code)
        if function:  # numbered ones stay as they are; others come with every task
            self._functions[function] = call
        args, kwargs = decode(Parcel(payload, writable(buffers)))
        value = call(*args, **kwargs)
        del args, kwargs
        finish_device(self._device)
        if keep:
            KEPT_RESULTS[number] = value
            return pickle.dumps(None), []
        parcel = encode(value, f"The result ({type(value).__name__})")
        return parcel.payload, columns(parcel)


def columns(parcel: Parcel) -> list[Any]:
    """The buffers of a parcel as arrays, which Ray sends without copying."""
    return [np.frombuffer(buffer, dtype=np.uint8) for buffer in parcel.buffers]


def writable(buffers: list[Any]) -> tuple[memoryview, ...]:
    """Ray's arrays lie in its store and are read-only; whoever gets them here may change what is theirs."""
    return tuple(memoryview(bytearray(buffer)) for buffer in buffers)


class RayWorker:
    """One actor as its executor sees it; offers what a worker process offers to the queues."""

    def __init__(self, number: int, place: Place, actor: Any, heard: Callable[[Callable[[], None]], None]) -> None:
        self.number, self.place, self.actor = number, place, actor
        self.in_flight: dict[int, Work] = {}
        self.own: deque[Work] = deque()
        self.is_ready = self.is_late = self.has_ended = False
        self.promised_s = 0.0
        self.since: dict[int, float] = {}
        self._heard = heard
        self._sent = 0
        self._behind_s = math.inf
        self._functions: set[int] = set()
        self._warm: set[str] = set()

    def knows(self, function: int) -> bool:
        """Whether the actor has this function already; it will from now on."""
        known = function in self._functions
        self._functions.add(function)
        return known

    def send(self, works: list[Item]) -> None:
        """Hand over tasks in one call."""
        items = []
        for work, function, code, parcel in works:
            self._sent += 1
            work.number = self._sent
            self.in_flight[self._sent] = work
            warm_up(work, self._warm)
            self.since[self._sent] = time.perf_counter()
            self.promised_s += work.predicted_s
            items.append((self._sent, function, code, parcel.payload, columns(parcel), work.options.keep))
        self.call("run", items)

    def call(self, method: str, *arguments: Any) -> None:
        """Call the actor; what it answers, or its death, is heard on the engine's thread."""
        future = getattr(self.actor, method).remote(*arguments).future()
        future.add_done_callback(lambda done: self._heard(lambda: self.answered(self, method, done)))

    answered: Callable[[Any, str, Any], None]

    def drop(self, number: int) -> None:
        """Nobody holds a kept result any more."""
        if not self.has_ended:
            self.actor.drop.remote([number])

    def answers(self, said: tuple[float, list[Said]]) -> list[Answer]:
        """The answers of one call, on this machine's clock."""
        moment, answers = said
        self._behind_s = min(self._behind_s, time.perf_counter() - moment)
        found = []
        for number, is_result, payload, buffers, text, begun, ended in answers:
            work = self.in_flight.pop(number)
            del self.since[number]
            self.promised_s = self.promised_s - work.predicted_s if self.in_flight else 0.0
            parcel = Parcel(payload, writable(buffers))
            found.append(Answer(work, is_result, parcel, text, begun + self._behind_s, ended + self._behind_s))
        return found
