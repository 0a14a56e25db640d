"""The engine of worker threads: one interpreter, no copies, no kill; for functions that release the lock or wait."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress

from hybrid_ml_scheduler.execution.devices import Place
from hybrid_ml_scheduler.execution.errors import TaskTimeout, attempt
from hybrid_ml_scheduler.execution.futures import HeldHere, HybridFuture
from hybrid_ml_scheduler.execution.ledger import Ledger
from hybrid_ml_scheduler.execution.options import ExecutorOptions
from hybrid_ml_scheduler.execution.tasks import TaskFunction
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.execution.workers.endings import Endings, Told
from hybrid_ml_scheduler.execution.workers.serving import shut_down

__all__ = ["ThreadEngine"]

_CHECK_S, _LOOK_S = 0.01, 0.1
_here = threading.local()


class ThreadEngine:
    """A queue and some threads for every place."""

    def __init__(self, places: tuple[Place, ...], ledger: Ledger, options: ExecutorOptions) -> None:
        self._places, self._ledger, self._options = places, ledger, options
        self._queues: list[queue.SimpleQueue[Work | None]] = [queue.SimpleQueue() for _ in places]
        self._ends = Endings(ledger, self.enqueue)
        self._threads: dict[int, threading.Thread] = {}
        self._warm: set[tuple[str, int]] = set()
        self._limited: dict[int, tuple[Work, float]] = {}
        self._stopping = False
        # Its `put` may be called while garbage is collected, whatever lock the thread holds.
        self._calls: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._keeper = threading.Thread(target=self._keep, name="hms-keeper", daemon=True)
        self._made = 0
        self.told: Told

    @property
    def workers(self) -> list[threading.Thread]:
        """The threads that still run."""
        return [thread for thread in list(self._threads.values()) if thread.is_alive()]

    def start(self) -> None:
        """Begin to serve."""
        for place in self._places:
            for _ in range(place.workers):
                self._hire(place)
        self._keeper.start()

    def _hire(self, place: Place) -> None:
        self._made += 1
        thread = threading.Thread(
            target=_serving, args=(self, place, self._made), name=f"hms-{place.name}-{self._made}", daemon=True
        )
        self._threads[self._made] = thread
        thread.start()

    def wait_until_ready(self) -> None:
        """Threads are ready when they are made."""

    def new_future(self) -> HybridFuture:
        """A future whose waiting tasks do not block the engine."""
        return HybridFuture(self.helping)

    def is_own_thread(self) -> bool:
        """Whether a task or a callback of this engine is asking."""
        return getattr(_here, "engine", None) is self

    def connect(self, told: Told) -> None:
        """Who is told what; kept results are here already."""
        self.told = told

    def prepare(self, work: Work) -> None:
        """Nothing is packed: threads share their memory."""
        for value in work.args:
            if type(value) is HeldHere:
                work.args = tuple(one.fetch() if type(one) is HeldHere else one for one in work.args)
                return

    def wake(self) -> None:
        """Nothing has to be told."""

    def enqueue(self, work: Work) -> None:
        """Put a task into the queue of its place."""
        self._queues[work.place].put(work)

    def serve(self, place: Place, number: int) -> None:
        """One thread: runs the tasks of a place."""
        _here.engine = self
        _here.place = place
        if self._options.initializer is not None:
            self._options.initializer(*self._options.initargs)
        tasks = self._queues[place.index]
        while (work := tasks.get()) is not None:
            is_mine = self._run(place, number, work)
            del work
            if self._ledger.reserve:
                self.told.decide()
            if not is_mine:
                return  # its task outlived a time-out, and another thread has taken its place

    def _run(self, place: Place, number: int, work: Work) -> bool:
        """Run a task; False if it outlived a time-out, so that this thread has no place any more."""
        if work.is_over:
            return True
        if not work.announced:
            if not work.future.set_running_or_notify_cancel():
                self._ledger.ended(work, "cancelled")
                work.release()
                return True
            work.announced = True
        if self._ledger.elsewhere(work):
            self.enqueue(work)
            return True
        function = work.function
        call = function.implementations[place.device] if isinstance(function, TaskFunction) else function
        cold = (work.kind, number) not in self._warm
        limit = work.options.timeout_s or self._options.timeout_s
        begun = time.perf_counter()
        self._ledger.begun(work, number)
        if limit is not None:
            self._limited[id(work)] = (work, begun + limit)
            self._calls.put(None)
        value, error = attempt(call, *work.args, **work.kwargs)
        ended = time.perf_counter()
        if limit is not None and self._limited.pop(id(work), None) is None:
            return False
        if error is not None:
            self._ends.raised(work, error, "", begun, ended)
            return True
        if cold:
            self._warm.add((work.kind, number))
        self._ends.done(work, HeldHere(value) if work.options.keep else value, begun, ended, cold)
        return True

    def _keep(self) -> None:
        """End what runs too long, and at the end of the executor let all threads go."""
        tasks = self._ledger.open
        while True:
            pause_s = _CHECK_S if self._limited else None
            if not self._stopping:
                with suppress(queue.Empty):
                    self._calls.get(timeout=pause_s)
            elif tasks.wait_until_empty(pause_s or _LOOK_S) and tasks.refuse_if_empty(shut_down):
                break
            self._end_overdue()
        leaving = self.workers
        for place_queue in self._queues:
            for _ in range(self._made):
                place_queue.put(None)
        for thread in leaving:
            thread.join()
        self.told.ended()

    def _end_overdue(self) -> None:
        """End the futures of tasks that run too long; a thread cannot be stopped, so another takes its place."""
        now = time.perf_counter()
        for key, (work, until) in list(self._limited.items()):
            if now >= until and self._limited.pop(key, None) is not None:
                place = self._places[work.place]
                error = TaskTimeout(f"{work.kind} ran longer than its time-out; its thread ends when it does.")
                self._threads.pop(work.worker, None)
                self._hire(place)
                self._ends.failed(work, error, "timeout")
                if self._ledger.reserve:
                    self.told.decide()  # the new thread is idle

    def helping(self) -> AbstractContextManager[None] | None:
        """While a task of this engine waits for another one, an extra thread serves in its place."""
        return _replaced(self._hire, self._queues) if getattr(_here, "engine", None) is self else None

    def stop(self, kill: bool = False) -> None:
        """End when all tasks have ended: what runs in a thread cannot be stopped."""
        self._stopping = True
        self._calls.put(None)

    def cancel_waiting(self) -> None:
        """Cancel every task that has not begun."""
        for tasks in self._queues:
            with suppress(queue.Empty):
                while True:
                    work = tasks.get_nowait()
                    if work is not None:
                        self._ends.cancelled(work)

    def join(self) -> None:
        """Wait until all tasks have ended and all threads have left."""
        if self._keeper is not threading.current_thread() and not self.is_own_thread():
            self._keeper.join()

    def close(self) -> None:
        """Nothing is held by an engine that never started."""


def _serving(engine: ThreadEngine, place: Place, number: int) -> None:
    error = attempt(engine.serve, place, number).error
    if error is not None:  # whatever it was, no future may wait for ever
        engine.told.broke(error)
        engine.stop()


@contextmanager
def _replaced(hire: Callable[[Place], None], queues: list[queue.SimpleQueue[Work | None]]) -> Iterator[None]:
    """Somebody else serves in this thread's place meanwhile, and one thread less afterwards."""
    hire(_here.place)
    try:
        yield
    finally:
        queues[_here.place.index].put(None)
