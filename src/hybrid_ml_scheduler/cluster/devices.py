"""One device of the stepping form: a first-in first-out queue, one part at a time, nothing pre-empted."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["Device", "QueuedPart"]


class QueuedPart(NamedTuple):
    """A promised part: when it really runs, what was believed, and whose it is."""

    start_s: float
    finish_s: float
    estimate_s: float
    not_before_s: float
    task_id: int


class Device:
    """The queue of one device and its recent past."""

    __slots__ = ("_busy_s", "_exact", "_queue", "_recent", "_window_s", "free_s")

    def __init__(self, window_s: float) -> None:
        self.free_s = 0.0
        self._busy_s = 0.0
        self._exact = True
        self._window_s = window_s
        self._queue: deque[QueuedPart] = deque()
        self._recent: deque[QueuedPart] = deque()

    def settle(self, now_s: float) -> None:
        """Move finished parts to the recent past and forget what lies before the window."""
        queue, recent = self._queue, self._recent
        while queue and queue[0].finish_s <= now_s:
            recent.append(queue.popleft())
        oldest = now_s - self._window_s
        while recent and recent[0].finish_s <= oldest:
            recent.popleft()

    def estimated_end_s(self, now_s: float) -> float:
        """When the device is believed to be free; finished parts are known, the others estimated."""
        if self._exact:
            return self.free_s if self.free_s > now_s else now_s
        self.settle(now_s)
        end = now_s
        for place, part in enumerate(self._queue):
            if place == 0 and part.start_s <= now_s:
                end = max(now_s, part.start_s + part.estimate_s)
            else:
                end = max(end, part.not_before_s) + part.estimate_s
        return end

    def append(self, part: QueuedPart, now_s: float) -> None:
        """Queue a part behind what was promised before."""
        self.settle(now_s)
        self._queue.append(part)
        self.free_s = part.finish_s
        self._busy_s += part.finish_s - part.start_s

    def expect_luck(self) -> None:
        """From now on promises are estimates, so the end of the queue must be reckoned part by part."""
        self._exact = False

    def queue_length(self, now_s: float) -> int:
        """How many parts are waiting or running."""
        self.settle(now_s)
        return len(self._queue)

    def busy_s(self, now_s: float) -> float:
        """Seconds the device has been busy up to now."""
        self.settle(now_s)
        ahead = sum(part.finish_s - max(part.start_s, now_s) for part in self._queue)
        return self._busy_s - ahead

    def recent_utilization(self, now_s: float) -> float:
        """The busy share of the last window of simulated time (of the time since zero if that is shorter)."""
        begin = max(0.0, now_s - self._window_s)
        if now_s <= begin:
            return 0.0
        self.settle(now_s)
        running = self.intervals(now_s)
        busy = sum(max(0.0, min(end, now_s) - max(start, begin)) for start, end, _ in running)
        return min(1.0, busy / (now_s - begin))

    def intervals(self, now_s: float) -> list[tuple[float, float, int]]:
        """Recent and promised parts as (start, finish, task id), for pictures."""
        self.settle(now_s)
        return [(part.start_s, part.finish_s, part.task_id) for part in (*self._recent, *self._queue)]

    def capture(self) -> Mapping[str, Any]:
        """The whole state as plain values."""
        return {
            "free_s": self.free_s,
            "busy_s": self._busy_s,
            "exact": self._exact,
            "queue": [tuple(part) for part in self._queue],
            "recent": [tuple(part) for part in self._recent],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        self.free_s, self._busy_s, self._exact = state["free_s"], state["busy_s"], state["exact"]
        self._queue = deque(QueuedPart(*part) for part in state["queue"])
        self._recent = deque(QueuedPart(*part) for part in state["recent"])
