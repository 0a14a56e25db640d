"""A worker process as its parent sees it: starting it, talking to it, and telling what died with it."""

from __future__ import annotations

import contextlib
import os
import pickle
import socket
import struct
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from multiprocessing import spawn, util
from types import ModuleType
from typing import Any, NamedTuple

from hybrid_ml_scheduler.execution.devices import Place, cuda_name
from hybrid_ml_scheduler.execution.futures import remote_exception
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.execution.workers.blocks import BlockMaps, BlockPool, anonymous_file
from hybrid_ml_scheduler.execution.workers.payloads import Packed, Parcel, has_main_file, pack, unpack
from hybrid_ml_scheduler.execution.workers.ring import RING_BYTES, Ring
from hybrid_ml_scheduler.execution.workers.wire import Link

__all__ = ["STOPPED_S", "Answer", "Item", "Start", "WorkerProcess", "main_program", "warm_up"]

# A task on its way: with the number of its function, the function's code if it is new there, and its arguments.
Item = tuple[Work, int, bytes | None, Parcel]

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
_MOST_KINDS = 4096
# A worker that is stopped for so long before it begins a task is replaced. The whole program may have been stopped and
# continued with it, which takes a moment.
STOPPED_S = 0.5


class Start(NamedTuple):
    """What every worker process of an executor begins with: its initializer as code, and the main program."""

    initializer: bytes
    main: dict[str, Any]


class Answer(NamedTuple):
    """What a worker says about one task."""

    work: Work
    is_result: bool
    parcel: Parcel
    traceback: str
    begun: float
    ended: float


class WorkerProcess:
    """One process that serves one place."""

    def __init__(self, number: int, place: Place, cores: tuple[int, ...], start: Start) -> None:
        self.number, self.place = number, place
        self.in_flight: dict[int, Work] = {}
        self.is_ready = False
        self.promised_s = 0.0
        self.recalling = False
        self.heard_s = time.perf_counter()  # when it last had something new to do, or said something
        self.stopped_s: float | None = None
        self.is_late = False  # its task takes longer than believed: nothing more is sent ahead
        self.has_ended = False
        self.own: deque[Work] = deque()
        self._sent = 0
        self._functions: set[int] = set()
        self._warm: set[str] = set()
        self._pool = BlockPool()
        # Filled by finalizers, which may run on any thread and at any moment: no lock, only atomic steps.
        self._back: deque[int] = deque()
        self._dropped: deque[int] = deque()
        self._maps = BlockMaps(self._give_back)
        self._closed_by_us: list[int] = []
        self._recalled = bytearray()
        self.wake: Callable[[], None] = _nothing
        self._start(cores, start)

    def _start(self, cores: tuple[int, ...], start: Start) -> None:
        ours, theirs = socket.socketpair()
        control, their_control = socket.socketpair()
        page = anonymous_file(RING_BYTES)
        self._ring = Ring(page)
        descriptors = (theirs.fileno(), their_control.fileno(), page)
        program = (
            f"import sys; sys.path[:] = {sys.path!r}; "
            f"from hybrid_ml_scheduler.execution.workers.worker import main; main{descriptors!r}"
        )
        flags = util._args_from_interpreter_flags()  # type: ignore[attr-defined]
        self.process = subprocess.Popen(
            [sys.executable, *flags, "-c", program],
            stdin=subprocess.DEVNULL,
            pass_fds=descriptors,
            env=_environment(self.place, cores),
        )
        for connection in (theirs, their_control):
            connection.close()
        os.close(page)
        control.setblocking(False)
        self.control = control
        self.link = Link(ours)
        self.link.send(pickle.dumps(_setup(self.number, self.place, cores, start)), [])

    @property
    def current(self) -> tuple[Work, float] | None:
        """The task that is running now, and since when."""
        number, moment = self._ring.begun()
        work = self.in_flight.get(number)
        return None if work is None else (work, moment)

    def has_stood_still(self, now: float) -> bool:
        """Whether it has been stopped (SIGSTOP, for example) for a while, as far as the system says so."""
        if not _is_stopped(self.process.pid):
            self.stopped_s = None
            return False
        if self.stopped_s is None:
            self.stopped_s = now
        return now - self.stopped_s > STOPPED_S

    def send(self, works: list[Item]) -> None:
        """Hand over tasks: each with its function's number, its code if it is new here, and its arguments."""
        items, descriptors = [], []
        if not self.in_flight:
            self.heard_s = time.perf_counter()
        for work, function, code, parcel in works:
            item, descriptor = pack(parcel, self._pool)
            if descriptor is not None:
                descriptors.append(descriptor)
            self._sent += 1
            work.number, work.block = self._sent, item.block
            self.in_flight[self._sent] = work
            warm_up(work, self._warm)
            self.promised_s += work.predicted_s
            items.append(
                (self._sent, function, code, tuple(item) if item.spans else (item.payload,), work.options.keep)
            )
        self._send(items, descriptors)

    def _send(self, items: list[Any], descriptors: list[int]) -> None:
        closed, self._closed_by_us = self._closed_by_us, []
        message = (items, _drained(self._back), closed, _drained(self._dropped))
        self.link.send(pickle.dumps(message, protocol=5), descriptors)

    def flush_returns(self) -> None:
        """Tell the worker what is free again, if there is anything to tell."""
        if self._back or self._dropped:
            self._send([], [])

    def knows(self, function: int) -> bool:
        """Whether the worker has this function already; it will from now on."""
        known = function in self._functions
        self._functions.add(function)
        return known

    def answers(self) -> list[Answer]:
        """What the worker has said since it was last asked."""
        frames = self.link.receive()
        found = [self._answer(message, []) for message in map(pickle.loads, self._ring.take())]
        for body, descriptors in frames:
            if not body:
                continue  # a hint that there is something in the ring
            message = pickle.loads(body)
            if message[0] == "ready":
                self.is_ready = True
                continue
            if message[0] == "unfit":  # its initializer failed: so would that of every other worker
                raise remote_exception(*message[1:])
            found.append(self._answer(message, descriptors))
        return found

    def _answer(self, message: tuple[Any, ...], descriptors: list[int]) -> Answer:
        number, is_result, item, text, begun, ended, unused, closed = message
        work = self.in_flight.pop(number)
        self.is_late = False
        self.heard_s = time.perf_counter()
        self.promised_s = self.promised_s - work.predicted_s if self.in_flight else 0.0
        for block in unused:
            self._free(block)
        for segment in closed:
            self._maps.forget(segment)
        packed = Packed(*item)
        if packed.is_new:
            self._maps.learn(packed.segment, descriptors[0])
        return Answer(work, is_result, unpack(packed, self._maps), text, begun, ended)

    def _give_back(self, number: int) -> None:
        """The last array over a result's block is gone: its worker may use the block again."""
        self._back.append(number)
        self.wake()

    def drop(self, number: int) -> None:
        """Nobody holds a kept result any more."""
        self._dropped.append(number)
        self.wake()

    def recall(self) -> None:
        """Ask for what has not begun."""
        if not self.recalling:
            self.recalling = self.is_late = True
            with contextlib.suppress(OSError):
                self.control.send(b"recall")

    def take_back(self) -> list[Work]:
        """The tasks that the worker has given back, if its answer is complete."""
        try:
            self._recalled += self.control.recv(1 << 16)
        except OSError:
            return []
        if len(self._recalled) < 8:
            return []
        (length,) = struct.unpack_from("!Q", self._recalled)
        if len(self._recalled) < 8 + length:
            return []
        numbers = pickle.loads(self._recalled[8 : 8 + length])
        del self._recalled[: 8 + length]
        self.recalling = False
        works = [self.in_flight.pop(number) for number in numbers]
        for work in works:
            self.promised_s = self.promised_s - work.predicted_s if self.in_flight else 0.0
            if work.is_cold:
                self._warm.discard(work.kind)
            if work.block:
                self._free(work.block)
        return works

    def _free(self, block: int) -> None:
        closed = self._pool.free(block)
        if closed is not None:
            self._closed_by_us.append(closed)

    def take_all(self) -> tuple[Work | None, list[Work]]:
        """After its death: the task that had begun, and those that never did."""
        begun, _ = self._ring.begun()
        victim = self.in_flight.get(begun)
        rest = [work for work in self.in_flight.values() if work is not victim]
        self.in_flight.clear()
        return victim, rest

    def kill(self) -> None:
        """End the process at once."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    def hang_up(self) -> None:
        """Let the process end by itself when it has done what it has."""
        with contextlib.suppress(OSError):
            self.link.connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Free everything that belonged to a process that has ended."""
        self.process.wait()
        self.link.close()
        self.control.close()
        self._pool.close()
        self._maps.close()
        self._ring.close()

    def abandon(self) -> None:
        """In a forked child of the parent: the worker is not ours."""
        self.link.connection.close()
        self.control.close()


