"""What can become of a task besides its own result, and how code that may raise anything is called."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from pickle import PicklingError
from typing import Any, NamedTuple

from hybrid_ml_scheduler.core.errors import HmsError

__all__ = [
    "ExecutionError",
    "ExecutorBroken",
    "KeptResultLost",
    "NotTransferable",
    "RemoteTraceback",
    "TaskTimeout",
    "Tried",
    "WorkerDied",
    "attempt",
]


class ExecutionError(HmsError):
    """A task could not be run as asked; the message says why."""


class ExecutorBroken(ExecutionError, BrokenExecutor):
    """The executor cannot go on: every unfinished task ends with this, and its cause is chained."""

    @classmethod
    def by(cls, cause: BaseException) -> ExecutorBroken:
        """The exception for one future or one call."""
        made = cls(f"The executor broke ({type(cause).__name__}: {cause}). Make a new one.")
        made.__cause__ = cause
        return made


class WorkerDied(ExecutionError, BrokenExecutor):
    """The worker that ran the task ended: killed, crashed or stopped. Other tasks go on."""


class TaskTimeout(ExecutionError, TimeoutError):
    """The task ran longer than its time-out; its worker process was stopped and replaced."""


class NotTransferable(ExecutionError, PicklingError):
    """A function, an argument, a result or an exception cannot be sent between processes."""


class KeptResultLost(ExecutionError):
    """A result that was kept on a device went with the worker that kept it."""


class RemoteTraceback(Exception):
    """The traceback of an exception in a worker, as text; it is the cause of the exception that is raised here."""

    def __init__(self, text: str) -> None:
        super().__init__(text)

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class Tried(NamedTuple):
    """What a call returned, or what it raised."""

    value: Any
    error: BaseException | None


_tried = tuple.__new__  # a third of the time of the class's own, and every task pays for several


def attempt(call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Tried:
    """Call, and give back the value or the exception; an interrupt of the program itself is an exception too."""
    try:
        return _tried(Tried, (call(*args, **kwargs), None))
    except BaseException as error:  # noqa: BLE001 - the whole point of this function
        return Tried(None, error)
