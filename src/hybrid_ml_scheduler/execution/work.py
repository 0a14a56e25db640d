"""One submitted task on its way, and the record of what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import InvalidStateError
from contextlib import suppress
from typing import Any, NamedTuple

from hybrid_ml_scheduler.core.tasks import Task
from hybrid_ml_scheduler.execution.futures import HybridFuture
from hybrid_ml_scheduler.execution.tasks import TaskFunction, TaskOptions
from hybrid_ml_scheduler.execution.workers.codes import Code
from hybrid_ml_scheduler.execution.workers.payloads import Parcel

__all__ = ["TaskRecord", "Work", "resolve"]


class TaskRecord(NamedTuple):
    """What happened to one task (or one part of a split task); seconds since the executor was made.

    `state` is `done`, `failed` (its own exception), `died`, `timeout` or `cancelled`.
    """

    task_id: int
    kind: str
    size: float
    memory_mb: float
    place: str
    worker: int
    fraction: float
    submitted_s: float
    started_s: float
    finished_s: float
    predicted_s: float
    state: str
    attempts: int
    cold: bool

    @property
    def seconds(self) -> float:
        """How long it ran."""
        return self.finished_s - self.started_s

    @property
    def latency_s(self) -> float:
        """From submission to the end."""
        return self.finished_s - self.submitted_s


class Work:
    """Everything an engine needs to run one task somewhere."""

    __slots__ = (
        "affinity",
        "announced",
        "args",
        "attempts",
        "block",
        "code",
        "fraction",
        "function",
        "future",
        "is_cold",
        "is_try",
        "kind",
        "kwargs",
        "nbytes",
        "number",
        "options",
        "parcel",
        "place",
        "predicted_s",
        "size",
        "snapshot",
        "started_s",
        "submitted_s",
        "task",
        "task_id",
        "worker",
    )

    def __init__(self, future: HybridFuture, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        self.future, self.function, self.args, self.kwargs = future, function, args, kwargs
        self.options: TaskOptions = _PLAIN
        self.kind, self.size, self.nbytes, self.task_id = "", 1.0, 0, 0
        self.parcel: Parcel | None = None
        self.code: Code = _NO_CODE
        self.place = 0
        self.fraction = 1.0
        self.predicted_s = 0.0
        self.submitted_s = self.started_s = 0.0
        self.attempts = 0
        self.number = 0
        self.announced = False
        self.is_cold = self.is_try = False
        self.block = 0
        self.worker = 0
        self.affinity: Any = None
        self.task: Task | None = None
        self.snapshot: Any = None

    @property
    def is_over(self) -> bool:
        """Whether its future was taken to be resolved."""
        return self.future is _NO_FUTURE

    def release(self) -> HybridFuture:
        """Its future, to be resolved; the task lets go of it and of its arguments, whose memory may be needed."""
        future, self.future = self.future, _NO_FUTURE
        self.args, self.kwargs, self.parcel, self.code = (), {}, None, _NO_CODE
        if not isinstance(self.function, TaskFunction):
            self.function = None  # a bound method holds its object
        return future

    def record(self, place: str, finished_s: float, state: str, cold: bool) -> tuple[Any, ...]:
        """The fields of the record of its end; it is made when somebody asks."""
        return (
            self.task_id,
            self.kind,
            self.size,
            self.nbytes / 1e6,
            place,
            self.worker,
            self.fraction,
            self.submitted_s,
            self.started_s,
            finished_s,
            self.predicted_s,
            state,
            self.attempts,
            cold,
        )


def resolve(work: Work, value: Any, error: BaseException | None = None) -> None:
    """End the future of a task, unless somebody has ended it: a task ends once, however many see its end."""
    future = work.release()
    try:
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
    except InvalidStateError:
        if future is not _NO_FUTURE and future.cancelled() and not work.announced:
            with suppress(RuntimeError):  # whoever waits for it is told, once
                future.set_running_or_notify_cancel()


_PLAIN = TaskOptions()
_NO_CODE = Code(0, b"")
_NO_FUTURE = HybridFuture()
_NO_FUTURE.cancel()
_NO_FUTURE.set_running_or_notify_cancel()