def warm_up(work: Work, warm: set[str]) -> None:
    """Note whether a task is the first of its kind in a worker, where it pays for imports and compilation."""
    work.is_cold = work.kind not in warm
    if len(warm) >= _MOST_KINDS:
        warm.clear()  # kinds without end are no kinds
    warm.add(work.kind)


def _is_stopped(pid: int) -> bool:
    """Whether a process is stopped by a signal; False where the system does not tell."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "T"
    except (OSError, IndexError):
        return False


def _nothing() -> None:
    """Nobody has to be woken."""


def _drained(numbers: deque[int]) -> list[int]:
    found = []
    with contextlib.suppress(IndexError):
        while True:
            found.append(numbers.popleft())
    return found


def _environment(place: Place, cores: tuple[int, ...]) -> dict[str, str]:
    environment = {**os.environ, "HMS_DEVICE": place.device}
    if cores:
        environment.update({name: str(len(cores)) for name in _THREAD_VARIABLES})
    if place.device == "cuda":
        environment["CUDA_VISIBLE_DEVICES"] = cuda_name(place.ordinal)
    return environment


def main_program() -> dict[str, Any]:
    """Where a worker finds the main program; asked for while it runs, for at its end Python forgets its file."""
    sys.modules.setdefault("__main__", ModuleType("__main__"))  # an embedding program may have none
    found = spawn.get_preparation_data("hms")
    if not has_main_file():
        found.pop("init_main_from_path", None)
    return {name: found[name] for name in ("init_main_from_name", "init_main_from_path") if name in found}


def _setup(number: int, place: Place, cores: tuple[int, ...], start: Start) -> dict[str, Any]:
    preparation = spawn.get_preparation_data(f"hms-{place.name}-{number}")
    preparation.pop("init_main_from_path", None)
    preparation.update(start.main)
    preparation["authkey"] = bytes(preparation["authkey"])
    return {"device": place.device, "cores": cores, "preparation": preparation, "initializer": start.initializer}
