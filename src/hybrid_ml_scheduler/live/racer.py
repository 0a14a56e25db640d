"""One strategy in the race: its cluster, its totals, its latest decision and how long deciding takes."""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections.abc import Mapping
from contextlib import AbstractContextManager
from copy import deepcopy
from typing import Any

from hybrid_ml_scheduler.cluster import RunColumns, Simulation
from hybrid_ml_scheduler.cluster.learned_estimator import LearnedEstimator
from hybrid_ml_scheduler.core import (
    ClusterView,
    Decision,
    Explains,
    FloatColumn,
    HmsError,
    Outcome,
    Remembers,
    Scheduler,
    Task,
    TaskBatch,
)
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.core.holding import soonest_device
from hybrid_ml_scheduler.core.knowledge import ESTIMATED, EXACT, LEARNED, Backlogs, Level, sees_ends
from hybrid_ml_scheduler.core.text import plain_text
from hybrid_ml_scheduler.core.validation import MOST_OPEN
from hybrid_ml_scheduler.live.frames import DeviceLoad
from hybrid_ml_scheduler.live.reasons import plain_reasons
from hybrid_ml_scheduler.live.stretch import Stretch
from hybrid_ml_scheduler.live.tally import Tally
from hybrid_ml_scheduler.physics import Node, TaskSeconds
from hybrid_ml_scheduler.physics.estimator import TruthFactor
from hybrid_ml_scheduler.schedulers import strategy_errors

__all__ = ["DECISION_BUCKETS_S", "Racer"]

DECISION_BUCKETS_S = (1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 5e-2, math.inf)
_PARENTS_RECALLED = 4096


