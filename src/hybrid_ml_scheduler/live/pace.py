"""How many tasks are due: tasks per wall second, without bursts after a standstill."""

from __future__ import annotations

import math
from collections import deque

__all__ = ["TURN_S", "Pace", "Speedometer"]

_BURST = 4
_AT_FULL_SPEED = 64
_PATIENCE_S = 0.25
# Commands and viewers wait for as long as one turn takes.
TURN_S = 0.05


class Pace:
    """Says how many tasks are due at a moment of wall time; speed 0 means as many as possible."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._owed_since = math.nan
        self._at_once = 1

    @property
    def speed(self) -> float:
        """Tasks per wall second; 0 = as fast as possible."""
        return self._speed

    def change(self, speed: float) -> None:
        """Go on at another speed."""
        self._speed = speed
        self._owed_since = math.nan

    def rest(self) -> None:
        """Forget what is owed: the race stood still."""
        self._owed_since = math.nan

    def due(self, now: float) -> int:
        """Return how many tasks to take now, and count them as taken."""
        if self._speed == 0.0:
            return self._at_once
        if math.isnan(self._owed_since):
            self._owed_since = now - 1.0 / self._speed  # the first task is due at once
        # A stall is not made up for by a burst: beyond the patience the schedule moves along.
        self._owed_since = max(self._owed_since, now - max(_PATIENCE_S, 1.0 / self._speed))
        count = min(_BURST, math.floor((now - self._owed_since) * self._speed + 1e-9))
        self._owed_since += count / self._speed
        return count

    def took(self, due: int, taken: int, elapsed_s: float) -> None:
        """Note how many of those that were due could be taken, and how long that took.

        What was not taken is still owed. At full speed, as many are due next time as a turn has time for.
        """
        if self._speed:
            self._owed_since -= (due - taken) / self._speed
        else:
            most = _AT_FULL_SPEED if elapsed_s <= 0.0 else math.floor(taken * TURN_S / elapsed_s)
            self._at_once = max(1, min(most, 2 * taken, _AT_FULL_SPEED))

    def wait_s(self, now: float) -> float:
        """Return the seconds until the next task is due."""
        if self._speed == 0.0 or math.isnan(self._owed_since):
            return 0.0
        return max(0.0, self._owed_since + 1.0 / self._speed - now)


class Speedometer:
    """The speed that was really reached over the last seconds."""

    def __init__(self, window_s: float = 5.0) -> None:
        self._window_s = window_s
        self._marks: deque[tuple[float, int]] = deque()

    def mark(self, now: float, count: int) -> None:
        """Note how many tasks have been taken in all."""
        self._marks.append((now, count))
        while len(self._marks) > 2 and self._marks[0][0] < now - self._window_s:
            self._marks.popleft()

    def reset(self) -> None:
        """Forget the past, for example because counting begins anew."""
        self._marks.clear()

    @property
    def speed(self) -> float:
        """Tasks per wall second over the window."""
        if len(self._marks) < 2:
            return 0.0
        (begin, first), (end, last) = self._marks[0], self._marks[-1]
        return (last - first) / (end - begin) if end > begin else 0.0
