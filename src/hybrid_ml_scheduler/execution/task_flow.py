"""The way of a task from its arguments to a worker, and of what it kept back to whoever asks for it."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.execution.errors import ExecutorBroken, KeptResultLost, WorkerDied, attempt
from hybrid_ml_scheduler.execution.futures import HeldHere, HybridFuture, Kept
from hybrid_ml_scheduler.execution.kind_names import kind_of
from hybrid_ml_scheduler.execution.ledger import Ledger
from hybrid_ml_scheduler.execution.parents import parents_of, when_done, with_results
from hybrid_ml_scheduler.execution.placing.placement import Placement
from hybrid_ml_scheduler.execution.splitting import Halves
from hybrid_ml_scheduler.execution.tasks import TaskFunction, array_bytes, size_of
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.execution.workers.endings import Told
from hybrid_ml_scheduler.execution.workers.engines import Engine
from hybrid_ml_scheduler.execution.workers.serving import shut_down
from hybrid_ml_scheduler.execution.workers.worker import fetch_kept

__all__ = ["TaskFlow"]

_MOMENT_S = 2e-5
# Where the standard library's executors log too.
_LOGGER = logging.getLogger("concurrent.futures.hybrid_ml_scheduler")


class TaskFlow:
    """Describes, places and hands out tasks; what cannot go on ends as its future's exception."""

    def __init__(self, ledger: Ledger, engine: Engine) -> None:
        self._ledger, self._engine = ledger, engine
        self._ids, self.last_id = itertools.count(), -1
        self.when_ended: Callable[[], None] = self.end
        ledger.open.never_waits = engine.is_own_thread
        engine.connect(Told(self._fetched, self._decide_more, self._break_by, lambda: self.when_ended()))

    def submit(self, work: Work, wait: bool = True) -> HybridFuture:
        """Take in a task and send it on its way, once the results that it needs are there."""
        future = work.future
        future.work = work
        work.task_id = self._new_id()
        plain = _are_plain(work.args, work.kwargs)
        parents = [] if plain else parents_of(work.args, work.kwargs)
        if not parents:
            self._go(work, plain, wait=wait)
            return future
        self._ledger.open.enter(work, wait)
        work.submitted_s = self._ledger.now_s()
        when_done(parents, lambda: self._after_parents(work, parents))
        return future

    def _break_by(self, cause: BaseException) -> None:
        """The engine cannot go on: end every unfinished task, and take no more."""
        _LOGGER.critical("The executor broke: its unfinished tasks are lost.", exc_info=cause)
        self._ledger.open.refuse(lambda: ExecutorBroken.by(cause), lambda: ExecutorBroken.by(cause))

    def end(self) -> None:
        """Nothing runs any more: end what was left over."""
        self._ledger.open.refuse(shut_down, lambda: WorkerDied("The executor was stopped."))

    def _new_id(self) -> int:
        number = next(self._ids)  # one step, so that no lock is needed
        self.last_id = number
        return number

    def _described(self, work: Work) -> None:
        function, args, kwargs = work.function, work.args, work.kwargs
        if isinstance(function, TaskFunction):
            work.options = function.chosen
            work.kind = function.kind
            work.size = size_of(work.kind, work.options.size, work.nbytes, args, kwargs)
        else:
            work.kind = kind_of(function)
            work.size = float(work.nbytes) if work.nbytes else 1.0

    def _after_parents(self, work: Work, parents: list[Any]) -> None:
        """All results a task waits for are there, or one of them never will be."""
        problem = attempt(self._go_on, work, parents).error
        if problem is not None and not work.is_over:
            self._refused(work, problem, entered=True)

    def _go_on(self, work: Work, parents: list[Any]) -> None:
        if work.is_over:
            return
        for parent in parents:
            if parent.cancelled() or parent.exception() is not None:
                self._ledger.open.left(work)
                future = work.release()
                if parent.cancelled():
                    future.cancel()
                    future.set_running_or_notify_cancel()
                elif future.set_running_or_notify_cancel():
                    future.set_exception(parent.exception())
                self._engine.wake()
                return
        work.args = tuple(with_results(value) for value in work.args)
        work.kwargs = {name: with_results(value) for name, value in work.kwargs.items()}
        self._go(work, entered=True)

    def _go(self, work: Work, plain: bool = False, entered: bool = False, wait: bool = False) -> None:
        """Pack and place a task whose arguments are all there; what fails here is the future's exception."""
        problem = attempt(self._made_ready, work, plain).error
        if problem is not None:
            self._refused(work, problem, entered)
            if isinstance(problem, KeyboardInterrupt) and not entered:
                raise problem  # it is meant for the program, whatever it was doing
        else:
            self._admit(work, entered, wait)

    def _admit(self, work: Work, entered: bool, wait: bool) -> None:
        try:
            chosen = self._ledger.admit(work, wait, entered)
        except SchedulerError as error:
            self._refused(work, error, entered=False)
            return
        if chosen is not None:
            self._send(work, chosen)
            return
        if self._ledger.is_asked:
            time.sleep(_MOMENT_S)  # in a loop of submissions the lock would be taken again before others are awake
        if self._ledger.reserve.asks_on_arrival:
            self._decide_more()

    def _send(self, work: Work, chosen: Placement) -> None:
        if chosen.fraction < 1.0:
            Halves(work, chosen, self._ledger, self._engine).start()
        else:
            self._engine.enqueue(work)

    def _decide_more(self) -> None:
        """Something has ended: decide about tasks that have been waiting for that."""
        try:
            decided = self._ledger.refill()
        except SchedulerError as error:
            self._ledger.problem = error
            self.cancel_undecided(error)
            return
        for work, chosen in decided:
            self._send(work, chosen)

    def cancel_undecided(self, error: Exception | None = None) -> None:
        """End every task that waits for a decision: cancelled, or with an error."""
        for work in self._ledger.take_undecided():
            self._ledger.open.left(work)
            future = work.release()
            if error is None:
                future.cancel()
            if future.set_running_or_notify_cancel() and error is not None:
                future.set_exception(error)

    def _made_ready(self, work: Work, plain: bool) -> None:
        if plain:  # no arrays, and nothing that is kept
            self._described(work)
        else:
            work.nbytes = array_bytes(work.args, work.kwargs)
            self._described(work)
            self._bring_kept(work)
        self._engine.prepare(work)

    def _refused(self, work: Work, error: BaseException, entered: bool) -> None:
        if entered:
            self._ledger.open.left(work)
        future = work.release()
        if future.set_running_or_notify_cancel():
            future.set_exception(error)
        self._engine.wake()

    def _bring_kept(self, work: Work) -> None:
        """Send a task to the worker that keeps its argument, or bring the argument home if it cannot run there."""
        for value in work.args:
            if isinstance(value, Kept):
                break
        else:
            return
        can_run = work.function.implementations if isinstance(work.function, TaskFunction) else ("cpu",)
        owners = {value.owner for value in work.args if isinstance(value, Kept) and not isinstance(value, HeldHere)}
        if len(owners) == 1 and (owner := owners.pop()).place.device in can_run:
            work.affinity = owner
        else:
            work.args = tuple(value.fetch() if isinstance(value, Kept) else value for value in work.args)

    def _fetched(self, kept: Kept) -> Any:
        """The value of a kept result, brought here by a small task of its own."""
        future = self._engine.new_future()
        work = Work(future, fetch_kept, (kept,), {})
        work.kind, work.task_id, work.affinity = "fetch", self._new_id(), kept.owner
        self._engine.prepare(work)
        try:
            self._ledger.open.enter(work, wait=False)
        except RuntimeError as error:
            raise KeptResultLost("The result was kept by an executor that has ended.") from error
        self._ledger.promise(work, kept.owner.place.index)
        self._engine.enqueue(work)
        return future.result()


def _are_plain(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether arguments hold no futures, arrays or kept results."""
    for value in args:
        if type(value) not in _PLAIN_TYPES:
            return False
    return not kwargs


_PLAIN_TYPES = frozenset({int, float, str, bytes, bool, type(None), complex})
