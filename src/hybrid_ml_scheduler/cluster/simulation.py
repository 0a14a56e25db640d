"""One strategy on its own clocked cluster, driven task by task.

The order of events is total: finishes, which learners observe, come before decisions of the same instant; finishes
of the same instant go by the order of decision, decisions by task id. Two queues keep it, each with its own key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush
from typing import Any, cast

from hybrid_ml_scheduler.cluster.devices import BacklogView
from hybrid_ml_scheduler.cluster.going_on import Finish, goes_on, run_on
from hybrid_ml_scheduler.cluster.held_tasks import AsksAgain, HeldTask, ReadyTasks, ShownTasks
from hybrid_ml_scheduler.cluster.learned_estimator import LearnedEstimator
from hybrid_ml_scheduler.cluster.onward import Factors, no_factors
from hybrid_ml_scheduler.cluster.precedence import Precedence
from hybrid_ml_scheduler.cluster.stepping import Cluster
from hybrid_ml_scheduler.core.decisions import Decision, Outcome
from hybrid_ml_scheduler.core.errors import SchedulerError, WorkloadError
from hybrid_ml_scheduler.core.holding import Holds, soonest_device
from hybrid_ml_scheduler.core.learners import TrainsApart, train_if_due
from hybrid_ml_scheduler.core.protocols import Learns, Prepares, RaceContext, Remembers, Scheduler, with_foresight
from hybrid_ml_scheduler.core.tasks import Task, TaskBatch
from hybrid_ml_scheduler.engine.batch import refuse_interference, run_batch
from hybrid_ml_scheduler.engine.columns import RunColumns
from hybrid_ml_scheduler.physics.durations import Durations
from hybrid_ml_scheduler.physics.estimator import TaskSeconds, TruthFactor
from hybrid_ml_scheduler.physics.node import Node

__all__ = ["Ready", "Simulation", "free_children"]


Ready = tuple[float, int, Task, TruthFactor, TaskSeconds | None]


def free_children(outcome: Outcome, precedence: Precedence, ready: list[Ready]) -> None:
    """Queue the tasks that waited for this one alone."""
    if not precedence.active:  # then nobody waits
        precedence.note(outcome)
        return
    for freed in precedence.note_placed(outcome):
        heappush(ready, (freed.ready_s, freed.task.task_id, freed.task, freed.duration_factor, freed.seconds))


def _promising_cluster(node: Node, learned: LearnedEstimator | None, *, sees_ends: bool) -> Cluster:
    """The cluster whose tasks have a known finish as soon as they are placed."""
    refuse_interference(node)
    return Cluster(node, estimator=learned, sees_ends=sees_ends)


class Simulation:
    """Feed tasks with `offer` in order of (arrival time, id), let time pass with `advance`, end with `drain`.

    With a `learned` estimator the strategy believes what tasks have taught that finished on this cluster. Unless it
    `sees_ends` its backlogs are as estimated, whatever finishes; one that holds sees devices come free in any case.
    A strategy that trains apart is trained before its decisions unless somebody else does it (`trains`).
    `recall` bounds how many finished tasks are remembered as possible parents (`None`: all; 0: none ever come).
    `most_open` bounds how far a strategy that holds may fall behind: when so many tasks came after the oldest one it
    holds, that one is committed (`None`: no bound).
    """

    _new_cluster: Callable[..., Cluster] = staticmethod(_promising_cluster)

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
        most_open: int | None = None,
        sees_ends: bool = True,
    ) -> None:
        self.scheduler = scheduler
        self.cluster = self._new_cluster(node, learned, sees_ends=sees_ends or isinstance(scheduler, Holds))
        self.learned = learned
        self.now_s = 0.0
        self._ready: list[Ready] = []
        self._finishes: list[Finish] = []
        self._precedence = Precedence(recall)
        self._learner = scheduler if isinstance(scheduler, Learns) else None
        self._trains = trains and isinstance(scheduler, TrainsApart)
        self._foreseer = None if self._trains else with_foresight(scheduler)
        self._holder: Holds | None = scheduler if isinstance(scheduler, Holds) else None
        self._held = ReadyTasks()
        self.cluster.estimator.waiting_seconds = self._held.seconds_of
        self._shown = ShownTasks(self._held)
        self._woken_s = -math.inf
        self._most_open = math.inf if most_open is None else most_open
        self._newest_id = -1
        self._decided = 0
        if isinstance(scheduler, Prepares):
            estimator = self.cluster.estimator
            scheduler.prepare(RaceContext(estimator=estimator, seed=seed, retrain_interval=retrain_interval))

    def offer(self, task: Task, duration_factor: TruthFactor = 1.0, seconds: TaskSeconds | None = None) -> None:
        """A task arrives; it is decided when time reaches the moment it is ready.

        `duration_factor` is how many times its durations it really takes (one number, or one for each type of device);
        `seconds` hands over durations that were computed for a whole batch.
        """
        if task.arrival_time < self.now_s:
            raise WorkloadError(f"Task {task.task_id} arrives at {task.arrival_time:g} s, before the clock.")
        self._newest_id = task.task_id
        if self._holder is not None:
            self._held.arrive(task)
        if task.dependencies or self._precedence.active:
            if not self._precedence.active:
                self._precedence.begin(entry[1] for entry in self._ready)
            ready_s = self._precedence.offer(task, duration_factor, seconds)
            if ready_s is None:
                return
        else:
            ready_s = task.arrival_time
        heappush(self._ready, (ready_s, task.task_id, task, duration_factor, seconds))

    def foreseen_s(self, task: Task) -> float:
        """When a task would be ready if it came now: infinite while a parent is not decided, NaN if one has failed."""
        return self._precedence.foreseen_s(task)

    def advance(self, before_s: float = math.inf) -> list[Outcome]:
        """Process every event before this moment; returns the outcomes of the decisions taken."""
        outcomes: list[Outcome] = []
        ready, finishes = self._ready, self._finishes
        while self._holder is None:
            ready_s = ready[0][0] if ready else math.inf
            if finishes and finishes[0][0] <= ready_s:
                if finishes[0][0] >= before_s:
                    return outcomes
                self._observe()
            elif ready_s >= before_s:
                return outcomes
            elif outcome := self._decide():
                outcomes.append(outcome)
        return outcomes + self._advance_holding(before_s)

    def _advance_holding(self, before_s: float) -> list[Outcome]:
        """The same for a strategy that holds, which is woken when a device comes free as well."""
        outcomes: list[Outcome] = []
        ready, finishes = self._ready, self._finishes
        while True:
            ready_s = ready[0][0] if ready else math.inf
            finish_s = finishes[0][0] if finishes else math.inf
            wake_s = self._wake_s() if self._held else math.inf
            if min(finish_s, ready_s, wake_s) >= before_s:
                return outcomes
            if finish_s <= ready_s and finish_s <= wake_s:
                self._observe()
            elif ready_s <= wake_s:
                outcomes += self._hold()
            else:
                outcomes += self._dispatch(wake_s)

    @property
    def is_clear(self) -> bool:
        """Whether no task waits: the next independent tasks are then decided as they arrive."""
        return self._holder is None and not (self._ready or self._held or self._precedence.is_waiting)

    def run_stretch(self, batch: TaskBatch, seconds: Durations, factors: Factors | None = None) -> RunColumns | None:
        """Decide independent tasks at once, if the strategy can, as if offered one by one.

        `factors` say how many times these seconds each task really takes; without them there is no noise.
        """
        cluster = self.cluster
        is_plain = factors is None and cluster.is_exact
        if self._foreseer is None or not (is_plain or goes_on(cluster, batch)):
            return None
        rule = self._foreseer.rule_ahead(batch.visible)
        if rule is None:
            return None
        if is_plain:
            columns = run_batch(batch, cluster.node, rule, seconds=seconds, free_s=cluster.free_s())
            cluster.queue(batch.task_id, columns)
        else:
            factors = no_factors(len(batch), seconds) if factors is None else factors
            columns = run_on(cluster, batch, rule, seconds, factors, self._decided, self._finishes)
        self.now_s, self._newest_id = float(columns.ready_s[-1]), int(batch.task_id[-1])
        if self._precedence.recall != 0:
            self._precedence.note_all(batch.task_id.tolist(), columns.finish_s.tolist(), self.now_s)
        self._decided += len(columns)
        return columns

    def drain(self) -> list[Outcome]:
        """Let every task finish; refuses tasks that wait for a parent that never came."""
        outcomes = self.advance()
        stuck = self._precedence.stuck()
        if stuck is not None and not self._held:
            raise WorkloadError(f"Task {stuck} waits for a parent that never arrived.")
        if self._held:
            what = "1 task is" if len(self._held) == 1 else f"{len(self._held)} tasks are"
            raise SchedulerError(
                f"{self.scheduler.name}: {what} held while every device is idle and nothing more arrives: "
                "at least one of them must be committed."
            )
        return outcomes

    def run(self, tasks: Iterable[tuple[Task, float]]) -> list[Outcome]:
        """Offer all tasks with their duration factors, in order, and return the outcomes in order of decision."""
        outcomes: list[Outcome] = []
        for task, duration_factor in tasks:
            outcomes += self.advance(task.arrival_time)
            self.offer(task, duration_factor)
        return outcomes + self.drain()

    def _observe(self) -> None:
        finish_s, _, task, outcome, lesson = heappop(self._finishes)
        self.now_s = finish_s
        if self.learned is not None and lesson is not None:
            self.learned.learn(lesson)
        if self._learner is not None and task is not None and outcome is not None:
            self._learner.observe(task, outcome)

    def _decide(self) -> Outcome | None:
        """Let the strategy decide the next ready task; nothing comes of it if it says "not yet"."""
        ready_s, _, task, duration_factor, seconds = heappop(self._ready)
        self.now_s = ready_s
        cluster = self.cluster
        if seconds is not None:
            cluster.estimator.remember(task, seconds)
        if self._precedence.active and self._precedence.is_doomed(task.task_id):
            return self._placed(task, cluster.failed_outcome(task, ready_s, by_parent=True))
        view = cluster.view(ready_s) if task.gpus_required == 1 else cluster.view_for(task, ready_s)
        if self._trains:
            train_if_due(self.scheduler)
        decision: Decision | None = self.scheduler.decide(task, view)
        if decision is None:  # from now on it is one that holds; for this wake it said "not yet"
            self._holder = AsksAgain(self.scheduler, self._held_view)
            self._held.hold(HeldTask(task, duration_factor, ready_s, seconds))
            self._held.woken()
            self._woken_s = ready_s
            return None
        try:
            outcome = cluster.place(task, decision, view, duration_factor)
        except SchedulerError as error:
            raise SchedulerError(f"{self.scheduler.name}: {error}") from None
        return self._placed(task, outcome)

    def _hold(self) -> list[Outcome]:
        """Keep a task that is ready for its strategy; one whose parent failed is written off."""
        ready_s, _, task, duration_factor, seconds = heappop(self._ready)
        self.now_s = ready_s
        if self._precedence.active and self._precedence.is_doomed(task.task_id):
            return [self._placed(task, self.cluster.failed_outcome(task, ready_s, by_parent=True))]
        self._held.hold(HeldTask(task, duration_factor, ready_s, seconds))
        return []

    def _wake_s(self) -> float:
        """When the strategy is to be woken: now if tasks became ready, else when a device comes free.

        That is counted from the last wake, not from now: a task that finishes is observed first, at the very instant
        at which its device comes free.
        """
        if self._held.fresh:
            return self.now_s
        return min(
            (device.free_s for device in self.cluster.devices if device.free_s > self._woken_s), default=math.inf
        )

    def _dispatch(self, wake_s: float) -> list[Outcome]:
        """Wake the strategy, and place what it commits."""
        self.now_s = self._woken_s = wake_s
        if self._trains:
            train_if_due(self.scheduler)
        outcomes = []
        try:
            for task_id, decision in cast(Holds, self._holder).dispatch(self._shown, self._held_view()):
                outcomes.append(self._commit(self._held.take(task_id), decision))
            self._held.woken()
            while (oldest := self._held.oldest) and self._newest_id - oldest.task.task_id >= self._most_open:
                outcomes.append(self._commit(self._held.take(oldest.task.task_id), self._forced(oldest)))
        except SchedulerError as error:
            raise SchedulerError(f"{self.scheduler.name}: {error}") from None
        return outcomes

    def _held_view(self, task: Task | None = None) -> BacklogView:
        """What a strategy that holds sees: for all its tasks, or as this one sees it."""
        view = self.cluster.view(self.now_s) if task is None else self.cluster.view_for(task, self.now_s)
        view.idle = self.cluster.idle_devices(self.now_s)
        return view

    def _forced(self, entry: HeldTask) -> Decision:
        """Where a task goes that may be held no longer: as the strategy says, else to the device that ends first."""
        view = self._held_view(entry.task)
        decision: Decision | None = self.scheduler.decide(entry.task, view)
        return soonest_device(entry.task, view) if decision is None else decision

    def _commit(self, entry: HeldTask, decision: Decision) -> Outcome:
        if entry.seconds is not None:
            self.cluster.estimator.remember(entry.task, entry.seconds)
        outcome = self.cluster.place(
            entry.task, decision, self.cluster.view_for(entry.task, self.now_s), entry.duration_factor
        )
        placed = self._placed(entry.task, outcome)._replace(ready_s=entry.ready_s)
        self._held_view()  # the strategy's view moves on with what was placed
        return placed

    def _placed(self, task: Task, outcome: Outcome) -> Outcome:
        """Note a placed task: whoever learns sees it finish, and its children may become ready."""
        self._decided += 1
        if (self._learner is not None or self.learned is not None) and not outcome.failed:
            lesson = None if self.learned is None else self.learned.lesson(task, outcome)
            seen = (None, None) if self._learner is None else (task, outcome)  # of others the lesson is enough
            heappush(self._finishes, (outcome.finish_s, self._decided, *seen, lesson))
        if self._precedence.recall != 0:
            free_children(outcome, self._precedence, self._ready)
        return outcome

    def capture(self) -> Mapping[str, Any]:
        """The whole state (clock, queues, strategy) at a task boundary, picklable."""
        memory = self.scheduler.capture() if isinstance(self.scheduler, Remembers) else None
        return {
            "now_s": self.now_s,
            "decided": self._decided,
            "ready": list(self._ready),
            "finishes": list(self._finishes),
            "held": self._held.capture(),
            "asks_again": isinstance(self._holder, AsksAgain),
            "newest_id": self._newest_id,
            "woken_s": self._woken_s,
            "precedence": self._precedence.capture(),
            "cluster": self.cluster.capture(self.now_s),
            "scheduler": memory,
            "learned": None if self.learned is None else self.learned.capture(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state."""
        self.now_s, self._decided = state["now_s"], state["decided"]
        self._ready = list(state["ready"])
        self._finishes = list(state["finishes"])
        if self.learned is not None and state["learned"] is not None:
            self.learned.restore(state["learned"])
        self._held.restore(state["held"])
        self._newest_id, self._woken_s = state["newest_id"], state["woken_s"]
        self._holder = AsksAgain(self.scheduler, self._held_view) if state["asks_again"] else self._holder
        self._precedence.restore(state["precedence"])
        self.cluster.restore(state["cluster"])
        if isinstance(self.scheduler, Remembers) and state["scheduler"] is not None:
            self.scheduler.restore(state["scheduler"])
