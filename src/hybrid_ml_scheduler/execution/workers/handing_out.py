"""Which task goes to which worker process, and when: queues of places, batches of tiny tasks, functions sent once."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from hybrid_ml_scheduler.execution.devices import Place
from hybrid_ml_scheduler.execution.errors import ExecutionError, KeptResultLost
from hybrid_ml_scheduler.execution.ledger import Ledger
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.execution.workers.endings import Endings
from hybrid_ml_scheduler.execution.workers.worker_process import Item

__all__ = ["WaitingTasks"]

# Tasks of this many believed seconds, and so many in number, may lie ahead in a worker. One that serves its place alone
# takes all tasks of it anyway: it may have more ahead, and never waits for the next.
AHEAD_S, _ALONE_S = 0.002, 0.01
AHEAD = 128
# The very next task may wait in its worker if it takes no longer than this.
_NEXT_S = 0.5
_BLOCKS_AT_ONCE = 16


class Server(Protocol):
    """What the queues ask of a worker, wherever it runs."""

    number: int
    place: Place
    in_flight: dict[int, Work]
    own: deque[Work]
    is_ready: bool
    is_late: bool
    promised_s: float

    def knows(self, function: int) -> bool:
        """Whether the worker has this function already; it will from now on."""

    def send(self, works: list[Item]) -> None:
        """Hand over tasks."""


class WaitingTasks:
    """The queues; only the engine's thread takes from them."""

    def __init__(self, places: tuple[Place, ...], ledger: Ledger) -> None:
        self._queues: list[deque[Work]] = [deque() for _ in places]
        self._bound: deque[Work] = deque()  # tasks that must go to one worker, which keeps an argument of theirs
        self._ledger = ledger
        self.ends = Endings(ledger, self.put_first)
        self._ended_here = 0  # tasks that ended without ever having been sent

    def put(self, work: Work) -> None:
        """A new task, at the end of its queue."""
        (self._queues[work.place] if work.affinity is None else self._bound).append(work)

    def put_first(self, work: Work) -> None:
        """A task that was handed out before, at the head of its queue."""
        if work.affinity is not None and work.affinity.place.index == work.place:
            self._bound.appendleft(work)
        else:
            work.affinity = None
            self._queues[work.place].appendleft(work)

    def put_back(self, works: list[Work]) -> None:
        """Tasks that were handed to a worker and never began, in their order."""
        for work in reversed(works):
            work.attempts -= 1
            self.put_first(work)

    def cancel(self, workers: Sequence[Server]) -> None:
        """Cancel every task that has not been handed to a worker."""
        for queue in (*self._queues, self._bound, *(worker.own for worker in workers)):
            with contextlib.suppress(IndexError):
                while True:
                    self.ends.cancelled(queue.popleft())

    def take_all(self, place: int) -> list[Work]:
        """Everything that waits for a place, taken out."""
        found = []
        with contextlib.suppress(IndexError):
            while True:
                found.append(self._queues[place].popleft())
        return found

    def fail(self, place: int, error: ExecutionError) -> None:
        """Nobody serves this place: its tasks end."""
        self.fail_all(self._queues[place], error)

    def fail_all(self, queue: deque[Work], error: ExecutionError) -> None:
        """End every task of a queue with this error."""
        while queue:
            self.ends.failed(queue.popleft(), error, "died")

    def hand_out(self, workers: Sequence[Server]) -> bool:
        """Give every worker what it may have now, the idle ones first; whether tasks ended here, as if cancelled."""
        before = self._ended_here
        while self._bound:
            self._bind(self._bound.popleft())
        for worker in sorted(workers, key=_occupied):
            if not worker.is_ready:
                continue
            for queue in (worker.own, self._queues[worker.place.index]):
                if queue and (batch := self._batch(worker, queue)):
                    worker.send(batch)
        return self._ended_here > before

    def _bind(self, work: Work) -> None:
        if work.affinity.has_ended:
            self.ends.failed(work, KeptResultLost("The worker died that kept an argument of the task."), "died")
            self._ended_here += 1
        else:
            work.affinity.own.append(work)

    def _batch(self, worker: Server, queue: deque[Work]) -> list[Item]:
        """The next tasks for a worker: one, or as many as take a moment together."""
        batch: list[Item] = []
        ahead_s, ahead, blocks = worker.promised_s, len(worker.in_flight), 0
        share = -(-len(queue) // worker.place.workers)
        while queue and len(batch) < share and ahead < AHEAD and blocks < _BLOCKS_AT_ONCE:
            believed_s = queue[0].predicted_s
            if ahead and not _may_wait_there(worker, len(queue), ahead, believed_s, ahead_s):
                break
            item = self._made_ready(worker, queue.popleft())
            if item is None:
                continue
            batch.append(item)
            # Of a kind that was never measured one task is sent alone.
            ahead_s, ahead = ahead_s + (believed_s or AHEAD_S), ahead + 1
            blocks += 1 if item[3].buffers else 0
        return batch

    def _made_ready(self, worker: Server, work: Work) -> Item | None:
        if not work.announced:
            if not work.future.set_running_or_notify_cancel():
                self._ledger.ended(work, "cancelled")
                work.release()
                self._ended_here += 1
                return None
            work.announced = True
        if self._ledger.elsewhere(work):
            self.put(work)
            self._ended_here += 1  # nobody else would tell of it
            return None
        self._ledger.begun(work, worker.number)
        assert work.parcel is not None
        number, body = work.code
        return work, number, None if number and worker.knows(number) else body, work.parcel


def _may_wait_there(worker: Server, queued: int, ahead: int, believed_s: float, ahead_s: float) -> bool:
    """Whether a task may be sent to a worker that is busy: a short one, or the very next where all are busy anyway.

    Of a kind that was never measured none may, and none that could still be cancelled for long.
    """
    if believed_s <= 0.0 or (worker.is_late and worker.place.workers > 1):
        return False
    if (
        ahead == 1
        and believed_s <= _NEXT_S
        and queued >= (1 if worker.place.workers == 1 else 2 * worker.place.workers)
    ):
        return True
    return believed_s <= (AHEAD_S if worker.place.workers > 1 else _ALONE_S) - ahead_s


def _occupied(worker: Server) -> int:
    return len(worker.in_flight)
