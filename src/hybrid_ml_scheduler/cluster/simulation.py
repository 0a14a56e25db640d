"""One strategy on its own clocked cluster, driven task by task.

The order of events is total: finishes, which learners observe, come before decisions of the same instant; finishes
of the same instant go by the order of decision, decisions by task id. Two queues keep it, each with its own key.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping
from typing import Any

from hybrid_ml_scheduler.cluster.batch import run_batch
from hybrid_ml_scheduler.cluster.columns import RunColumns
from hybrid_ml_scheduler.cluster.learned_estimator import LearnedEstimator, Lesson
from hybrid_ml_scheduler.cluster.precedence import Precedence
from hybrid_ml_scheduler.cluster.stepping import Cluster
from hybrid_ml_scheduler.core.capabilities import with_foresight
from hybrid_ml_scheduler.core.decisions import Outcome
from hybrid_ml_scheduler.core.errors import SchedulerError, WorkloadError
from hybrid_ml_scheduler.core.learners import TrainsApart, train_if_due
from hybrid_ml_scheduler.core.protocols import Learns, Prepares, RaceContext, Remembers, Scheduler
from hybrid_ml_scheduler.core.tasks import Task, TaskBatch
from hybrid_ml_scheduler.physics.durations import Durations
from hybrid_ml_scheduler.physics.estimator import TaskSeconds, TruthFactor
from hybrid_ml_scheduler.physics.node import Node

__all__ = ["Simulation"]


class Simulation:
    """Feed tasks with `offer` in order of (arrival time, id), let time pass with `advance`, end with `drain`.

    With a `learned` estimator the strategy believes what tasks have taught that finished on this cluster.
    A strategy that trains apart is trained before its decisions unless somebody else does it (`trains`).
    `recall` bounds how many finished tasks are remembered as possible parents (`None`: all; 0: none ever come).
    """

    def __init__(
        self,
        node: Node,
        scheduler: Scheduler,
        *,
        seed: int = 0,
        retrain_interval: int = 50,
        trains: bool = True,
        recall: int | None = None,
        learned: LearnedEstimator | None = None,
    ) -> None:
        self.scheduler = scheduler
        self.cluster = Cluster(node, estimator=learned)
        self.learned = learned
        self.now_s = 0.0
        self._ready: list[tuple[float, int, Task, TruthFactor, TaskSeconds | None]] = []
        self._finishes: list[tuple[float, int, Task, Outcome, Lesson | None]] = []
        self._precedence = Precedence(recall)
        self._learner = scheduler if isinstance(scheduler, Learns) else None
        self._trains = trains and isinstance(scheduler, TrainsApart)
        self._foreseer = None if self._trains else with_foresight(scheduler)
        self._decided = 0
        if isinstance(scheduler, Prepares):
            estimator = self.cluster.estimator
            scheduler.prepare(RaceContext(estimator=estimator, seed=seed, retrain_interval=retrain_interval))

    def offer(self, task: Task, luck: TruthFactor = 1.0, seconds: TaskSeconds | None = None) -> None:
        """A task arrives; it is decided when time reaches the moment it is ready.

        `luck` is how many times its durations it really takes (one number, or one for each type of device);
        `seconds` hands over durations that were computed for a whole batch.
        """
        if task.arrival_time < self.now_s:
            raise WorkloadError(f"Task {task.task_id} arrives at {task.arrival_time:g} s, before the clock.")
        if task.dependencies or self._precedence.active:
            if not self._precedence.active:
                self._precedence.begin(entry[1] for entry in self._ready)
            ready_s = self._precedence.offer(task, luck, seconds)
            if ready_s is None:
                return
        else:
            ready_s = task.arrival_time
        heapq.heappush(self._ready, (ready_s, task.task_id, task, luck, seconds))

    def foreseen_s(self, task: Task) -> float:
        """When a task would be ready if it came now: infinite while a parent is not decided, NaN if one has failed."""
        return self._precedence.foreseen_s(task)

    def advance(self, before_s: float = math.inf) -> list[Outcome]:
        """Process every event before this moment; returns the outcomes of the decisions taken."""
        outcomes: list[Outcome] = []
        ready, finishes = self._ready, self._finishes
        while True:
            ready_s = ready[0][0] if ready else math.inf
            finish_s = finishes[0][0] if finishes else math.inf
            if finish_s <= ready_s:
                if finish_s >= before_s or not finishes:
                    return outcomes
                self._observe()
            elif ready_s >= before_s:
                return outcomes
            else:
                outcomes.append(self._decide())

    @property
    def is_clear(self) -> bool:
        """Whether no task waits, and promises hold: the next independent tasks are then decided as they arrive."""
        return not self._ready and not self._precedence.is_waiting and self.cluster.is_exact

    def run_stretch(self, batch: TaskBatch, seconds: Durations) -> RunColumns | None:
        """Decide independent tasks without luck at once, if the strategy can; as if offered one by one (when clear)."""
        cluster = self.cluster
        rule = None if self._foreseer is None else self._foreseer.rule_ahead(batch)
        if rule is None:
            return None
        columns = run_batch(batch, cluster.node, rule, seconds=seconds, free_s=cluster.free_s())
        cluster.queue(batch.task_id, columns)
        self.now_s = float(columns.ready_s[-1])
        if self._precedence.recall != 0:
            self._precedence.note_all(batch.task_id.tolist(), columns.finish_s.tolist(), self.now_s)
        self._decided += len(columns)
        return columns

    def drain(self) -> list[Outcome]:
        """Let every task finish; refuses tasks that wait for a parent that never came."""
        outcomes = self.advance()
        stuck = self._precedence.stuck()
        if stuck is not None:
            raise WorkloadError(f"Task {stuck} waits for a parent that never arrived.")
        return outcomes

    def run(self, tasks: Iterable[tuple[Task, float]]) -> list[Outcome]:
        """Offer all tasks with their luck, in order, and return the outcomes in order of decision."""
        outcomes: list[Outcome] = []
        for task, luck in tasks:
            outcomes += self.advance(task.arrival_time)
            self.offer(task, luck)
        return outcomes + self.drain()

    def _observe(self) -> None:
        finish_s, _, task, outcome, lesson = heapq.heappop(self._finishes)
        self.now_s = finish_s
        if self.learned is not None and lesson is not None:
            self.learned.learn(lesson)
        if self._learner is not None:
            self._learner.observe(task, outcome)

    def _decide(self) -> Outcome:
        ready_s, _, task, luck, seconds = heapq.heappop(self._ready)
        self.now_s = ready_s
        cluster, precedence = self.cluster, self._precedence
        if seconds is not None:
            cluster.estimator.remember(task, seconds)
        if precedence.active and precedence.is_doomed(task.task_id):
            outcome = cluster.failed(task, ready_s, by_parent=True)
        else:
            view = cluster.view(ready_s)
            if self._trains:
                train_if_due(self.scheduler)
            try:
                outcome = cluster.place(task, self.scheduler.decide(task, view), view, luck)
            except SchedulerError as error:
                raise SchedulerError(f"{self.scheduler.name}: {error}") from None
        self._decided += 1
        if not outcome.failed and (self._learner is not None or self.learned is not None):
            lesson = None if self.learned is None else self.learned.lesson(task, outcome)
            heapq.heappush(self._finishes, (outcome.finish_s, self._decided, task, outcome, lesson))
        if precedence.recall != 0:
            for freed in precedence.placed(outcome):
                heapq.heappush(self._ready, (freed.ready_s, freed.task.task_id, freed.task, freed.luck, freed.seconds))
        return outcome

    def capture(self) -> Mapping[str, Any]:
        """The whole state (clock, queues, strategy) at a task boundary, picklable."""
        memory = self.scheduler.capture() if isinstance(self.scheduler, Remembers) else None
        return {
            "now_s": self.now_s,
            "decided": self._decided,
            "ready": list(self._ready),
            "finishes": list(self._finishes),
            "precedence": self._precedence.capture(),
            "cluster": self.cluster.capture(self.now_s),
            "scheduler": memory,
            "learned": None if self.learned is None else self.learned.capture(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state."""
        self.now_s, self._decided = state["now_s"], state["decided"]
        self._ready = list(state["ready"])
        self._finishes = [(*entry, None)[:5] for entry in state["finishes"]]  # older checkpoints hold no lessons
        if self.learned is not None and state.get("learned") is not None:
            self.learned.restore(state["learned"])
        self._precedence.restore(state["precedence"])
        self.cluster.restore(state["cluster"])
        if isinstance(self.scheduler, Remembers) and state["scheduler"] is not None:
            self.scheduler.restore(state["scheduler"])
