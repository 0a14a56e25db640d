"""The worker processes of an engine: hired, heard, replaced when they die, stopped when they are overdue, sent home."""

from __future__ import annotations

import contextlib
import logging
import selectors
import signal
import subprocess
import time
from collections.abc import Callable

from hybrid_ml_scheduler.execution.devices import Place, core_sets, usable_core_ids
from hybrid_ml_scheduler.execution.errors import KeptResultLost, TaskTimeout, WorkerDied, attempt
from hybrid_ml_scheduler.execution.options import ExecutorOptions
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.execution.workers.codes import code_of
from hybrid_ml_scheduler.execution.workers.handing_out import WaitingTasks
from hybrid_ml_scheduler.execution.workers.worker_process import STOPPED_S, Answer, Start, WorkerProcess, main_program

__all__ = ["Crew"]

# What lies ahead of a worker is asked back when its task has run this long.
_FULL_SOCKET_S = 0.001
PATIENCE_S = 0.05
# A worker that dies so often before it ever was ready will not be ready the next time either. One that is killed from
# outside is not to blame: only very many of those say that nobody wants it to live.
_FALSE_STARTS = 3
_KILLED_SHARE = 0.01
_LAST_MOMENT_S = 0.5
_FAREWELL_S = 5.0
# A worker that has not begun a task this long after the task's time-out is replaced.
_SILENT_S = 10.0
_LOGGER = logging.getLogger("concurrent.futures.hybrid_ml_scheduler")
_LOST = "The worker process on {place} ended while it ran the task ({how})."


