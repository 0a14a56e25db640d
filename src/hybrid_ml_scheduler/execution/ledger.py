"""Tasks between submission and end: admission, placement, and the one place where a task ends."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from itertools import islice
from typing import Any

from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.execution.open_tasks import OpenTasks
from hybrid_ml_scheduler.execution.options import ExecutorOptions
from hybrid_ml_scheduler.execution.placing.placement import Placement, Placer
from hybrid_ml_scheduler.execution.placing.reserve import Reserve
from hybrid_ml_scheduler.execution.work import TaskRecord, Work

__all__ = ["Ledger"]


class Ledger:
    """Counts, loads and records, under one lock; futures are resolved outside of it."""

    def __init__(self, placer: Placer, options: ExecutorOptions) -> None:
        self.placer, self.options = placer, options
        self.open = OpenTasks(options.queue_limit, self._write_down)
        self.lock = self.open.lock
        self.is_asked = False
        self._ends: deque[tuple[Work, str, float | None, float, bool]] = deque()
        self.reserve = Reserve(placer)
        self._records: deque[tuple[Any, ...]] = deque(maxlen=options.history)
        self.states: Counter[str] = Counter()
        self.measured: Callable[[str, str, float, float], None] | None = None
        self.problem: SchedulerError | None = None
        self._origin = time.perf_counter()
        self._names = [load.place.name for load in placer.loads]

    def now_s(self) -> float:
        """Seconds since the executor was made."""
        return time.perf_counter() - self._origin

    def since_start(self, moment: float) -> float:
        """A moment of this machine's clock, from any of its processes, in seconds since the executor was made."""
        return moment - self._origin

    def admit(self, work: Work, wait: bool, entered: bool) -> Placement | None:
        """Decide where a ready task goes, and promise it there unless it is split; lets it in first if it is not.

        None if the decision can wait: `refill` will give the task out.
        """
        with self.lock:
            if not entered:
                self.open.come_in(work, wait)
            now_s = time.perf_counter() - self._origin
            if not entered:
                work.submitted_s = now_s
            is_in = False
            try:
                chosen = self.reserve.offer(work, now_s)
                is_in = True
            finally:
                if not is_in:
                    self.open.leave(work)  # otherwise the end of the executor would be waited for in vain
            if chosen is not None and chosen.fraction >= 1.0:
                work.place = chosen.place if work.affinity is None else work.affinity.place.index
                self.placer.loads[work.place].add(work)
            return chosen

    def refill(self) -> list[tuple[Work, Placement]]:
        """Decisions about tasks that were waiting for one; whole ones are promised."""
        self.is_asked = True
        with self.lock:
            self.is_asked = False
            self._write_down()
            return self.reserve.refill(self.now_s())

    def take_undecided(self) -> list[Work]:
        """Every task that waits for a decision; each is over as soon as the caller says so."""
        with self.lock:
            return self.reserve.cancel()

    def promise(self, work: Work, place: int) -> None:
        """The task will run there."""
        with self.lock:
            work.place = place
            self.placer.loads[place].add(work)

    def move(self, work: Work, place: int) -> None:
        """The task goes elsewhere after all."""
        with self.lock:
            self.placer.loads[work.place].remove(work)
            work.place = place
            self.placer.loads[place].add(work)

    def elsewhere(self, work: Work) -> bool:
        """Whether a task goes to another place after all, since its own has begun to fail."""
        if len(self._names) < 2 or not (self.placer.failing or self._ends):
            return False
        with self.lock:
            self._write_down()
            place = self.placer.elsewhere(work)
            if place is None:
                self.placer.failing.sent(work)
                return False
        self.move(work, place)
        return True

    def begun(self, work: Work, worker: int) -> None:
        """The task was handed to a worker."""
        work.worker = worker
        work.started_s = time.perf_counter() - self._origin
        work.attempts += 1
        self.placer.loads[work.place].running[id(work)] = work

    def ended(
        self, work: Work, state: str, begun: float | None = None, end: float | None = None, cold: bool = False
    ) -> None:
        """The task is over: `begun` and `end` are moments of the machine's clock, if it ran.

        The end is only noted here, without the lock, for which workers would have to queue; whoever holds the lock
        next, to place a task or to look, writes it down.
        """
        self._ends.append((work, state, begun, time.perf_counter() if end is None else end, cold))
        if self.open.is_awaited:
            with self.lock:
                self._write_down()

    def _write_down(self) -> None:
        ends, origin, loads = self._ends, self._origin, self.placer.loads
        while ends:  # whoever holds the lock is the only one who takes from it
            work, state, begun, end, cold = ends.popleft()
            finished_s = end - origin
            if begun is not None:
                work.started_s = begun - origin
            loads[work.place].remove(work)
            self.states[state] += 1
            self.placer.failing.ended(work, state)
            self._records.append(work.record(self._names[work.place], finished_s, state, cold))
            if state == "done" and begun is not None:
                _learn(self, work, end - begun, finished_s, cold)
            self.open.leave(work)

    def snapshot(self) -> dict[str, Any]:
        """Counts of ends and what is unfinished."""
        with self.lock:
            self._write_down()
            return {"unfinished": len(self.open), **self.states}

    def latest(self, after: int = 0) -> list[TaskRecord]:
        """The records of the tasks that ended last, oldest first; those after so many ends only, if that is said."""
        with self.lock:
            self._write_down()
            rows = list(islice(reversed(self._records), self.states.total() - after))
        return [TaskRecord._make(row) for row in reversed(rows)]


def _learn(ledger: Ledger, work: Work, seconds: float, finished_s: float, cold: bool) -> None:
    try:
        if ledger.placer.learn(work, seconds, finished_s, cold) and ledger.measured is not None:
            ledger.measured(work.kind, ledger.placer.loads[work.place].place.device, work.size, seconds)
    except SchedulerError as error:
        # The tasks go on; whoever submits next is told.
        ledger.problem = error
