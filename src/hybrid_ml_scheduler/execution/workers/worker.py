"""The worker process: takes tasks from its parent, runs them one after another, sends each result at once.

Two sockets: tasks and results on one, on the other the parent's word while a task runs (give back what has not
begun) and its end, which is the worker's end too. A page of shared memory says which task has begun: when the
process dies, the parent knows exactly which task died with it and which never ran.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from typing import Any

from hybrid_ml_scheduler.execution.errors import ExecutionError, KeptResultLost, NotTransferable, attempt
from hybrid_ml_scheduler.execution.workers.blocks import BlockMaps, BlockPool
from hybrid_ml_scheduler.execution.workers.payloads import PLAIN, Packed, decode, encode, pack, unpack
from hybrid_ml_scheduler.execution.workers.ring import Ring
from hybrid_ml_scheduler.execution.workers.wire import PatientLink

__all__ = [
    "KEPT_RESULTS",
    "callable_on",
    "exception_bytes",
    "fetch_kept",
    "finish_device",
    "importing_main",
    "kept_value",
    "main",
]

_RECALL = b"recall"
# The parent is told of results at the latest after so many, or when a task ends this long after it was told last: it
# then has time to send the next while the one ahead runs.
_HEARD_AFTER, _HEARD_AFTER_S = 32, 5e-4
_NOTHING = (pickle.dumps(None),)

# Results that stay here for later tasks, by number.
KEPT_RESULTS: dict[int, Any] = {}
_importing_main = False


def importing_main() -> bool:
    """Whether this worker is just importing the user's main module, where no executor may be made."""
    return _importing_main


def kept_value(number: int) -> Any:
    """The value that an earlier task left in this worker."""
    try:
        return KEPT_RESULTS[number]
    except KeyError:
        raise KeptResultLost(f"Result {number} is not kept in this worker any more.") from None


def fetch_kept(value: Any) -> Any:
    """Bring a kept result home: its argument has become the value by the time it is called."""
    return value