class Crew:
    """All processes of one engine; only its thread uses this."""

    def __init__(
        self,
        places: tuple[Place, ...],
        waiting: WaitingTasks,
        options: ExecutorOptions,
        selector: selectors.BaseSelector,
        wake: Callable[[], None],
    ) -> None:
        self.workers: list[WorkerProcess] = []
        self._places, self._waiting, self._options = places, waiting, options
        self._selector, self._wake = selector, wake
        self._false_starts = [0.0] * len(places)
        self._start = Start(code_of((options.initializer, options.initargs))[0], {})
        wanted = sum(place.workers for place in places)
        self._cores = core_sets(usable_core_ids() if options.pin_cores else [], wanted)

    @property
    def is_ready(self) -> bool:
        """Whether every worker that can be started has."""
        wanted = sum(place.workers for place in self._places if self._false_starts[place.index] < _FALSE_STARTS)
        return len(self.workers) >= wanted and all(worker.is_ready for worker in list(self.workers))

    def prepare(self) -> None:
        """Look for the main program while it runs."""
        self._start = self._start._replace(main=main_program())

    def hire_all(self) -> None:
        """Start a process for every worker of every place."""
        for place in self._places:
            for _ in range(place.workers):
                self._hire(place, len(self.workers))

    def _hire(self, place: Place, index: int) -> None:
        worker = WorkerProcess(index, place, self._cores[index], self._start)
        worker.wake = self._wake
        self.workers[index : index + 1] = [worker]
        self._selector.register(worker.link.connection, selectors.EVENT_READ, lambda: self._hear(worker))
        self._selector.register(worker.control, selectors.EVENT_READ, lambda: self._hear_recalled(worker))

    def _hear(self, worker: WorkerProcess) -> None:
        worker.link.flush()
        answers = worker.answers()
        if worker.link.has_ended:
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.process.wait(_LAST_MOMENT_S)  # how it ended by itself says whose fault it was
            worker.kill()  # it can never answer again, whatever its process does
        for answer in answers:
            self._settle(worker, answer)

    def _settle(self, worker: WorkerProcess, answer: Answer) -> None:
        work, ends = answer.work, self._waiting.ends
        self._false_starts[worker.place.index] = 0.0
        if answer.is_result:
            value = ends.keep(worker, work) if work.options.keep else answer.parcel
            ends.done(work, value, answer.begun, answer.ended, answer.work.is_cold)
        else:
            ends.raised(work, answer.parcel.payload, answer.traceback, answer.begun, answer.ended)

    def _hear_recalled(self, worker: WorkerProcess) -> None:
        self._waiting.put_back(worker.take_back())

    def pause_s(self) -> float | None:
        """How long nothing can happen that is not heard: no time-out, no task to ask back, no death unseen."""
        pause: float | None = 1.0 if any(worker.in_flight for worker in self.workers) else None
        if any(not worker.is_ready for worker in self.workers):
            pause = 0.1
        if any(worker.link.has_outgoing for worker in self.workers):
            pause = _FULL_SOCKET_S  # the rest of a frame waits for room, which nothing announces
        now = time.perf_counter()
        for worker in self.workers:
            running = worker.current
            if running is None:
                if worker.in_flight:
                    pause = _sooner(pause, STOPPED_S / 2)
                continue
            work, since = running
            if len(worker.in_flight) > 1 and not worker.recalling and worker.place.workers > 1:
                pause = _sooner(pause, since + PATIENCE_S - now)
            if (limit := self._limit_s(work)) is not None:
                pause = _sooner(pause, since + limit - now)
        return pause

    def _limit_s(self, work: Work) -> float | None:
        own = work.options.timeout_s
        return self._options.timeout_s if own is None else own

    def look_after(self) -> None:
        """Replace the dead, stop what is overdue, ask back what waits behind a long task."""
        now = time.perf_counter()
        for worker in list(self.workers):
            if worker.process.poll() is not None:
                self._replace(worker)
                continue
            worker.flush_returns()
            worker.link.flush()
            running = worker.current
            if running is None:
                if self._is_lost(worker, now):
                    worker.kill()
                    self._replace(worker)
                continue
            work, since = running
            limit = self._limit_s(work)
            if limit is not None and now - since > limit:
                worker.kill()
                self._replace(worker, TaskTimeout(f"{work.kind} ran longer than {limit:g} s and was stopped."))
            elif len(worker.in_flight) > 1 and now - since > PATIENCE_S and worker.place.workers > 1:
                self._hear(worker)
                worker.recall()
        for place in self._places:
            if self._false_starts[place.index] >= _FALSE_STARTS:
                self._waiting.fail(place.index, WorkerDied(f"No worker serves {place.name}."))

    def _is_lost(self, worker: WorkerProcess, now: float) -> bool:
        """Whether a worker that has begun nothing never will: what was sent to it goes to another one."""
        if now - worker.heard_s < STOPPED_S or (worker.is_ready and not worker.in_flight):
            return False
        limits = [limit for work in worker.in_flight.values() if (limit := self._limit_s(work)) is not None]
        return worker.has_stood_still(now) or any(now - worker.heard_s > limit + _SILENT_S for limit in limits)

    def _replace(self, worker: WorkerProcess, reason: TaskTimeout | None = None) -> None:
        victim, rest = self._let_go(worker)
        place, ends = worker.place, self._waiting.ends
        if reason is not None and victim is not None:
            ends.failed(victim, reason, "timeout")
        elif victim is not None:
            ends.died(victim, WorkerDied(_LOST.format(place=place.name, how=_how(worker.process.returncode))))
        lost = KeptResultLost(f"The worker on {place.name} died with the results it kept.")
        self._waiting.fail_all(worker.own, lost)
        self._waiting.put_back(rest)
        if not worker.is_ready:
            self._false_starts[place.index] += _KILLED_SHARE if worker.process.returncode == -signal.SIGKILL else 1.0
        if self._false_starts[place.index] >= _FALSE_STARTS:
            self._give_up(place, worker)
        else:
            self._hire(place, self.workers.index(worker))

    def _let_go(self, worker: WorkerProcess) -> tuple[Work | None, list[Work]]:
        """Hear the last words of a process that has ended, and close what belonged to it.

        Returns the task that had begun, and those that never did.
        """
        worker.process.wait()
        worker.has_ended = True
        self._hear(worker)
        self._selector.unregister(worker.link.connection)
        self._selector.unregister(worker.control)
        left = worker.take_all()
        worker.close()
        return left

    def _give_up(self, place: Place, worker: WorkerProcess) -> None:
        """Workers of this place cannot be started: its tasks fail."""
        self.workers.remove(worker)
        if not any(one.place.index == place.index for one in self.workers):
            how = _how(worker.process.returncode)
            self._waiting.fail(place.index, WorkerDied(f"No worker process of {place.name} can be started ({how})."))

    def dismiss(self, kill: bool) -> None:
        """Send everybody home; whoever does not go is made to, and what was running fails."""
        for worker in self.workers:
            if kill:
                worker.kill()
            else:
                worker.hang_up()
        until = time.perf_counter() + _FAREWELL_S
        for worker in self.workers:
            problem = attempt(self._see_off, worker, until).error
            if problem is not None:
                worker.kill()
                _LOGGER.error("A worker process did not leave as it should.", exc_info=problem)
        self._waiting.cancel(self.workers)
        self.workers.clear()

    def _see_off(self, worker: WorkerProcess, until: float) -> None:
        stopped = WorkerDied("The executor was stopped while the task ran or waited.")
        try:
            worker.process.wait(max(until - time.perf_counter(), 0.05))
        except subprocess.TimeoutExpired:
            worker.kill()
        victim, rest = self._let_go(worker)
        for work in [*([victim] if victim else []), *rest]:
            self._waiting.ends.failed(work, stopped, "died")


def _sooner(pause: float | None, other: float) -> float:
    other = max(other, 0.001)
    return other if pause is None else min(pause, other)


def _how(code: int | None) -> str:
    if code is None:
        return "it stopped answering"
    return f"signal {-code}" if code < 0 else f"exit code {code}"
