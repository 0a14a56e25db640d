"""How long held tasks have waited, and which of them are overdue: aging in the stepping form.

A task is overdue when it has been held for `aging` times what tasks take and wait in the mean. The bound follows what
is seen: at a higher load everybody waits longer, and only those count as overdue who wait out of all proportion.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.holding import MEAN_OVER
from hybrid_ml_scheduler.physics.held_choices import overdue_s

__all__ = ["Waiting", "aging_limit"]


def aging_limit(strategy: str, aging: float) -> float:
    """The option `aging` as a factor: 0 is no bound."""
    if not 0.0 <= aging < math.inf:
        raise PlanError(f"{strategy}: aging = {aging:g} must be a finite number of at least 0.")
    return aging or math.inf


class Waiting:
    """The held tasks in the order in which they became ready; the first `overdue` of them have waited too long."""

    def __init__(self) -> None:
        self.overdue = 0
        self._since: dict[int, float] = {}
        self._mean_s, self._started = 0.0, 0

    def hold(self, task_id: int, now_s: float) -> None:
        """A task waits from now on."""
        self._since[task_id] = now_s

    def start(self, task_id: int, now_s: float) -> None:
        """A task waits no longer; how long it did counts for the mean."""
        self.served(now_s - self._since[task_id])
        self.forget(task_id)

    def served(self, wait_s: float) -> None:
        """A task has waited so long, perhaps not at all."""
        self._started += 1
        self._mean_s += (wait_s - self._mean_s) / min(self._started, MEAN_OVER)

    def forget(self, task_id: int) -> None:
        """A task was taken away."""
        self.overdue -= task_id in islice(self._since, self.overdue)
        del self._since[task_id]

    def newly_overdue(self, now_s: float, aging: float, mean_s: float, most: int) -> Iterator[int]:
        """Those that have become overdue, the longest held first; no more than `most` are overdue at a time."""
        limit_s = overdue_s(aging, mean_s, self._mean_s)
        for task_id, since_s in list(islice(self._since.items(), self.overdue, most)):
            if now_s - since_s < limit_s:
                return
            yield task_id
            self.overdue += 1

    def capture(self) -> Mapping[str, Any]:
        """The whole state as plain values."""
        return {
            "since": dict(self._since),
            "overdue": self.overdue,
            "mean_s": self._mean_s,
            "started": self._started,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        self._since, self.overdue = dict(state["since"]), state["overdue"]
        self._mean_s, self._started = state["mean_s"], state["started"]
