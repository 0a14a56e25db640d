"""How much work each place still has, as believed: what waits, and what is left of what runs."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_ml_scheduler.execution.devices import Place
from hybrid_ml_scheduler.execution.work import Work

__all__ = ["PlaceLoad"]

# A task that has outlived its estimate is believed to need this share of it once more.
_OVERDUE = 0.1


class PlaceLoad:
    """The believed seconds of one place."""

    __slots__ = ("place", "promised_s", "running", "unfinished")

    def __init__(self, place: Place) -> None:
        self.place = place
        self.promised_s = 0.0
        self.unfinished = 0
        self.running: dict[int, Work] = {}

    @property
    def is_idle(self) -> bool:
        """Whether one of its workers has nothing to do."""
        return self.unfinished < self.place.workers

    def add(self, work: Work) -> None:
        """A task was promised to this place."""
        self.promised_s += work.predicted_s
        self.unfinished += 1

    def remove(self, work: Work) -> None:
        """A promised task has ended or gone elsewhere."""
        self.unfinished -= 1
        self.promised_s = self.promised_s - work.predicted_s if self.unfinished else 0.0
        self.running.pop(id(work), None)

    def backlog_s(self, now_s: float) -> float:
        """Seconds until a worker of this place is free, as believed."""
        if self.is_idle:
            return 0.0
        done = 0.0
        for work in tuple(self.running.values()):  # the engine's thread adds to it without asking for the lock
            done += min(now_s - work.started_s, work.predicted_s * (1.0 - _OVERDUE))
        return max(self.promised_s - done, 0.0) / self.place.workers


def backlogs_s(loads: Sequence[PlaceLoad], now_s: float) -> list[float]:
    """The backlog of every place, in order."""
    return [load.backlog_s(now_s) for load in loads]
