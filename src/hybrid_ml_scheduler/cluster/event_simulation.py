"""One strategy on a cluster whose devices slow each other down: the stepping form, driven by the ends of parts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from hybrid_ml_scheduler.cluster.event_cluster import EndedPart, EventCluster
from hybrid_ml_scheduler.cluster.held_tasks import HeldTask
from hybrid_ml_scheduler.cluster.learned_estimator import Lesson
from hybrid_ml_scheduler.cluster.simulation import Simulation, free_children
from hybrid_ml_scheduler.core.decisions import NO_GPU, Decision, Outcome
from hybrid_ml_scheduler.core.protocols import Scheduler
from hybrid_ml_scheduler.core.tasks import Task
from hybrid_ml_scheduler.physics.node import Node

__all__ = ["EventSimulation"]


@dataclass(slots=True)
class _OpenTask:
    """A placed task that has not finished: what is known of it, and its parts that have ended."""

    task: Task
    outcome: Outcome
    lesson: Lesson | None
    open_parts: int
    ended: list[EndedPart] = field(default_factory=list)


class EventSimulation(Simulation):
    """As a `Simulation`, but outcomes are given when tasks finish, since nobody knows them before."""

    cluster: EventCluster

    _new_cluster = EventCluster

    def __init__(self, node: Node, scheduler: Scheduler, **options: Any) -> None:
        self._open: dict[int, _OpenTask] = {}
        self._done: list[Outcome] = []
        self._freed_s = -math.inf
        super().__init__(node, scheduler, **options)

    def advance(self, before_s: float = math.inf) -> list[Outcome]:
        """Process every event before this moment; returns the outcomes of the tasks that ended."""
        while True:
            end_s, server = self.cluster.next_end()
            ready_s = self._ready[0][0] if self._ready else math.inf
            wake_s = self._wake_s() if self._held else math.inf
            if min(end_s, ready_s, wake_s) >= before_s:
                done, self._done = self._done, []
                return done
            if end_s <= ready_s and end_s <= wake_s:
                self._end(server, end_s)
            elif ready_s > wake_s:
                self._dispatch(wake_s)
            elif self._holder is None:
                self._decide()
            else:
                self._hold()

    def _wake_s(self) -> float:
        """Now, if tasks became ready or a device came free since the strategy was last woken."""
        return self.now_s if self._held.fresh or self._freed_s > self._woken_s else math.inf

    def _commit(self, entry: HeldTask, decision: Decision) -> Outcome:
        placed = super()._commit(entry, decision)
        if (opened := self._open.get(placed.task_id)) is not None:
            opened.outcome = placed
        else:
            self._done[-1] = placed
        return placed

    def _placed(self, task: Task, outcome: Outcome) -> Outcome:
        """Note a placed task until its parts have ended; one that cannot run ends here."""
        if outcome.failed:
            self._done.append(outcome)
            return super()._placed(task, outcome)
        self._decided += 1
        lesson = None if self.learned is None else self.learned.lesson(task, outcome)
        parts = (outcome.cpu_s > 0.0) + (outcome.gpu != NO_GPU)
        self._open[task.task_id] = _OpenTask(task, outcome, lesson, parts)
        return outcome

    def _end(self, server: int, now_s: float) -> None:
        """A part ends; if it was its task's last one, whoever learns sees it, and its children may become ready."""
        self.now_s = now_s
        part = self.cluster.end(server, now_s)
        if part.leaves_idle:
            self._freed_s = now_s
        opened = self._open[part.task_id]
        opened.ended.append(part)
        opened.open_parts -= 1
        if opened.open_parts:
            return
        del self._open[part.task_id]
        outcome = self.cluster.settled_outcome(opened.outcome, opened.ended)._replace(finish_s=now_s)
        self._done.append(outcome)
        if self.learned is not None and opened.lesson is not None:
            self.learned.learn(_as_it_was(opened.lesson, opened.outcome, outcome))
        if self._learner is not None:
            self._learner.observe(opened.task, outcome)
        if self._precedence.recall != 0:
            free_children(outcome, self._precedence, self._ready)


def _as_it_was(lesson: Lesson, alone: Outcome, ended: Outcome) -> Lesson:
    """What a task taught: the lesson of its seconds alone, times by how much others slowed it down."""
    return lesson._replace(
        cpu_ratio=lesson.cpu_ratio * (ended.cpu_s / alone.cpu_s if alone.cpu_s > 0.0 else 1.0),
        gpu_ratio=lesson.gpu_ratio * (ended.gpu_s / alone.gpu_s if alone.gpu_s > 0.0 else 1.0),
    )
