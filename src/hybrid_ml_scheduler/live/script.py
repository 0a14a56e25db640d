"""What a run that branched off will still meet of what happened to the run it left."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from hybrid_ml_scheduler.live.records import EventKind, RaceEvent

__all__ = ["FOLLOWED", "Script"]

FOLLOWED = "followed"  # marks an event that a script brought


class Script:
    """Shifts and tasks from outside, in order, each with the task before which it comes."""

    def __init__(self, events: Iterable[RaceEvent] = ()) -> None:
        self._events = deque(events)

    def due(self, task_id: int) -> RaceEvent | None:
        """Take the next event if it comes before this task."""
        return self._events.popleft() if self._events and self._events[0].boundary <= task_id else None

    def tasks_until_next(self, task_id: int, most: int) -> int:
        """How many tasks from this one on come before the next event, `most` at most."""
        return min(most, self._events[0].boundary - task_id) if self._events else most

    def give_up(self) -> None:
        """Somebody shifts the run itself: from here on it goes its own way."""
        self._events.clear()

    def push_back(self) -> None:
        """A task that somebody put in comes before all that is left."""
        self._events = deque(replace(one, boundary=one.boundary + 1) for one in self._events)

    def catch_up(self, kind: EventKind, *, is_followed: bool) -> None:
        """Do what a stored event did to the script when it happened."""
        if is_followed:
            self._events.popleft()
        elif kind == "shift":
            self.give_up()
        elif kind == "task":
            self.push_back()

    def capture(self) -> list[RaceEvent]:
        """What is left, picklable."""
        return list(self._events)
