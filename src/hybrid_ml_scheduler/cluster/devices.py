"""One device of the stepping form: a first-in first-out queue, one part at a time, nothing pre-empted."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from struct import Struct
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.tasks import FloatColumn, Task
from hybrid_ml_scheduler.physics.estimator import PhysicsEstimator

__all__ = ["BacklogView", "Device", "QueuedPart"]


# A queued part as a plain tuple, since two are made for every task: when it really starts and finishes, what was
# believed (estimated seconds; the believed moment before which it cannot start; the end it was promised when it was
# queued), and whose it is.
QueuedPart = tuple[float, float, float, float, float, int]
START, FINISH, ESTIMATE, NOT_BEFORE, PROMISED = range(5)
QUEUED_FIELDS = 6
# A part of the recent past: when it started and finished, and the seconds that the device had been busy before it. With
# these nobody need add up a queue or a window to say how busy a device is.
PastPart = tuple[float, float, float]
PAST_FIELDS = 3
# Whoever asks about the queue settles it first, so appending may put that off for a while.
_UNSETTLED = 64


class Device:
    """The queue of one device and its recent past; `is_exact` as long as noise plays no part."""

    __slots__ = ("_done_s", "_queue", "_recent", "_window_s", "free_s", "is_exact")

    def __init__(self, window_s: float) -> None:
        self.free_s = 0.0
        self._done_s = 0.0  # busy seconds of the parts that are over
        self.is_exact = True
        self._window_s = window_s
        self._queue: deque[QueuedPart] = deque()
        self._recent: deque[PastPart] = deque()

    def settle(self, now_s: float) -> None:
        """Move finished parts to the recent past and forget what lies before the window."""
        queue, recent, done_s = self._queue, self._recent, self._done_s
        while queue and queue[0][FINISH] <= now_s:
            start_s, finish_s, _, _, _, _ = queue.popleft()  # a starred name would make a list each time
            recent.append((start_s, finish_s, done_s))
            done_s += finish_s - start_s
        self._done_s, oldest = done_s, now_s - self._window_s
        while recent and recent[0][FINISH] <= oldest:
            recent.popleft()

    def estimated_end_s(self, now_s: float) -> float:
        """When the device is believed to be free now, which must not be before anything asked or queued earlier."""
        if self.is_exact:
            return self.free_s if self.free_s > now_s else now_s
        queue = self._queue
        if queue and queue[0][FINISH] <= now_s:
            self.settle(now_s)
        return _promised_end_s(queue[0], queue[-1], now_s) if queue else now_s

    def foreseen_end_s(self, at_s: float) -> float:
        """When the device will be believed to be free at some moment, if nothing comes; the queue is left as it is.

        Finished parts are known, the others estimated: what was promised to the queue moves with its first part, by as
        much as that is early or late.
        """
        if self.is_exact:
            return self.free_s if self.free_s > at_s else at_s
        for head in self._queue:
            if head[FINISH] > at_s:
                return _promised_end_s(head, self._queue[-1], at_s)
        return at_s

    def append(
        self, start_s: float, finish_s: float, estimate_s: float, not_before_s: float, task_id: int, now_s: float
    ) -> None:
        """Queue a part behind what was promised before."""
        promised_s, queue = finish_s, self._queue
        if not self.is_exact:
            promised_s = self._promise(estimate_s, not_before_s, now_s)
        elif len(queue) > _UNSETTLED:
            self.settle(now_s)
        queue.append((start_s, finish_s, estimate_s, not_before_s, promised_s, task_id))
        self.free_s = finish_s

    def extend(self, parts: Sequence[QueuedPart], now_s: float) -> None:
        """Queue parts that were placed without noise and in order; `now_s` is when the last of them was decided."""
        if not parts:
            return
        self._queue.extend(parts)
        self.free_s = parts[-1][FINISH]
        if len(self._queue) > _UNSETTLED or not self.is_exact:
            self.settle(now_s)

    def ahead(self, until_s: float) -> list[QueuedPart]:
        """The parts that end until then, the one behind them, and the last of all."""
        found: list[QueuedPart] = []
        for part in self._queue:
            found.append(part)
            if part[FINISH] > until_s:
                if part is not self._queue[-1]:
                    found.append(self._queue[-1])
                break
        return found

    def _promise(self, estimate_s: float, not_before_s: float, now_s: float) -> float:
        """The end that a part is promised: its seconds behind the last promise, or behind what it must wait for.

        Promises are kept as they were given, so what a part must wait for is set back by what the first one is late.
        """
        self.settle(now_s)
        if not self._queue:
            return max(now_s, not_before_s) + estimate_s
        head = self._queue[0]
        late_s = _believed_end_s(head, now_s) - head[PROMISED]
        return max(self._queue[-1][PROMISED], not_before_s - late_s) + estimate_s

    def expect_noise(self, now_s: float) -> None:
        """From now on promises are estimates; those given before were kept to the letter."""
        if self.is_exact:
            self.is_exact = False
            self.settle(now_s)

    def queue_length(self, now_s: float) -> int:
        """How many parts are waiting or running."""
        self.settle(now_s)
        return len(self._queue)

    def busy_s(self, now_s: float) -> float:
        """Seconds the device has been busy up to now."""
        self.settle(now_s)
        # One part at a time: only the head of the queue can run now.
        runs_since_s = self._queue[0][START] if self._queue else now_s
        return self._done_s + max(0.0, now_s - runs_since_s)

    def recent_utilization(self, now_s: float) -> float:
        """The busy share of the last window of simulated time (of the time since zero if that is shorter)."""
        begin = max(0.0, now_s - self._window_s)
        if now_s <= begin:
            return 0.0
        busy = self.busy_s(now_s) - self._busy_before_s(begin)
        return min(1.0, max(0.0, busy) / (now_s - begin))

    def _busy_before_s(self, begin_s: float) -> float:
        """Seconds the device was busy up to the window's begin: only one part can have been running then."""
        if self._recent:
            start_s, _, busy_s = self._recent[0]
        else:
            start_s, busy_s = self._queue[0][START] if self._queue else begin_s, self._done_s
        return busy_s + max(0.0, begin_s - start_s)

    def capture(self, now_s: float) -> Mapping[str, Any]:
        """The whole state as plain values, settled: how parts came to be queued leaves no trace."""
        self.settle(now_s)
        return {
            "free_s": self.free_s,
            "done_s": self._done_s,
            "exact": self.is_exact,
            "queue": _table(self._queue, QUEUED_FIELDS),
            "recent": _table(self._recent, PAST_FIELDS),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        self.free_s, self._done_s, self.is_exact = state["free_s"], state["done_s"], state["exact"]
        self._queue = deque((*part, int(task_id)) for *part, task_id in state["queue"].tolist())
        self._recent = deque(map(tuple, state["recent"].tolist()))


def _table(parts: Collection[tuple[float, ...]], width: int) -> FloatColumn:
    """Parts as one array: a queue may hold tens of thousands, and to pickle them one by one would hold up the race."""
    packed = Struct(f"{width * len(parts)}d").pack(*chain.from_iterable(parts))  # half the time of np.fromiter
    return np.frombuffer(packed, np.float64).reshape(len(parts), width)


def _believed_end_s(head: QueuedPart, now_s: float) -> float:
    """When the first part of a queue will be done, as far as one can tell."""
    start_s, _, estimate_s, not_before_s, _, _ = head
    if start_s <= now_s:
        end_s = start_s + estimate_s
        return end_s if end_s > now_s else now_s
    return (not_before_s if not_before_s > now_s else now_s) + estimate_s


def _promised_end_s(head: QueuedPart, last: QueuedPart, now_s: float) -> float:
    """When the last part of a queue will be done: its promise moves by as much as the first part is early or late."""
    end_s = _believed_end_s(head, now_s)
    moved_s = last[PROMISED] + (end_s - head[PROMISED])
    return moved_s if moved_s > end_s else end_s


class BacklogView:
    """A snapshot of backlogs at the moment of a decision."""

    __slots__ = ("cpu_backlog_s", "estimator", "gpu_backlogs_s", "idle", "now_s")

    def __init__(
        self,
        estimator: PhysicsEstimator,
        now_s: float = 0.0,
        cpu_backlog_s: float = 0.0,
        gpu_backlogs_s: list[float] | None = None,
    ) -> None:
        self.estimator = estimator
        self.now_s = now_s
        self.idle: list[bool] = []  # filled for strategies that hold, the CPU first
        self.cpu_backlog_s = cpu_backlog_s
        self.gpu_backlogs_s = [0.0] * estimator.num_gpus if gpu_backlogs_s is None else gpu_backlogs_s

    @property
    def least_loaded_gpu(self) -> int:
        """The GPU with the least backlog; the lowest id among equals."""
        backlogs = self.gpu_backlogs_s
        return backlogs.index(min(backlogs))

    def completion_s(self, task: Task, gpu_fraction: float, gpu: int | None) -> float:
        """Seconds from now until the split would be finished; inf if it would fail. None: the least loaded GPU."""
        gpu = self.least_loaded_gpu if gpu is None else gpu
        backlog = self.gpu_backlogs_s[gpu]
        return self.estimator.completion_s(task, gpu_fraction, gpu, self.cpu_backlog_s, backlog)
