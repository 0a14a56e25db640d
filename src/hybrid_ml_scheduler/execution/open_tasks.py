"""The tasks of an executor that have come in and not ended: room for more, waiting for the last, and a common end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from hybrid_ml_scheduler.execution.work import Work, resolve

__all__ = ["OpenTasks"]

Problem = Callable[[], Exception]


class OpenTasks:
    """Unfinished tasks under the executor's lock; `settle` writes down the ends that were only noted so far."""

    def __init__(self, limit: int, settle: Callable[[], None]) -> None:
        self.lock = threading.Lock()
        self.no_more: Problem | None = None  # what whoever submits now is told
        self.never_waits: Callable[[], bool] = bool  # whether the calling thread must not wait for room
        self._changed = threading.Condition(self.lock)
        self._limit, self._settle = limit, settle
        self._works: dict[int, Work] = {}
        self._waiting = 0
        self._room: deque[Callable[[], bool]] = deque()  # each says whether somebody was there to hear it

    def __len__(self) -> int:
        return len(self._works)

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for the end of a task."""
        return self._waiting > 0 or bool(self._room)

    @property
    def _has_room(self) -> bool:
        return len(self._works) < self._limit

    def enter(self, work: Work, wait: bool) -> None:
        """A task comes in; with `wait`, when there is room for it."""
        with self.lock:
            self.come_in(work, wait)

    def come_in(self, work: Work, wait: bool) -> None:
        """The same for who holds the lock."""
        self._settle()
        if wait and len(self._works) >= self._limit and not self.never_waits():
            self._wait_for(lambda: self._has_room, None)
        if self.no_more is not None:
            raise self.no_more()
        self._works[id(work)] = work

    def left(self, work: Work) -> None:
        """A task is over that was never promised to a place."""
        with self.lock:
            self.leave(work)

    def leave(self, work: Work) -> None:
        """A task is over; the caller holds the lock."""
        self._works.pop(id(work), None)
        if self._waiting:
            self._changed.notify_all()
        if self._room:
            self._call_waiting()

    def when_room(self, call: Callable[[], bool]) -> bool:
        """Whether there is room for a task now; if not, `call` is called once when there may be."""
        with self.lock:
            self._settle()
            has_room = self._has_room or self.no_more is not None
            if not has_room:
                self._room.append(call)
            return has_room

    def tell_of_room(self) -> None:
        """Call whoever has waited longest for room, if there is any."""
        with self.lock:
            self._settle()
            self._call_waiting()

    def _call_waiting(self) -> None:
        while self._room and self._has_room and not self._room.popleft()():
            pass

    def refuse(self, problem: Problem, end: Problem) -> None:
        """Take no more tasks, for which `problem` is raised, and end those that are unfinished with `end`."""
        with self.lock:
            self._settle()
            self.no_more = self.no_more or problem
            left = list(self._works.values())
            self._works.clear()
            self._changed.notify_all()
            while self._room:
                self._room.popleft()()
        for work in left:
            resolve(work, None, end())

    def refuse_if_empty(self, problem: Problem) -> bool:
        """Whether every task has ended; no further one is taken then."""
        with self.lock:
            self._settle()
            if not self._works:
                self.no_more = self.no_more or problem
            return not self._works

    def wait_until_empty(self, timeout_s: float) -> bool:
        """Wait for the end of every task; False if some are left."""
        with self.lock:
            return self._wait_for(lambda: not self._works, timeout_s)

    def _wait_for(self, holds: Callable[[], bool], timeout_s: float | None) -> bool:
        self._waiting += 1
        self._settle()
        held = self._changed.wait_for(lambda: self.no_more is not None or holds(), timeout_s)
        self._waiting -= 1
        return held