class Racer:
    """A strategy with its own simulated cluster."""

    def __init__(
        self,
        node: Node,
        scheduler: Scheduler,
        *,
        seed: int,
        retrain_interval: int = 50,
        most_open: int = MOST_OPEN,
        summary: str = "",
        name: str | None = None,
        level: Level = EXACT,
        nominal_backlogs: Backlogs = ESTIMATED,
        knows_scale: bool = True,
    ) -> None:
        self.name = scheduler.name if name is None else name
        self.level = level
        self.summary = plain_text(summary)
        self.scheduler = scheduler
        self.tally = Tally()
        self._latest: Outcome | tuple[TaskBatch, RunColumns] | None = None
        self._told: Outcome | None = None
        self._last_seen: dict[str, DeviceLoad] | None = None
        self.stepped: list[Outcome] | None = None  # what came of a stretch in which it began to hold tasks
        self.reasons: Mapping[str, Any] = {}
        self.reasons_of = -1
        self.decision_counts = [0] * len(DECISION_BUCKETS_S)
        self.decision_s = 0.0
        self.simulation = Simulation(
            node,
            scheduler,
            seed=seed,
            retrain_interval=retrain_interval,
            trains=False,
            recall=_PARENTS_RECALLED,
            most_open=most_open,
            learned=_estimator(node, level, knows_scale=knows_scale),
            sees_ends=sees_ends(level, nominal_backlogs),
        )
        self._tariff = self.simulation.cluster.estimator.tariff

    def step(
        self, task: Task, duration_factor: TruthFactor, seconds: TaskSeconds, *, until_s: float, explain: bool
    ) -> list[Outcome]:
        """Let a task arrive and take every decision that is due by `until_s`; `count` is for when all have met it."""
        simulation = self.simulation
        begin = time.perf_counter()
        with self._blamed(f"task {task.task_id}"):
            outcomes = self._explain(task) if explain else []
            simulation.offer(task, duration_factor, seconds)
            outcomes += simulation.advance(math.nextafter(until_s, math.inf))
        self._took(time.perf_counter() - begin, 1)
        return outcomes

    def drain(self, now_s: float) -> list[Outcome]:
        """Let everything that has arrived be decided and finish, since nothing more comes after now.

        The devices are remembered as they are now: their queues are what a race that is over is shown with.
        """
        self._last_seen = self.devices(now_s)
        with self._blamed("the end of the trace"):
            return self.simulation.drain()

    def run(self, stretch: Stretch) -> tuple[RunColumns, HmsError | None]:
        """Let several independent tasks arrive and decide each as it comes, at once where the strategy can.

        Where the strategy breaks, the rows end before the task that broke it, and the error says why.
        """
        begin, told, self.stepped = time.perf_counter(), stretch.facts_for(self.level), None
        try:
            with self._blamed(stretch.words):
                columns = self.simulation.run_stretch(stretch.batch, told.durations, told.factors)
        except HmsError as error:
            return _columns(self.simulation.cluster.node, stretch.first(0), []), error
        if columns is None:
            return self._run_one_by_one(stretch)
        self._took(time.perf_counter() - begin, len(columns))
        return columns, None

    def _run_one_by_one(self, stretch: Stretch) -> tuple[RunColumns, HmsError | None]:
        outcomes: list[Outcome] = []
        met, problem, told = 0, None, stretch.facts_for(self.level)
        try:
            for task, factor, seconds in zip(stretch.tasks, told.steps, told.seconds, strict=True):
                outcomes += self.step(task, factor, seconds, until_s=task.arrival_time, explain=False)
                met += 1
        except HmsError as error:
            problem = error
        if not self.simulation.is_clear:  # it said "not yet" for the first time: some rows may have no outcome
            self.stepped = outcomes
        return _columns(self.simulation.cluster.node, stretch.first(met), outcomes), problem

    def count(self, outcomes: list[Outcome], since_task_id: int) -> list[tuple[str, Outcome]]:
        """Add outcomes of a step to the totals, and return them as rows.

        In a race that branched off, late outcomes of tasks from before belong to the run that was left.
        """
        own = [outcome for outcome in outcomes if outcome.task_id >= since_task_id]
        for outcome in own:
            self.tally.add(outcome)
            self._latest = outcome
            if outcome.task_id == self.reasons_of:
                self._told = outcome
        return [(self.name, outcome) for outcome in own]

    def count_all(self, batch: TaskBatch, columns: RunColumns, fastest_s: FloatColumn) -> None:
        """Add the outcomes of a stretch to the totals."""
        self.tally.add_all(batch.task_id, columns, self._tariff, fastest_s)
        self._latest = batch, columns

    def count_from(self, first_task_id: int) -> None:
        """Count from this task on; devices, queues and what the strategy has learned stay as they are."""
        self.tally = Tally(first_task_id - 1)
        self._latest = self._told = None

    @property
    def latest(self) -> Outcome | None:
        """What came of the latest decision; made when it is asked for, which is seldom."""
        if isinstance(self._latest, Outcome) or self._latest is None:
            return self._latest
        batch, columns = self._latest
        self._latest = columns.last().outcomes(batch.task_id[-1:], self._tariff)[0]
        return self._latest

    @property
    def latest_explained(self) -> Outcome | None:
        """What came of the latest decision with recorded reasons; in a fast race only some of them have any."""
        return self._told if self._told is not None and self._told.task_id == self.reasons_of else self.latest

    def _blamed(self, what: str) -> AbstractContextManager[None]:
        """Say whose fault it is when a strategy's own code fails."""
        return strategy_errors(f"The strategy {self.name} failed at {what}")

    def _took(self, elapsed_s: float, decisions: int) -> None:
        self.decision_s += elapsed_s
        self.decision_counts[bisect_left(DECISION_BUCKETS_S, elapsed_s / decisions)] += decisions

    def _explain(self, task: Task) -> list[Outcome]:
        """Ask for reasons at the moment of the decision, once everything before it has happened; return what did."""
        if not isinstance(self.scheduler, Explains):
            return []
        outcomes = self.simulation.advance(task.arrival_time)
        view = self.simulation.cluster.view_for(task, task.arrival_time)
        self.reasons, self.reasons_of = self._reasons(self.scheduler, task, view), task.task_id
        return outcomes

    def preview(self, task: Task) -> tuple[Decision, Mapping[str, Any]]:
        """Return the decision for a task as if it arrived, with reasons; the strategy is left as it was."""
        reasons = self.explanation(task)
        cluster = self.simulation.cluster
        view = cluster.foreseen_view(max(task.arrival_time, self.simulation.now_s), task)
        with self._blamed(f"task {task.task_id}"):
            answer: Decision | None = self._foreseen(task, view)
            decision = soonest_device(task, view) if answer is None else answer
            try:
                cluster.chosen_gpu(task, decision, view)
            except SchedulerError as error:
                raise SchedulerError(f"{self.name}: {error}") from None
            return _numbers_only(decision), reasons

    def _foreseen(self, task: Task, view: ClusterView) -> Decision:
        foresee = getattr(self.scheduler, "preview", None)
        if callable(foresee):
            decision: Decision = foresee(task, view)
            return decision
        if not isinstance(self.scheduler, Remembers):
            return deepcopy(self.scheduler).decide(task, view)
        memory = self.scheduler.capture()
        try:
            return self.scheduler.decide(task, view)
        finally:
            self.scheduler.restore(memory)

    def explanation(self, task: Task) -> Mapping[str, Any]:
        """Return what the strategy says about a task today; empty if it gives no reasons."""
        if not isinstance(self.scheduler, Explains):
            return {}
        view = self.simulation.cluster.foreseen_view(max(task.arrival_time, self.simulation.now_s), task)
        with self._blamed(f"task {task.task_id}"):
            return self._reasons(self.scheduler, task, view)

    def _reasons(self, scheduler: Explains, task: Task, view: ClusterView) -> Mapping[str, Any]:
        """What the strategy says, and what was believed of the task's durations where these are learned."""
        learned, said = self.simulation.learned, dict(scheduler.explain(task, view))
        if learned is not None and self.level == LEARNED:
            said["belief"] = learned.belief_words(task)
        return plain_reasons(said)

    def devices(self, now_s: float) -> dict[str, DeviceLoad]:
        """Return how busy each device is; once everything was let finish, how busy it was before that."""
        if self._last_seen is not None:
            return self._last_seen
        cluster = self.simulation.cluster
        recent, whole = cluster.utilization(now_s, recent=True), cluster.utilization(now_s, recent=False)
        lengths = cluster.queue_lengths(now_s)
        view = cluster.view(now_s)
        backlogs = (view.cpu_backlog_s, *view.gpu_backlogs_s)
        return {
            name: DeviceLoad(
                utilization=recent[name],
                run_utilization=whole[name],
                queue_length=lengths[name],
                backlog_s=backlog,
            )
            for name, backlog in zip(cluster.node.device_names, backlogs, strict=True)
        }

    def capture(self) -> Mapping[str, Any]:
        """Return the whole state, picklable."""
        kept = {} if self._last_seen is None else {"last_seen": self._last_seen}
        state = {"simulation": self.simulation.capture(), "tally": self.tally.capture(), "latest": self.latest}
        return {**state, **kept}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        self.simulation.restore(state["simulation"])
        self.tally.restore(state["tally"])
        self._latest = state["latest"]
        self._last_seen = state.get("last_seen")


def _estimator(node: Node, level: Level, *, knows_scale: bool) -> LearnedEstimator | None:
    """What a strategy of this level learns durations with; none where nothing of them is learned."""
    if level == EXACT or (level != LEARNED and knows_scale):
        return None
    return LearnedEstimator(node, knows_scale=knows_scale, level=level)


def _columns(node: Node, stretch: Stretch, outcomes: list[Outcome]) -> RunColumns:
    return RunColumns.from_outcomes(stretch.batch, node, outcomes)


def _numbers_only(decision: Decision) -> Decision:
    """Return a valid decision in Python's own numbers; a confidence that is none is left out."""
    sure, gpu = decision.confidence, decision.gpu
    is_known = isinstance(sure, (int, float)) and math.isfinite(sure)
    return Decision(
        gpu_fraction=float(decision.gpu_fraction),
        gpu=None if gpu is None else int(gpu),
        confidence=float(sure) if is_known and sure is not None else None,
    )
