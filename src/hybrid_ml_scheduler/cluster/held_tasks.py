"""The ready tasks that a holding strategy has not committed yet, in the stepping form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

from hybrid_ml_scheduler.core.decisions import Decision
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.core.holding import Commitment, HeldTasks, HeldView
from hybrid_ml_scheduler.core.protocols import Scheduler
from hybrid_ml_scheduler.core.tasks import Task
from hybrid_ml_scheduler.physics.estimator import TaskSeconds, TruthFactor

__all__ = ["AsksAgain", "HeldTask", "ReadyTasks", "ShownTasks"]


@dataclass(frozen=True, slots=True)
class HeldTask:
    """A ready task that waits for its strategy."""

    task: Task
    duration_factor: TruthFactor
    ready_s: float
    seconds: TaskSeconds | None


class ReadyTasks:
    """Held tasks in the order in which they became ready; `fresh` are those the strategy has not been woken for."""

    def __init__(self) -> None:
        self._held: dict[int, HeldTask] = {}
        self._by_age: list[int] = []  # a heap of ids; those that were taken are dropped when they come to the top
        self._fresh: list[Task] = []
        self._arrived: list[Task] = []

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Task]:
        return (entry.task for entry in self._held.values())

    def __contains__(self, task_id: object) -> bool:
        return task_id in self._held

    @property
    def fresh(self) -> Sequence[Task]:
        """Tasks that became ready since the strategy was last woken."""
        return self._fresh

    @property
    def arrived(self) -> Sequence[Task]:
        """Tasks that arrived since the strategy was last woken, ready or not."""
        return self._arrived

    def seconds_of(self, task_id: int) -> TaskSeconds | None:
        """The seconds that a waiting task came with, if any."""
        entry = self._held.get(task_id)
        return None if entry is None else entry.seconds

    def arrive(self, task: Task) -> None:
        """A task has come; it may wait for parents yet."""
        self._arrived.append(task)

    def hold(self, entry: HeldTask) -> None:
        """Keep a task that is ready now."""
        self._held[entry.task.task_id] = entry
        heappush(self._by_age, entry.task.task_id)
        self._fresh.append(entry.task)

    def woken(self) -> None:
        """The strategy has seen all that is fresh."""
        self._fresh = []
        self._arrived = []

    def take(self, task_id: int) -> HeldTask:
        """Hand out a task that is committed; refuses one that is not held."""
        entry = self._held.pop(task_id, None)
        if entry is None:
            raise SchedulerError(f"dispatch committed task {task_id}, which it does not hold.")
        return entry

    @property
    def oldest(self) -> HeldTask | None:
        """The held task with the lowest id, if any."""
        while self._by_age and self._by_age[0] not in self._held:
            heappop(self._by_age)
        return self._held[self._by_age[0]] if self._by_age else None

    def capture(self) -> Mapping[str, Any]:
        """The whole state as plain values."""
        held = [(entry.task, entry.duration_factor, entry.ready_s, entry.seconds) for entry in self._held.values()]
        return {"held": held, "fresh": [task.task_id for task in self._fresh], "arrived": list(self._arrived)}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        self._held = {entry[0].task_id: HeldTask(*entry) for entry in state["held"]}
        self._by_age = sorted(self._held)
        self._fresh = [self._held[task_id].task for task_id in state["fresh"]]
        self._arrived = list(state["arrived"])


class ShownTasks:
    """Held tasks as their strategy sees them: the tasks, and nothing of what they will really take."""

    __slots__ = ("_held",)

    def __init__(self, held: ReadyTasks) -> None:
        self._held = held

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Task]:
        return iter(self._held)

    def __contains__(self, task_id: object) -> bool:
        return task_id in self._held

    @property
    def fresh(self) -> Sequence[Task]:
        """Tasks that became ready since the strategy was last woken."""
        return self._held.fresh

    @property
    def arrived(self) -> Sequence[Task]:
        """Tasks that arrived since the strategy was last woken, ready or not."""
        return self._held.arrived


class AsksAgain:
    """A strategy whose `decide` said "not yet": every held task is asked about at every wake, in order of readiness.

    `view_for` gives the cluster as one task sees it; without it, all see the one that `dispatch` is handed.
    """

    def __init__(self, scheduler: Scheduler, view_for: Callable[[Task], HeldView] | None = None) -> None:
        self.name = scheduler.name
        self._scheduler = scheduler
        self._view_for = view_for

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterator[Commitment]:
        """Commit what the strategy decides now."""
        for task in list(held):
            view = cluster if self._view_for is None else self._view_for(task)
            decision: Decision | None = self._scheduler.decide(task, view)
            if decision is not None:
                yield Commitment(task.task_id, decision)
