"""The proven bound beside the race, kept up to date in constant memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from hybrid_ml_scheduler.cluster import certificate
from hybrid_ml_scheduler.core import Task, TaskBatch
from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.live.frames import Bound
from hybrid_ml_scheduler.physics import Node, best_execution_s, durations

__all__ = ["Proof"]

_WINDOW = 1000


class Proof:
    """A floor for the makespan from the latest tasks, and for the sum of execution times from all of them.

    Every schedule of the run also schedules its latest tasks, so a bound on these is a bound on the whole run.
    Dependencies are left out: without them a schedule can only be shorter, so the bound stays proven.
    """

    def __init__(self, node: Node, begin_s: float = 0.0) -> None:
        self._node = node
        self._begin_s = begin_s  # the clock of the bound starts here: a run that branched off begins late
        self._ahead: deque[tuple[Task, float]] = deque()  # tasks that are not compared yet
        self._window: deque[tuple[Task, float]] = deque(maxlen=_WINDOW)
        self._unsummed: list[tuple[Task, float]] = []
        self._execution_s = 0.0
        self._tasks = 0
        self._state = Bound()

    def add(self, task: Task, duration_factor: float) -> None:
        """Note a task of the race."""
        if self._begin_s:
            task = task._replace(arrival_time=max(0.0, task.arrival_time - self._begin_s))
        self._ahead.append((task, duration_factor))

    def compare(self, up_to: int) -> None:
        """Prove for the tasks up to this one: what is proven belongs to the tasks that are compared."""
        ahead = self._ahead
        while ahead and ahead[0][0].task_id <= up_to:
            self._window.append(ahead[0])
            self._unsummed.append(ahead.popleft())
        if len(self._unsummed) >= _WINDOW:
            self._sum_up()

    @property
    def state(self) -> Bound:
        """The bound as of the last renewal."""
        return self._state

    def sum_up(self) -> Bound:
        """Return the bound with the execution times of all compared tasks: a mean over fewer would bound nothing."""
        self._sum_up()
        if self._tasks > self._state.tasks:
            self._state = replace(self._state, execution_s=self._execution_s, tasks=self._tasks)
        return self._state

    def renew(self) -> Bound:
        """Prove again, with the tasks that came since."""
        self._sum_up()
        if self._window:
            batch = _batch(list(self._window))
            proven = certificate(batch, self._node)
            self._state = Bound(
                makespan_s=proven.makespan_s,
                execution_s=self._execution_s,
                tasks=self._tasks,
                first_task_id=int(batch.task_id[0]),
                last_task_id=int(batch.task_id[-1]),
                scope=f"No schedule can finish the run's {amount(self._tasks, 'task')} sooner: proven from its latest "
                f"{len(batch):,} ({proven.binding} argument). The sum of execution times is over all tasks.",
            )
        return self._state

    def _sum_up(self) -> None:
        if self._unsummed:
            batch = _batch(self._unsummed)
            fastest = best_execution_s(batch, self._node, durations(batch, self._node)) * batch.duration_factor
            self._execution_s += float(fastest.sum()) * (1.0 - 1e-12)
            self._tasks += len(batch)
            self._unsummed = []

    def capture(self) -> Mapping[str, Any]:
        """Return the whole state, picklable."""
        return {
            "ahead": list(self._ahead),
            "window": list(self._window),
            "unsummed": list(self._unsummed),
            "execution_s": self._execution_s,
            "tasks": self._tasks,
            "begin_s": self._begin_s,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        self._ahead = deque(state["ahead"])
        self._window = deque(state["window"], maxlen=_WINDOW)
        self._unsummed = list(state["unsummed"])
        self._execution_s, self._tasks = state["execution_s"], state["tasks"]
        self._begin_s = state["begin_s"]
        self._state = Bound()


def _batch(drawn: list[tuple[Task, float]]) -> TaskBatch:
    ordered = sorted(drawn, key=lambda one: (one[0].arrival_time, one[0].task_id))
    free = TaskBatch.from_tasks([task._replace(dependencies=()) if task.dependencies else task for task, _ in ordered])
    factors = np.array([factor for _, factor in ordered], dtype=np.float64)
    factors.flags.writeable = False
    return replace(free, duration_factor=factors)
