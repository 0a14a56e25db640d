"""The engine of worker processes: one thread hands out tasks and takes in results, and nobody else does.

A worker is sent more than one task only while these are believed to take a moment together, so that tiny tasks
travel in batches and long ones wait where any worker can take them.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import selectors
import socket
import subprocess
import threading
import time
import weakref
from collections import deque
from typing import Any

from hybrid_ml_scheduler.execution.devices import Place, core_sets, usable_core_ids
from hybrid_ml_scheduler.execution.endings import Endings, Fetch
from hybrid_ml_scheduler.execution.errors import (
    ExecutionError,
    KeptResultLost,
    NotTransferable,
    TaskTimeout,
    WorkerDied,
)
from hybrid_ml_scheduler.execution.futures import HybridFuture
from hybrid_ml_scheduler.execution.ledger import Ledger
from hybrid_ml_scheduler.execution.options import ExecutorOptions
from hybrid_ml_scheduler.execution.payloads import Parcel, call_encoded, code_of
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.execution.worker_process import Answer, WorkerProcess

__all__ = ["ProcessEngine"]

# Tasks of this many believed seconds, and so many in number, may lie ahead in a worker.
AHEAD_S = 0.002
AHEAD = 128
# What lies ahead of a worker is asked back when its task has run this long.
PATIENCE_S = 0.05
# A worker that dies so often before it ever was ready will not be ready the next time either.
_FALSE_STARTS = 3
_FAREWELL_S = 5.0
_BLOCKS_AT_ONCE = 16
_LOST = "The worker process on {place} ended while it ran the task ({how})."

Item = tuple[Work, int, bytes | None, Parcel]

_ENGINES: weakref.WeakSet[ProcessEngine] = weakref.WeakSet()


class ProcessEngine:
    """Queues of places and the processes that serve them."""

    def __init__(self, places: tuple[Place, ...], ledger: Ledger, options: ExecutorOptions) -> None:
        self._places, self._ledger, self._options = places, ledger, options
        self._queues: list[deque[Work]] = [deque() for _ in places]
        self._bound: deque[Work] = deque()  # tasks that must go to one worker, which keeps an argument of theirs
        self._workers: list[WorkerProcess] = []
        self._ends = Endings(ledger, self._requeued)
        self._selector = selectors.DefaultSelector()
        self._bell, self._ring = socket.socketpair()
        self._bell.setblocking(False)
        self._ring.setblocking(False)
        self._rung = False
        self._started = self._stopping = self._killing = self._done = False
        self._false_starts = [0] * len(places)
        self._numbers = itertools.count(1)
        self._codes: weakref.WeakKeyDictionary[Any, tuple[int, bytes]] = weakref.WeakKeyDictionary()
        self._initializer = code_of((options.initializer, options.initargs))[0]
        wanted = sum(place.workers for place in places)
        self._cores = core_sets(usable_core_ids() if options.pin_cores else [], wanted)
        self._thread = threading.Thread(target=self._pump, name="hms-executor", daemon=True)
        self._pid = os.getpid()
        _ENGINES.add(self)

    @property
    def workers(self) -> list[WorkerProcess]:
        """The processes as they are now."""
        return list(self._workers)

    def start(self) -> None:
        """Begin to serve."""
        self._selector.register(self._bell, selectors.EVENT_READ, self._hear)
        self._started = True
        self._thread.start()

    def new_future(self) -> HybridFuture:
        """A future for a task of this engine."""
        return HybridFuture()

    def is_own_thread(self) -> bool:
        """Whether a callback of this engine is asking."""
        return threading.current_thread() is self._thread

    def set_fetch(self, fetch: Fetch) -> None:
        """How a kept result is brought home."""
        self._ends.fetch = fetch

    def cancel_waiting(self) -> None:
        """Cancel every task that has not been handed to a worker."""
        for queue in (*self._queues, self._bound, *(worker.own for worker in self._workers)):
            with contextlib.suppress(IndexError):
                while True:
                    self._ends.cancelled(queue.popleft())
        self.wake()

    def prepare(self, work: Work) -> None:
        """Pack the arguments, on the thread of whoever submits: hostile objects trouble nobody else."""
        work.parcel = call_encoded(work.args, work.kwargs, work.kind)

    def enqueue(self, work: Work) -> None:
        """Put a task into the queue of its place."""
        (self._queues[work.place] if work.affinity is None else self._bound).append(work)
        if not self._rung:
            self.wake()

    def _requeued(self, work: Work) -> None:
        if work.affinity is not None and work.affinity.place.index == work.place:
            self._bound.appendleft(work)
        else:
            work.affinity = None
            self._queues[work.place].appendleft(work)

    def wake(self) -> None:
        """Let the thread look round."""
        self._rung = True
        with contextlib.suppress(OSError):
            self._ring.send(b"!")

    def stop(self, kill: bool = False) -> None:
        """End when all tasks have ended; with `kill` at once, and what runs fails."""
        self._stopping = True
        self._killing = self._killing or kill
        self.wake()

    def join(self) -> None:
        """Wait until everything is over."""
        if self._started and self._thread is not threading.current_thread():
            self._thread.join()

    # -- the thread ---------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        try:
            for place in self._places:
                for _ in range(place.workers):
                    self._hire(place, len(self._workers))
            while not (self._stopping and self._is_idle()):
                for key, _ in self._selector.select(self._pause_s()):
                    key.data()
                self._look_after()
                self._hand_out()
        finally:
            self._dismiss()

    def _is_idle(self) -> bool:
        return self._killing or self._ledger.is_empty()

    def _hear(self) -> None:
        with contextlib.suppress(OSError):
            while self._bell.recv(4096):
                pass
        # Only now: whoever found the bell rung has put its task where the next look round finds it.
        self._rung = False

    def _hire(self, place: Place, index: int) -> None:
        worker = WorkerProcess(index, place, self._cores[index], self._initializer)
        worker.wake = self.wake
        if index < len(self._workers):
            self._workers[index] = worker
        else:
            self._workers.append(worker)
        self._selector.register(worker.link.connection, selectors.EVENT_READ, lambda: self._hear_worker(worker))
        self._selector.register(worker.control, selectors.EVENT_READ, lambda: self._hear_recalled(worker))

    def _hear_worker(self, worker: WorkerProcess) -> None:
        worker.link.flush()
        answers = worker.answers()
        if worker.link.has_ended:
            worker.kill()  # it can never answer again, whatever its process does
        for answer in answers:
            self._false_starts[worker.place.index] = 0
            self._settle(worker, answer)

    def _settle(self, worker: WorkerProcess, answer: Answer) -> None:
        work, cold = answer.work, answer.cold
        if answer.is_result:
            value = self._ends.kept(worker, work) if work.options.keep else answer.parcel
            self._ends.done(work, value, answer.begun, answer.ended, cold)
        else:
            self._ends.raised(work, answer.parcel.payload, answer.traceback, answer.begun, answer.ended)

    def _hear_recalled(self, worker: WorkerProcess) -> None:
        for work in reversed(worker.recalled()):
            self._take_back(work)

    def _bind(self, work: Work) -> None:
        if work.affinity.has_ended:
            self._ends.failed(work, KeptResultLost("The worker died that kept an argument of the task."), "died")
        else:
            work.affinity.own.append(work)

    def _take_back(self, work: Work) -> None:
        """A task that was handed to a worker and never began."""
        work.attempts -= 1
        self._requeued(work)

    def _pause_s(self) -> float | None:
        """How long nothing can happen that is not heard: no time-out, no task to ask back, no death unseen."""
        pause: float | None = 1.0 if any(worker.in_flight for worker in self._workers) else None
        if any(not worker.is_ready for worker in self._workers):
            pause = 0.1
        now = time.perf_counter()
        for worker in self._workers:
            running = worker.current
            if running is None:
                continue
            work, since = running
            if len(worker.in_flight) > 1 and not worker.recalling:
                pause = _sooner(pause, since + PATIENCE_S - now)
            if (limit := self._limit_s(work)) is not None:
                pause = _sooner(pause, since + limit - now)
        return pause

    def _limit_s(self, work: Work) -> float | None:
        own = work.options.timeout_s
        return self._options.timeout_s if own is None else own

    def _look_after(self) -> None:
        """Replace the dead, stop what is overdue, ask back what waits behind a long task."""
        now = time.perf_counter()
        for worker in self.workers:
            if worker.process.poll() is not None:
                self._replace(worker)
                continue
            worker.flush_returns()
            running = worker.current
            if running is None:
                continue
            work, since = running
            limit = self._limit_s(work)
            if limit is not None and now - since > limit:
                worker.kill()
                self._replace(worker, TaskTimeout(f"{work.kind} ran longer than {limit:g} s and was stopped."))
            elif len(worker.in_flight) > 1 and now - since > PATIENCE_S:
                self._hear_worker(worker)
                worker.recall()

    def _replace(self, worker: WorkerProcess, reason: TaskTimeout | None = None) -> None:
        victim, rest = self._let_go(worker)
        place = worker.place
        if reason is not None and victim is not None:
            self._ends.failed(victim, reason, "timeout")
        elif victim is not None:
            died = WorkerDied(_LOST.format(place=place.name, how=_how(worker.process.returncode)))
            self._ends.died(victim, died)
        self._fail_all(worker.own, KeptResultLost(f"The worker on {place.name} died with the results it kept."))
        for work in reversed(rest):
            self._take_back(work)
        self._false_starts[place.index] += 0 if worker.is_ready else 1
        if self._false_starts[place.index] >= _FALSE_STARTS:
            self._give_up(place, worker)
        else:
            self._hire(place, worker.number)

    def _let_go(self, worker: WorkerProcess) -> tuple[Work | None, list[Work]]:
        """Hear the last words of a process that has ended, and close what belonged to it.

        Returns the task that had begun, and those that never did.
        """
        worker.process.wait()
        worker.has_ended = True
        self._hear_worker(worker)
        self._selector.unregister(worker.link.connection)
        self._selector.unregister(worker.control)
        left = worker.take_all()
        worker.close()
        return left

    def _give_up(self, place: Place, worker: WorkerProcess) -> None:
        """Workers of this place cannot be started: its tasks fail, and with the CPU's every task."""
        self._workers = [one for one in self._workers if one is not worker]
        if any(one.place.index == place.index for one in self._workers):
            return
        sentence = f"No worker process of {place.name} can be started ({_how(worker.process.returncode)})."
        self._fail_all(self._queues[place.index], WorkerDied(sentence))

    # -- handing out --------------------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        while self._bound:
            self._bind(self._bound.popleft())
        for worker in sorted(self._workers, key=_occupied):
            if not worker.is_ready:
                continue
            for queue in (worker.own, self._queues[worker.place.index]):
                if queue and (batch := self._batch(worker, queue)):
                    worker.send(batch)
        for place in self._places:
            if self._queues[place.index] and self._false_starts[place.index] >= _FALSE_STARTS:
                self._fail_all(self._queues[place.index], WorkerDied(f"No worker serves {place.name}."))

    def _batch(self, worker: WorkerProcess, queue: deque[Work]) -> list[Item]:
        """The next tasks for a worker: one, or as many as take a moment together."""
        batch: list[Item] = []
        ahead_s, ahead, blocks = worker.promised_s, len(worker.in_flight), 0
        share = -(-len(queue) // worker.place.workers)
        while queue and len(batch) < share and ahead < AHEAD and blocks < _BLOCKS_AT_ONCE:
            believed_s = queue[0].predicted_s
            if ahead and (believed_s <= 0.0 or ahead_s + believed_s > AHEAD_S or worker.is_late):
                break
            item = self._made_ready(worker, queue.popleft())
            if item is None:
                continue
            batch.append(item)
            # Of a kind that was never measured one task is sent alone.
            ahead_s, ahead = ahead_s + (believed_s or AHEAD_S), ahead + 1
            blocks += 1 if item[3].buffers else 0
        return batch

    def _fail_all(self, queue: deque[Work], error: ExecutionError) -> None:
        while queue:
            self._ends.failed(queue.popleft(), error, "died")

    def _made_ready(self, worker: WorkerProcess, work: Work) -> Item | None:
        if not work.announced:
            if not work.future.set_running_or_notify_cancel():
                self._ledger.ended(work, "cancelled")
                work.released()
                return None
            work.announced = True
        try:
            number, code = self._coded(worker, work.function)
        except NotTransferable as error:
            self._ends.failed(work, error, "failed")
            return None
        self._ledger.begun(work, worker.number)
        assert work.parcel is not None
        return work, number, code, work.parcel

    def _coded(self, worker: WorkerProcess, function: Any) -> tuple[int, bytes | None]:
        """The number of a function and, for a worker that does not have it, its code."""
        function = getattr(function, "origin", function)
        try:
            known = self._codes.get(function)
        except TypeError:  # it can be neither hashed nor referred to weakly
            return 0, code_of(function)[0]
        if known is None:
            code, lasting = code_of(function)
            if not lasting:
                return 0, code
            known = self._codes[function] = (next(self._numbers), code)
        return known[0], None if worker.knows(known[0]) else known[1]

    # -- the end ------------------------------------------------------------------------------------------------

    def _dismiss(self) -> None:
        stopped = WorkerDied("The executor was stopped while the task ran or waited.")
        for worker in self._workers:
            worker.kill() if self._killing else worker.hang_up()
        until = time.perf_counter() + _FAREWELL_S
        for worker in self._workers:
            try:
                worker.process.wait(max(until - time.perf_counter(), 0.05))
            except subprocess.TimeoutExpired:
                worker.kill()
            victim, rest = self._let_go(worker)
            for work in [*([victim] if victim else []), *rest]:
                self._ends.failed(work, stopped, "died")
        self.cancel_waiting()
        self._workers = []
        self._selector.close()
        self._bell.close()
        self._ring.close()

    def abandon(self) -> None:
        """In a forked child: the workers belong to the parent."""
        for worker in self._workers:
            worker.abandon()


def _occupied(worker: WorkerProcess) -> int:
    return len(worker.in_flight)


def _sooner(pause: float | None, other: float) -> float:
    other = max(other, 0.001)
    return other if pause is None else min(pause, other)


def _how(code: int | None) -> str:
    if code is None:
        return "it stopped answering"
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _leave_workers() -> None:
    for engine in list(_ENGINES):
        engine.abandon()


os.register_at_fork(after_in_child=_leave_workers)
