"""The future of a task: results are unpacked by whoever asks for them, and may stay on their device."""

from __future__ import annotations

import logging
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from hybrid_ml_scheduler.execution.errors import NotTransferable, RemoteTraceback, attempt
from hybrid_ml_scheduler.execution.workers.payloads import Parcel, decode
from hybrid_ml_scheduler.execution.workers.worker import fetch_kept, kept_value

_LOGGER = logging.getLogger("concurrent.futures.hybrid_ml_scheduler")
__all__ = ["HeldHere", "HybridFuture", "Kept", "remote_exception"]


class Kept:
    """A result that stayed in the worker that made it; given to a later task, it is there already.

    `fetch` brings it home. It is forgotten with this object, and lost if its worker dies.
    """

    def __init__(self, number: int, owner: Any, fetched: Callable[[Kept], Any]) -> None:
        self._number, self._owner, self._fetched = number, owner, fetched

    @property
    def owner(self) -> Any:
        """The worker that keeps the value."""
        return self._owner

    @property
    def number(self) -> int:
        """Its number in that worker."""
        return self._number

    @property
    def place(self) -> str:
        """Where the value is."""
        name: str = self._owner.place.name
        return name

    def fetch(self) -> Any:
        """The value itself, brought into this process."""
        return self._fetched(self)

    def __reduce__(self) -> Any:
        return kept_value, (self._number,)

    def __repr__(self) -> str:
        return f"<result {self._number} kept on {self.place}>"


class HeldHere(Kept):
    """A kept result of a worker thread: it is in this process already."""

    def __init__(self, value: Any) -> None:
        super().__init__(0, None, lambda _: value)

    @property
    def place(self) -> str:
        """Where the value is."""
        return "this process"

    def __reduce__(self) -> Any:
        return fetch_kept, (self.fetch(),)


class HybridFuture(Future[Any]):
    """A `concurrent.futures.Future` that knows its task."""

    def __init__(self, helper: Callable[[], AbstractContextManager[None] | None] | None = None) -> None:
        super().__init__()
        self.work: Any = None
        self._helper = helper

    def result(self, timeout: float | None = None) -> Any:
        """The task's result; unpacked here, once."""
        helped = None if self._helper is None or self.done() else self._helper()
        if helped is None:
            value = super().result(timeout)
        else:
            with helped:
                value = super().result(timeout)
        return self._opened(value) if type(value) is Parcel else value

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What the task raised, or what keeps its result from being unpacked."""
        helped = None if self._helper is None or self.done() else self._helper()
        with nullcontext() if helped is None else helped:
            error = super().exception(timeout)
        if error is None and type(value := super().result()) is Parcel:
            try:
                self._opened(value)
            except NotTransferable as problem:
                return problem
        return error

    def add_done_callback(self, fn: Callable[[Future[Any]], object]) -> None:
        """Call `fn(future)` at the end; one that exits or interrupts stops nobody but itself."""

        def call(future: Future[Any]) -> None:
            _, error = attempt(fn, future)
            if error is None:
                return
            if isinstance(error, Exception) or threading.current_thread() is threading.main_thread():
                raise error  # the standard library logs the former; the program itself may be interrupted
            _LOGGER.critical("A callback of %r raised.", future, exc_info=error)

        super().add_done_callback(call)

    def _opened(self, parcel: Parcel) -> Any:
        memory = self.__dict__
        if "opened" not in memory:
            value, error = attempt(decode, parcel)
            if error is not None:
                reason = f"{type(error).__name__}: {error}"
                raise NotTransferable(f"The result cannot be unpacked here: {reason}.") from error
            # Two threads may have unpacked it: the first one's object is everybody's.
            self._result = memory.setdefault("opened", value)
        return memory["opened"]


def remote_exception(body: bytes, text: str) -> BaseException:
    """The exception that a task raised in its worker, with the worker's traceback as its cause."""
    opened, problem = attempt(pickle.loads, body)
    found: BaseException
    if isinstance(opened, BaseException):
        found = opened
    else:
        found = NotTransferable(f"The task's exception cannot be unpacked here: {type(problem).__name__}: {problem}.")
    found.__cause__ = RemoteTraceback(text)
    return found
