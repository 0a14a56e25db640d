"""Tasks that a strategy holds: they stay undecided until the strategy commits them.

The strategy is woken when a task comes while a worker is idle, and when a worker comes free; it sees every held task
and which devices have an idle worker. A task that it keeps although nothing runs anywhere is sent to the device that
ends first, since no further event might ever come: no future is lost.
"""

from __future__ import annotations

from hybrid_ml_scheduler.cluster.held_tasks import HeldTask, ReadyTasks
from hybrid_ml_scheduler.core.decisions import Decision
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.core.holding import Holds, soonest_device
from hybrid_ml_scheduler.execution.placing.placement import Placement, Placer
from hybrid_ml_scheduler.execution.work import Work
from hybrid_ml_scheduler.schedulers.own_code import strategy_errors

__all__ = ["Holding"]


class Holding:
    """The held tasks of one executor; its owner holds the lock."""

    def __init__(self, placer: Placer, holder: Holds) -> None:
        self._placer, self._holder = placer, holder
        self._held, self._works = ReadyTasks(), dict[int, Work]()
        self._ended_before: tuple[int, ...] | None = None
        self._problem: SchedulerError | None = None

    def __len__(self) -> int:
        return len(self._held)

    def offer(self, work: Work, now_s: float) -> Placement | None:
        """Hold a new task; one that must go to a certain worker is not asked about."""
        if work.affinity is not None:
            return self._placer.place(work, now_s) or Placement(work.affinity.place.index)
        self.hold(work, now_s)
        return None

    def hold(self, work: Work, now_s: float) -> None:
        """Keep a task until the strategy commits it."""
        task = self._placer.introduce(work, now_s)
        self._works[task.task_id] = work
        self._held.arrive(task)
        self._held.hold(HeldTask(task, 1.0, now_s, None))

    def refill(self, now_s: float) -> list[tuple[Work, Placement]]:
        """What the strategy commits now; whole tasks are promised to their places."""
        if self._problem is not None:
            problem, self._problem = self._problem, None
            raise problem
        found: list[tuple[Work, Placement]] = []
        taken = [0] * len(self._placer.loads)
        try:
            while self._has_news() and self._wake(now_s, found, taken):
                pass
            if len(self._held) and not found and not any(load.unfinished for load in self._placer.loads):
                self._force(now_s, found, taken)
        except SchedulerError as error:
            if not found:
                raise
            self._problem = error  # first what was committed before goes its way
        return found

    def cancel(self) -> list[Work]:
        """Take everything out, undecided."""
        works = list(self._works.values())
        for task_id in list(self._works):
            self._take(task_id)
        return works

    def _has_news(self) -> bool:
        """Whether a worker is idle, and a task came or ended since the strategy last kept everything back."""
        if not len(self._held) or not any(load.is_idle for load in self._placer.loads):
            return False
        counts = tuple(load.unfinished for load in self._placer.loads)
        return bool(self._held.fresh) or counts != self._ended_before

    def _wake(self, now_s: float, found: list[tuple[Work, Placement]], taken: list[int]) -> bool:
        """Ask the strategy once; whether it committed something. A device with several workers is asked for again."""
        before, view = len(found), self._placer.held_view(now_s, taken)
        name = self._placer.strategy.name
        with strategy_errors(f"The strategy {name!r} cannot decide about held tasks"):
            for task_id, decision in self._holder.dispatch(self._held, view):
                self._commit(task_id, decision, now_s, found, taken)
        self._held.woken()
        self._ended_before = tuple(load.unfinished for load in self._placer.loads)
        return len(found) > before and any(view.idle)

    def _commit(
        self, task_id: int, decision: Decision, now_s: float, found: list[tuple[Work, Placement]], taken: list[int]
    ) -> None:
        entry, work = self._take(task_id)
        chosen = self._placer.commit(work, entry.task, decision, now_s)
        if chosen.fraction < 1.0:  # its parts are promised when it is divided
            taken[0] += 1
            taken[chosen.place] += 1
        else:
            work.place = chosen.place
            self._placer.loads[chosen.place].add(work)
        found.append((work, chosen))

    def _force(self, now_s: float, found: list[tuple[Work, Placement]], taken: list[int]) -> None:
        oldest = self._held.oldest
        if oldest is not None:
            view = self._placer.held_view(now_s, taken)
            self._commit(oldest.task.task_id, soonest_device(oldest.task, view), now_s, found, taken)

    def _take(self, task_id: int) -> tuple[HeldTask, Work]:
        entry = self._held.take(task_id)
        self._placer.forget(task_id)
        return entry, self._works.pop(task_id)
