"""A task in two parts: one for the CPU, one for another device, put together when both are done."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from hybrid_ml_scheduler.execution.errors import attempt
from hybrid_ml_scheduler.execution.ledger import Ledger
from hybrid_ml_scheduler.execution.parents import when_done
from hybrid_ml_scheduler.execution.placing.placement import Placement
from hybrid_ml_scheduler.execution.work import Work, resolve
from hybrid_ml_scheduler.execution.workers.engines import Engine

__all__ = ["Halves"]


class Halves:
    """The two parts of one task; an exception of either is the task's."""

    def __init__(self, work: Work, chosen: Placement, ledger: Ledger, engine: Engine) -> None:
        self._work, self._chosen = work, chosen
        self._ledger, self._engine = ledger, engine

    def start(self) -> None:
        """Divide the arguments, queue both parts, and wait for the later one."""
        work, share = self._work, self._chosen.fraction
        if not work.future.set_running_or_notify_cancel():
            self._ledger.open.left(work)
            return
        parts, error = attempt(self._divided, share)
        if error is not None:
            self._end(error, None)
            return
        for part in parts:
            self._ledger.open.enter(part, wait=False)
            self._ledger.promise(part, part.place)
        ends: list[Future[Any]] = [part.future for part in parts]
        when_done(ends, lambda: self._combine(ends))
        for part in parts:
            self._engine.enqueue(part)

    def _divided(self, share: float) -> list[Work]:
        divide, _ = self._work.function.divider
        cpu_args, device_args = divide(share, *self._work.args, **self._work.kwargs)
        return [self._part(0, 1.0 - share, cpu_args), self._part(self._chosen.place, share, device_args)]

    def _part(self, place: int, share: float, args: tuple[Any, ...]) -> Work:
        whole = self._work
        part = Work(self._engine.new_future(), whole.function, tuple(args), {})
        part.kind, part.task_id, part.options = whole.kind, whole.task_id, whole.options
        part.size, part.nbytes = whole.size * share, int(whole.nbytes * share)
        part.place, part.fraction, part.submitted_s = place, share, whole.submitted_s
        part.predicted_s = whole.snapshot.seconds[place] * share
        part.task = whole.task
        self._engine.prepare(part)
        return part

    def _combine(self, ends: list[Future[Any]]) -> None:
        for end in ends:
            if end.cancelled() or end.exception() is not None:
                error = None if end.cancelled() else end.exception()
                self._end(error or RuntimeError("A part of the task was cancelled."), None)
                return
        _, combine = self._work.function.divider
        value, error = attempt(combine, *(end.result() for end in ends))
        self._end(error, value)

    def _end(self, error: BaseException | None, value: Any) -> None:
        self._ledger.open.left(self._work)
        self._engine.wake()
        resolve(self._work, value, error)