class _Worker:
    """The state of the process: what waits, what is mapped, which functions it knows."""

    def __init__(self, link: PatientLink, control: socket.socket, ring: Ring) -> None:
        self._link, self._control, self._ring = link, control, ring
        self._unheard, self._told = 0, 0.0
        self._reading = threading.Lock()
        self._waiting: deque[tuple[Any, ...]] = deque()
        self._functions: dict[int, Callable[..., Any]] = {}
        self._codes: dict[int, bytes] = {}
        self._unused: list[int] = []
        self._closed: list[int] = []
        self._maps = BlockMaps(self._unused.append)
        self._pool = BlockPool()
        self._device, self._pid = "cpu", os.getpid()

    def start(self) -> None:
        """Prepare the process as its parent says, and report."""
        first = self._link.receive()
        if first is None:
            os._exit(0)
        setup = pickle.loads(first[0])
        self._device = setup["device"]
        _prepare(setup)
        os.register_at_fork(after_in_child=self._leave_to_parent)
        threading.Thread(target=self._listen, name="hms-control", daemon=True).start()
        error = attempt(_initialize, setup["initializer"]).error
        if error is not None:
            text = "".join(traceback.format_exception(error))
            self._link.send(pickle.dumps(("unfit", exception_bytes(error), text)), [])
            sys.exit(1)
        self._link.send(pickle.dumps(("ready", os.getpid())), [])

    def serve(self) -> None:
        """Run tasks until the parent closes the connection."""
        while True:
            with self._reading:
                frame = self._link.receive()
                if frame is None:
                    return
                self._accept(*frame)
            while True:
                try:
                    item = self._waiting.popleft()
                except IndexError:
                    break
                self._run(*item)
            if self._unheard:  # what seemed to wait behind the last task was given back meanwhile
                self._tell()

    def _accept(self, body: bytes, descriptors: list[int]) -> None:
        """Take in one message: tasks, and what became of blocks and kept results."""
        items, back, closed, dropped = pickle.loads(body)
        for number in dropped:
            KEPT_RESULTS.pop(number, None)
        fresh = iter(descriptors)
        for _, function, code, item, _ in items:
            if (parcel := Packed(*item)).is_new:
                self._maps.learn(parcel.segment, next(fresh))
            if function and code is not None:
                self._codes[function] = code  # it is sent once, and the task that brought it may be given back
        self._closed += [segment for block in back if (segment := self._pool.free(block)) is not None]
        for segment in closed:
            self._maps.forget(segment)
        self._waiting.extend(items)

    def _run(self, number: int, function: int, code: bytes | None, parcel: tuple[Any, ...], keep: bool) -> None:
        begun = time.perf_counter()
        self._ring.begin(number, begun)
        answer, descriptor = self._outcome(number, function, code, Packed(*parcel), keep)
        if os.getpid() != self._pid:
            os._exit(0)  # a child that the task forked has come back here: it is not the worker
        ended = time.perf_counter()
        unused: list[int] = []
        if self._unused:
            unused, self._unused[:] = list(self._unused), []
        closed, self._closed = self._closed, []
        message = pickle.dumps((number, *answer, begun, ended, unused, closed), protocol=5)
        if descriptor is None and self._ring.put(message):
            self._unheard += 1
            if not self._waiting or self._unheard >= _HEARD_AFTER or ended - self._told >= _HEARD_AFTER_S:
                self._tell()
        else:
            self._link.send(message, [] if descriptor is None else [descriptor])

    def _tell(self) -> None:
        """Say that results lie in the ring."""
        self._unheard, self._told = 0, time.perf_counter()
        self._link.send(b"", [])

    def _outcome(
        self, number: int, function: int, code: bytes | None, parcel: Packed, keep: bool
    ) -> tuple[tuple[Any, ...], int | None]:
        """Run one task; whatever it raises is its result."""
        answer, error = attempt(self._answer, number, function, code, parcel, keep)
        if error is None:
            found: tuple[tuple[Any, ...], int | None] = answer
            return found
        text = "".join(traceback.format_exception(error))
        return (False, (exception_bytes(error),), text), None

    def _answer(
        self, number: int, function: int, code: bytes | None, parcel: Packed, keep: bool
    ) -> tuple[tuple[Any, ...], int | None]:
        call = self._function(function, code)
        given, error = attempt(self._unpacked, parcel)
        if isinstance(error, Exception) and not isinstance(error, ExecutionError):
            reason = f"{type(error).__name__}: {error}"
            raise NotTransferable(f"The arguments cannot be unpacked in the worker: {reason}.") from error
        if error is not None:
            raise error
        args, kwargs = given
        del given
        value = call(*args, **kwargs)
        del args, kwargs
        finish_device(self._device)
        if keep:
            KEPT_RESULTS[number] = value
            return (True, _NOTHING, ""), None
        if type(value) in PLAIN:
            return (True, (pickle.dumps(value, protocol=5),), ""), None
        item, descriptor = pack(encode(value, f"The result ({type(value).__name__})"), self._pool)
        return (True, tuple(item), ""), descriptor

    def _unpacked(self, parcel: Packed) -> Any:
        """The arguments of a task."""
        return decode(unpack(parcel, self._maps)) if parcel.spans else pickle.loads(parcel.payload)

    def _function(self, number: int, code: bytes | None) -> Callable[..., Any]:
        if not number:
            assert code is not None
            return callable_on(self._device, code)
        if number not in self._functions:
            self._functions[number] = callable_on(self._device, self._codes[number])
            del self._codes[number]
        return self._functions[number]

    def _listen(self) -> None:
        """Give back what has not begun when the parent asks; end with the parent."""
        while True:
            try:
                word = self._control.recv(len(_RECALL))
            except OSError:
                word = b""
            if not word:
                os._exit(0)
            self._control.sendall(_framed(pickle.dumps(self._given_back())))

    def _given_back(self) -> list[int]:
        """The numbers of all tasks that have not begun, those still in the socket among them."""
        if self._reading.acquire(blocking=False):  # otherwise the main thread is reading, and runs nothing
            try:
                for frame in self._link.receive_now():
                    self._accept(*frame)
            finally:
                self._reading.release()
        numbers = []
        with contextlib.suppress(IndexError):
            while True:
                item = self._waiting.popleft()
                numbers.append(item[0])
        return numbers

    def _leave_to_parent(self) -> None:
        """A child that a task forks has no part in the conversation."""
        self._control.close()
        self._link.connection.close()


def callable_on(device: str, code: bytes) -> Callable[..., Any]:
    """A function from its code; of a task, the implementation for a device."""
    found = pickle.loads(code)
    implementations = getattr(found, "implementations", None)
    call: Callable[..., Any] = implementations[device] if isinstance(implementations, dict) else found
    return call


def finish_device(device: str) -> None:
    """A GPU works on after the call returns; its time ends when it is done."""
    torch = sys.modules.get("torch")
    if device == "cuda" and torch is not None:
        torch.cuda.synchronize()


def _framed(body: bytes) -> bytes:
    return struct.pack("!Q", len(body)) + body


def exception_bytes(error: BaseException) -> bytes:
    """The exception as a pickle that is known to come back; what does not becomes a sentence."""
    body: bytes | None = attempt(pickle.dumps, error).value
    if body is not None and isinstance(attempt(pickle.loads, body).value, BaseException):
        return body
    words = attempt(str, error).value or "an exception without words"
    return pickle.dumps(ExecutionError(f"{type(error).__name__}: {words}"))


def _initialize(code: bytes) -> None:
    initializer, arguments = pickle.loads(code)
    if initializer is not None:
        initializer(*arguments)


def _prepare(setup: dict[str, Any]) -> None:
    """Become like the parent: path, folder, main module; and keep to the cores given."""
    global _importing_main
    from multiprocessing import spawn

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if setup["cores"] and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, setup["cores"])
    _importing_main = True
    try:
        spawn.prepare(setup["preparation"])
    finally:
        _importing_main = False


def main(data: int, control: int, page: int) -> None:
    """The entry point of a worker process: three descriptors from its parent."""
    worker = _Worker(PatientLink(socket.socket(fileno=data)), socket.socket(fileno=control), Ring(page))
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        worker.start()
        worker.serve()
