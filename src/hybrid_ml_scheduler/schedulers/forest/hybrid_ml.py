"""Hybrid ML: estimated seconds, corrected by a forest; ready tasks wait, and the shortest that can start does.

While every device that a task would use is busy, waiting costs nothing: a shorter task may come, and what is believed
may become better. So tasks are committed only where a part of them starts at once, by the forest's seconds, and the
order is made anew as outcomes come in. Now and then the latest tasks are played again under other settings; one with
a clear lead takes over. Who waits out of all proportion goes first (`aging`).

In a graph sizes within a factor of four count as one, and who came first goes first among them: the shortest first by
the second would begin a part of every branch before it ends the first one.

A part that runs longer than was believed is expected to go on for as long as it has overrun: where durations have heavy
tails, waiting for it as if it would end at any moment is waiting for ever.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from hybrid_ml_scheduler.core import ClusterView, Decision, FloatColumn, Outcome, RaceContext, Task, TaskBatch
from hybrid_ml_scheduler.core.compiled import python_function
from hybrid_ml_scheduler.core.errors import PlanError, SchedulerError
from hybrid_ml_scheduler.core.holding import MEAN_OVER, BatchSeconds, Commitment, HeldRule, HeldTasks, HeldView
from hybrid_ml_scheduler.core.tasks import BoolColumn
from hybrid_ml_scheduler.core.terms import BatchTerms, LendsFormula, TaskTerms, Terms
from hybrid_ml_scheduler.physics.gangs import kind_counts
from hybrid_ml_scheduler.physics.held_choices import gpus_that_fit, plan_split
from hybrid_ml_scheduler.physics.held_gangs import plan_beside_gangs
from hybrid_ml_scheduler.schedulers.forest.held_history import HELD_WAYS, HeldHistory
from hybrid_ml_scheduler.schedulers.forest.hybrid_ml_share import HybridMlShare
from hybrid_ml_scheduler.schedulers.forest.lone_task import DeviceColumns, plan_plain_task, plan_task
from hybrid_ml_scheduler.schedulers.forest.trained_seconds import (
    LEAST_OBSERVATIONS,
    WINDOW,
    Expected,
    TrainsSeconds,
    expected_again,
    seconds_words,
)
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, as_batch, as_column, task_terms
from hybrid_ml_scheduler.schedulers.holding.batch_orders import BatchPlan, is_known_at_once
from hybrid_ml_scheduler.schedulers.holding.hold_starts import Start, pull
from hybrid_ml_scheduler.schedulers.holding.keyed import WHOLE, KeyedHold, limits_in_s, reorder
from hybrid_ml_scheduler.schedulers.holding.overruns import expected_backlogs, note_due
from hybrid_ml_scheduler.schedulers.holding.settings import Setting, gpus_by_speed, nested_limits, stage_of

__all__ = ["HybridMl"]

_VERSION = 3  # of the captured state
_RESUMED = (2, _VERSION)
_DEPTH = 32
_RENEWED_EVERY = 16  # outcomes between two looks at what is believed of held tasks; more often at the start
_SAME = math.log(4.0)
# Tasks that fit few GPUs or none may all wait for the same device. Only so many of them plan at a wake, beside the
# others, or they would keep those behind them from devices that are idle.
_DEPTH_OF_FEW = 4
_OBJECTIVES = ("auto", "latency", "makespan")
_gpus_that_fit = python_function(gpus_that_fit)
_LEAST_WORK_S = 1e-12
AGING = 100.0  # so many times what tasks take and wait in the mean may one wait before it goes first


class HybridMl(TrainsSeconds, KeyedHold):
    """Holds ready tasks and starts the shortest first, by learned seconds, under the setting that would serve best."""

    name = "hybrid_ml"
    reason = "the task believed to be shortest starts where it ends first; others wait while devices are busy"
    modes: ClassVar[Mapping[str, type]] = {}

    def __init__(
        self,
        retrain_every: int | None = None,
        window: int = WINDOW,
        online: bool = True,
        guard: bool = True,
        step: float = DEFAULT_STEP,
        aging: float = AGING,
        objective: str = "auto",
    ) -> None:
        if objective not in _OBJECTIVES:
            raise PlanError(f"hybrid_ml: objective = {objective!r} must be one of {', '.join(_OBJECTIVES)}.")
        if (retrain_every is not None and retrain_every < 1) or window < 2 * LEAST_OBSERVATIONS:
            least = 2 * LEAST_OBSERVATIONS
            raise PlanError(f"hybrid_ml: retrain_every = {retrain_every} must be >= 1, window = {window} >= {least}.")
        super().__init__(step=step, depth=_DEPTH, aging=aging)
        self._own_interval, self._window = retrain_every, window
        self.online, self._guard = online, guard
        self.learning = "online" if online else "frozen"
        self._objective = objective

    def prepare(self, context: RaceContext) -> None:
        """Start afresh: no forest, nothing waiting, nothing played again."""
        super().prepare(context)
        self._start_training(context.seed, self._own_interval or context.retrain_interval, self._window)
        node = getattr(context.estimator, "node", None)
        self._slots = 1.0 if node is None else float(node.cpu.slots)
        self._devices = context.num_gpus + 1
        self._history = HeldHistory()
        self._known: dict[int, Expected] = {}
        self._batch: BatchPlan | None = None
        self._has_gangs = False
        self._fitting: dict[int, int] = {}  # of waiting tasks that do not fit every GPU
        self._learns = context.estimator.learns
        self._by_speed = gpus_by_speed(context.estimator)
        self._due_s, self._renewed_at, self._in_graph = np.zeros(self._devices), 0, False
        self._device_columns = DeviceColumns(self._devices)
        self._lender = context.estimator if isinstance(context.estimator, LendsFormula) else None
        self._follow()

    def _follow(self, setting: Setting | None = None) -> None:
        """Plan by this setting from now on; by the chosen one if none is given."""
        setting = setting or HELD_WAYS[self._history.chosen]
        self._points = as_column(self._grid if setting.splits else WHOLE)
        self._stage = stage_of(setting, self._devices, 0)
        self._price, self._longest = setting.price, nested_limits(setting, self._devices, self._by_speed)
        self._limits_s = limits_in_s(self._longest, self._mean_s)

    def key(self, task: Task, size_s: float, terms: TaskTerms) -> float:
        """The seconds that it is believed to take at its fastest."""
        known = self._known.get(task.task_id)
        return _place(task, size_s if known is None else known.unit_s, self._batch, self._in_graph)

    def held_rule(self, batch: TaskBatch, seconds: BatchSeconds) -> HeldRule | None:
        """None: only `dispatch` can tell what was learned by then."""
        return None

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterable[Commitment]:
        """Commit what starts now, the shortest first."""
        arrived = held.arrived
        plans = self._seen == 0 and self._objective != "latency" and is_known_at_once(arrived)
        if arrived and (plans or self._batch is not None):  # what comes after a batch makes it a stream
            self._batch = batch = BatchPlan(arrived, self._devices) if plans else None
            self._follow(None if batch is None else batch.make(lambda task: self._corrected_terms(task, cluster)))
            self._reorder()
        if not self._in_graph and any(task.dependencies for task in arrived):
            self._in_graph = True
            self._reorder()
        fresh = held.fresh
        if self._queue or len(fresh) != 1 or len(held) != 1 or fresh[0].gpus_required > 1 or self._stage.slowest:
            return super().dispatch(held, cluster)
        if self._history.seen >= self._history.due:
            self._learn(held, cluster)
        return self._first(fresh[0], cluster)

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Where a task would go if it had to be committed now."""
        backlog = expected_backlogs(cluster, getattr(cluster, "idle", ()), self._due_s.copy())
        busy, gap_s = np.zeros(len(backlog), dtype=np.bool_), np.full(len(backlog), math.inf)
        terms = self._thought(task, cluster, cluster.now_s).corrected
        fraction, gpu, _ = self._plan(task.gpus_required, terms, backlog, busy, gap_s)
        return Decision(fraction, gpu)

    def _starting(self, cluster: HeldView, idle: BoolColumn) -> Iterator[Commitment]:
        """What starts at once: idle devices take tasks, or tasks plan in order."""

        def corrected_of(tasks: Sequence[Task]) -> BatchTerms:
            return as_batch([TaskTerms(*self._known[task.task_id].corrected) for task in tasks])

        starts = self._planned(cluster, idle)
        if self._stage.slowest and not self._has_gangs:
            starts = pull(self._queue, self._waiting, self._stage, corrected_of, idle)
        for place, decision in starts:
            task = self._queue.pop(place)[2]
            known = self._known[task.task_id]
            self._waiting.start(task.task_id, cluster.now_s)
            self._committed(task)
            if self.online:
                chosen = max(decision.gpu or 0, 0)
                self._lessons.expect(task, known._replace(gpu_fraction=decision.gpu_fraction, gpu=chosen))
            yield Commitment(task.task_id, decision)

    def _planned(self, cluster: HeldView, idle: BoolColumn) -> Iterator[Start]:
        """What starts at once, in order; a gang that does not keeps its GPUs from those behind it."""
        backlog = expected_backlogs(cluster, idle, self._due_s)
        gap_s, place, planned = np.full(len(backlog), math.inf), 0, Counter[int]()
        while place < len(self._queue) and planned[0] < self._depth and idle.any():
            task = self._queue[place][2]
            fitting = self._fitting.get(task.task_id, 0)
            planned[fitting] += 1
            if fitting and planned[fitting] > _DEPTH_OF_FEW:
                place += 1
                continue
            known, before = self._known[task.task_id], backlog.copy()
            fraction, gpu, starts = self._plan(task.gpus_required, known.corrected, backlog, idle, gap_s)
            if not starts:
                place += 1
                continue
            note_due(cluster.now_s, before, backlog, self._due_s)
            yield place, Decision(fraction, gpu)

    def _first(self, task: Task, cluster: HeldView) -> tuple[Commitment, ...]:
        """The only task there is, in one compiled call: what `KeyedHold` makes of it, commit it or hold it."""
        devices, kind = self._device_columns, self._lessons.kind(task)
        devices.fill(cluster)
        columns = (
            self._walked, devices.backlog_s, devices.idle, self._points, self._price, self._limits_s, self._due_s
        )  # fmt: skip
        lent = None if self._lender is None else self._lender.lend_formula(task)
        if lent is None:
            known, starts = plan_task(task, cluster, kind, columns)
        else:
            known, starts = plan_plain_task(task, cluster.now_s, lent[0], lent[1], kind, columns)
        self._enter(task, known, starts)
        if not starts:
            return ()
        self._committed(task)
        if self.online:
            self._lessons.expect(task, known)
        return (Commitment(task.task_id, Decision(known.gpu_fraction, known.gpu)),)

    def _enter(self, task: Task, known: Expected, starts: bool) -> None:
        """A task has become ready: it counts for what will be played again, and is held unless it starts."""
        if self.online:
            self._history.add(known)
        self._seen += 1
        self._has_gangs = self._has_gangs or task.gpus_required > 1
        self._mean_s += (known.unit_s - self._mean_s) / (self._seen if self._seen < MEAN_OVER else MEAN_OVER)
        if starts:
            self._waiting.served(0.0)
            return
        self._known[task.task_id] = known
        fitting = _gpus_that_fit(known.believed)
        if fitting:
            self._fitting[task.task_id] = fitting
        insort(
            self._queue,
            (_place(task, known.unit_s, self._batch, self._in_graph), task.task_id, task),
            lo=self._waiting.overdue,
        )
        self._waiting.hold(task.task_id, known.now_s)

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Learn from a finished task how far what was believed of it was off."""
        if self.online:
            self._lessons.observe(task, outcome)
        if self._batch is not None:
            self._batch.finish()

    def explain(self, task: Task, cluster: ClusterView) -> Mapping[str, Any]:
        """What is held, the setting in force, the seconds believed and corrected, and what the forest made of it."""
        told, setting = KeyedHold.explain(self, task, cluster), HELD_WAYS[self._history.chosen]
        believed = task_terms(task, cluster)
        return {
            **told,
            "setting": setting._asdict(),
            **seconds_words(believed, self._corrected(task, believed).tolist()),
            **self._forest_words(task, believed),
        }

    def capture(self) -> Mapping[str, Any]:
        """All that was learned, and all that is held with what is believed of it."""
        return {
            "version": _VERSION,
            **self._training_state(),
            "held": KeyedHold.capture(self),
            "known": {identity: tuple(one) for identity, one in self._known.items()},
            "history": self._history.capture(),
            "limits_s": self._limits_s.tolist(),
            "due": (self._due_s.tolist(), self._renewed_at, self._in_graph),
            "has_gangs": self._has_gangs,
            "batch": None if self._batch is None else self._batch.capture(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state."""
        if "held" not in state:
            raise SchedulerError(
                "hybrid_ml: the stored state is of another algorithm that had this name before 0.3; start a new run, "
                "or race hybrid_ml_share for the classic forest."
            )
        if state["version"] not in _RESUMED or len(state["due"][0]) != self._devices:
            raise SchedulerError("hybrid_ml: the stored state is of another version or of another node.")
        self._restore_training(state)
        KeyedHold.restore(self, state["held"])
        self._known = {identity: expected_again(one) for identity, one in state["known"].items()}
        self._history.restore(state["history"])
        due_s, self._renewed_at, self._in_graph = state["due"]
        self._due_s = np.array(due_s)
        self._fitting = {task: fits for task, one in self._known.items() if (fits := _gpus_that_fit(one.believed))}
        batch, self._has_gangs = state.get("batch"), state.get("has_gangs", False)
        self._batch = None if batch is None else BatchPlan.from_state(batch, self._devices)
        self._follow(None if self._batch is None else self._batch.setting)
        self._limits_s = as_column(state["limits_s"])  # made of an earlier mean

    def _learn(self, held: HeldTasks, cluster: HeldView) -> None:
        """Believe anew what is held as outcomes come in, the more often the fewer are held; review the setting."""
        self._limits_s = limits_in_s(self._longest, self._mean_s)
        if self._batch is not None:
            if self._learns and self.online and self._batch.due:
                self._follow(self._batch.make(lambda task: self._corrected_terms(task, cluster)))
                self._renewed_at = 0
        elif (
            self._slots == 1.0
            and not self._in_graph
            and self._history.review(self._by_speed, self._aging, not (self._learns or self._has_gangs))
        ):
            self._follow()
        more = self._lessons.seen - self._renewed_at
        if self._queue and more > min(self._renewed_at, max(_RENEWED_EVERY, len(self._queue) // 4)):
            self._renewed_at = self._lessons.seen
            for _, identity, task in self._queue:
                self._known[identity] = self._thought(task, cluster, self._known[identity].now_s)
            self._reorder()

    def _reorder(self) -> None:
        reorder(
            self._queue,
            self._waiting.overdue,
            lambda task: _place(task, self._known[task.task_id].unit_s, self._batch, self._in_graph),
        )

    def _hold(self, task: Task, cluster: HeldView) -> None:
        self._enter(task, self._thought(task, cluster, cluster.now_s), starts=False)

    def _plan(
        self, width: int, terms: Terms, backlog: FloatColumn, idle: BoolColumn, gap_s: FloatColumn
    ) -> tuple[float, int, bool]:
        """Plan one task behind the plans before it; `gap_s` is how long idle devices are free before a gang begins."""
        if width == 1 and np.isinf(gap_s).all():
            return plan_split(terms, backlog, idle, self._points, self._price, self._limits_s)
        fellows = np.empty(max(width - 1, 1), np.int32)
        return plan_beside_gangs(
            terms,
            width,
            kind_counts(terms[3]),
            backlog,
            idle,
            gap_s,
            self._points,
            self._price,
            self._limits_s,
            fellows,
        )

    def _committed(self, task: Task) -> None:
        self._known.pop(task.task_id, None)
        self._fitting.pop(task.task_id, None)
        if self._batch is not None:
            self._batch.start(task.task_id)


def _place(task: Task, size_s: float, batch: BatchPlan | None, in_graph: bool) -> float:
    """Where a task stands in the order: as the plan of a batch says, else by its seconds."""
    return place_of(size_s, in_graph) if batch is None else batch.keys[task.task_id]


def place_of(size_s: float, in_graph: bool) -> float:
    """Where a task stands in the order: by its seconds; in a graph roughly, so that equals come as they came."""
    return math.floor(math.log(max(size_s, _LEAST_WORK_S)) / _SAME) if in_graph else size_s


HybridMl.modes = {"time": HybridMl, "share": HybridMlShare}
