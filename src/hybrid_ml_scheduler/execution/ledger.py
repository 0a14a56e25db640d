"""Tasks between submission and end: admission, placement, and the one place where a task ends."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from itertools import islice
from typing import Any

from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.execution.options import ExecutorOptions
from hybrid_ml_scheduler.execution.placing.placement import Placement, Placer
from hybrid_ml_scheduler.execution.placing.reserve import Reserve
from hybrid_ml_scheduler.execution.work import TaskRecord, Work, resolve

__all__ = ["Ledger"]


class Ledger:
    """Counts, loads and records, under one lock; futures are resolved outside of it."""

    def __init__(self, placer: Placer, options: ExecutorOptions) -> None:
        self.placer, self.options = placer, options
        self.lock = threading.Lock()
        self._changed = threading.Condition(self.lock)
        self._waiting, self.is_asked = 0, False
        self._ends: deque[tuple[Work, str, float | None, float, bool]] = deque()
        self._open: dict[int, Work] = {}
        self.no_more: Callable[[], Exception] | None = None
        self._room: deque[Callable[[], bool]] = deque()  # each says whether somebody was there to hear it
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

    @property
    def unfinished(self) -> int:
        """How many tasks have come in and not ended."""
        return len(self._open)

    @property
    def _has_room(self) -> bool:
        return len(self._open) < self.options.queue_limit

    def enter(self, work: Work, wait: bool) -> None:
        """A task comes in; with `wait`, when there is room for it."""
        with self.lock:
            self._come_in(work, wait)

    def _come_in(self, work: Work, wait: bool) -> None:
        if self._ends:
            self._write_down()
        if wait and not self._has_room:
            self._wait_for(lambda: self._has_room)
        if self.no_more is not None:
            raise self.no_more()
        self._open[id(work)] = work

    def when_room(self, call: Callable[[], bool]) -> bool:
        """Whether there is room for a task now; if not, `call` is called once when there may be."""
        with self.lock:
            self._write_down()
            has_room = self._has_room or self.no_more is not None
            if not has_room:
                self._room.append(call)
            return has_room

    def tell_of_room(self) -> None:
        """Call whoever has waited longest for room, if there is any."""
        with self.lock:
            self._write_down()
            self._call_waiting()

    def _call_waiting(self) -> None:
        while self._room and self._has_room and not self._room.popleft()():
            pass

    def refuse(self, problem: Callable[[], Exception], end: Callable[[], Exception]) -> None:
        """Take no more tasks, for which `problem` is raised, and end those that are unfinished with `end`."""
        with self.lock:
            self._write_down()
            self.no_more = self.no_more or problem
            left = list(self._open.values())
            self._open.clear()
            self._changed.notify_all()
            while self._room:
                self._room.popleft()()
        for work in left:
            resolve(work, None, end())

    def refuse_if_empty(self, problem: Callable[[], Exception]) -> bool:
        """Whether every task has ended; no further one is taken then."""
        with self.lock:
            self._write_down()
            if not self._open:
                self.no_more = self.no_more or problem
            return not self._open

    def admit(self, work: Work, wait: bool, entered: bool) -> Placement | None:
        """Decide where a ready task goes, and promise it there unless it is split; lets it in first if it is not.

        None if the decision can wait: `refill` will give the task out.
        """
        with self.lock:
            if not entered:
                self._come_in(work, wait)
            now_s = time.perf_counter() - self._origin
            if not entered:
                work.submitted_s = now_s
            is_in = False
            try:
                chosen = self.reserve.offer(work, now_s)
                is_in = True
            finally:
                if not is_in:
                    self._leave(work)  # otherwise the end of the executor would be waited for in vain
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
        if self._waiting or self._room:
            with self.lock:
                self._write_down()

    def left(self, work: Work) -> None:
        """A task that was never promised to a place is over."""
        with self.lock:
            self._leave(work)

    def _write_down(self) -> None:
        ends, origin, loads = self._ends, self._origin, self.placer.loads
        while ends:  # whoever holds the lock is the only one who takes from it
            work, state, begun, end, cold = ends.popleft()
            finished_s = end - origin
            if begun is not None:
                work.started_s = begun - origin
            loads[work.place].remove(work)
            self.states[state] += 1
            self._records.append(work.record(self._names[work.place], finished_s, state, cold))
            if state == "done" and begun is not None:
                _learn(self, work, end - begun, finished_s, cold)
            self._leave(work)

    def _leave(self, work: Work) -> None:
        self._open.pop(id(work), None)
        if self._waiting:
            self._changed.notify_all()
        self._call_waiting()

    def wait_until_empty(self, timeout_s: float) -> bool:
        """Wait for the end of every task; False if some are left."""
        with self.lock:
            return self._wait_for(lambda: not self._open, timeout_s)

    def _wait_for(self, holds: Callable[[], bool], timeout_s: float | None = None) -> bool:
        self._waiting += 1
        self._write_down()
        held = self._changed.wait_for(lambda: self.no_more is not None or holds(), timeout_s)
        self._waiting -= 1
        return held

    def snapshot(self) -> dict[str, Any]:
        """Counts of ends and what is unfinished."""
        with self.lock:
            self._write_down()
            return {"unfinished": self.unfinished, **self.states}

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
