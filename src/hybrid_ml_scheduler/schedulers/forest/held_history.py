"""The latest tasks as they were believed to be, and the setting that would serve them best: a replay now and then."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.terms import TaskTerms
from hybrid_ml_scheduler.schedulers.forest.trained_seconds import Expected, expected_again
from hybrid_ml_scheduler.schedulers.grid import as_batch, as_column
from hybrid_ml_scheduler.schedulers.holding.settings import History, Setting, replayed_values

__all__ = ["HELD_WAYS", "HeldHistory"]

HELD_WAYS = (
    Setting(True, 0.0),
    Setting(False, 0.0),
    Setting(True, 0.3),
    Setting(True, 1.0),
    Setting(True, 0.3, 8.0, 4.0, 20.0),
    Setting(True, 0.7, 4.0, 8.0),
    Setting(True, 0.3, 4.0, 4.0),
    Setting(False, 0.0, slowest=3.0),
    Setting(False, 0.0, slowest=3.0, affinity=1.0),
    Setting(False, 0.0, slowest=6.0, affinity=3.0),
)
"""Shortest first as it stands, cut and whole, with prices of device-seconds, with limits that spare some GPUs, and with
idle devices that take what is shortest on them, or what gains most by them."""

_FIRST_REVIEW = 64
_REMEMBERED = 1024
_LEAD = 0.9  # of the present setting's latency, from which on another one takes over


class HeldHistory:
    """The latest tasks, and which of the settings is in force; a review is due when so many have been seen."""

    def __init__(self) -> None:
        self._latest: deque[Expected] = deque(maxlen=_REMEMBERED)
        self.seen, self.due = 0, _FIRST_REVIEW
        self.chosen = 0
        self.latency_s: dict[int, float] = {}

    def add(self, task: Expected) -> None:
        """A task has become ready; those that wait long must count too, so it is remembered before it is served."""
        self._latest.append(task)
        self.seen += 1

    def review(self, by_speed: tuple[int, ...], aging: float, may_pull: bool) -> bool:
        """Play the latest tasks again if it is time; says whether another setting is in force now.

        Unless it `may_pull`, devices do not take tasks: they take no gangs, and wrong estimates would make them refuse
        the tasks that suit them.
        """
        if self.seen < self.due:
            return False
        self.due = self.seen + min(self.due, _REMEMBERED)
        size_s = as_column([task.unit_s for task in self._latest])
        terms = as_batch([TaskTerms(*task.corrected) for task in self._latest])
        history = History(as_column([task.now_s for task in self._latest]), size_s, terms, aging, by_speed=by_speed)
        found = replayed_values(history, HELD_WAYS, "latency", np.ones(len(by_speed) + 1))
        if not may_pull:
            found[[setting.slowest > 0.0 for setting in HELD_WAYS]] = math.inf
        self.latency_s = {way: float(value) for way, value in enumerate(found) if value < math.inf}
        best, before = int(np.argmin(found)), self.chosen
        if found[best] < _LEAD * found[before]:
            self.chosen = best
        return self.chosen != before

    def capture(self) -> Mapping[str, Any]:
        """The whole state as plain values."""
        return {
            "latest": [tuple(task) for task in self._latest],
            "counters": (self.seen, self.due, self.chosen),
            "latency_s": dict(self.latency_s),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        self._latest = deque((expected_again(task) for task in state["latest"]), maxlen=_REMEMBERED)
        self.seen, self.due, self.chosen = state["counters"]
        self.latency_s = dict(state["latency_s"])
