"""RL hold: shortest first with settings that it chooses itself, from what it has learned and from what it sees.

Weights trained over many workloads, loads and nodes expect from features without units how well each setting will do.
Now and then the latest tasks are played again under every setting, and the expectation is corrected by what comes of
it; the more tasks are known, the less the expectation counts. A batch or graph that is known at once is played through
under several orders before it starts. Where seconds are learned, tasks that have finished are played again with the
seconds that they really took. The last line is a gate: a setting that does worse on the latest tasks than one of the
plain rules is not used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import BatchTerms, FloatColumn, RaceContext, Task, TaskBatch
from hybrid_ml_scheduler.core.decisions import Outcome, Parts
from hybrid_ml_scheduler.core.errors import PlanError, SchedulerError
from hybrid_ml_scheduler.core.holding import BatchSeconds, Commitment, HeldRule, HeldStage, HeldTasks, HeldView, Pick
from hybrid_ml_scheduler.core.protocols import ClusterView, Doubts, Estimator
from hybrid_ml_scheduler.core.tasks import BoolColumn
from hybrid_ml_scheduler.core.terms import TaskTerms, Terms
from hybrid_ml_scheduler.core.validation import parent_rows
from hybrid_ml_scheduler.learning.time_forest import TimeForest
from hybrid_ml_scheduler.physics.held_choices import possible_s, possible_seconds
from hybrid_ml_scheduler.schedulers.agents.corrected_beliefs import CorrectedBeliefs
from hybrid_ml_scheduler.schedulers.agents.hold_history import REMEMBERED, Remembered, known_history, latest_tasks
from hybrid_ml_scheduler.schedulers.agents.hold_model import HoldModel, hedge, hold_features, load_hold
from hybrid_ml_scheduler.schedulers.forest.trained_seconds import TimeData, seconds_words
from hybrid_ml_scheduler.schedulers.grid import as_batch, as_column, as_terms
from hybrid_ml_scheduler.schedulers.holding.batch_orders import (
    BATCH,
    BatchPlan,
    BatchState,
    best_batch_order,
    is_known_at_once,
)
from hybrid_ml_scheduler.schedulers.holding.hold_starts import Cuts, planned_beside_gangs, pull
from hybrid_ml_scheduler.schedulers.holding.keyed import KeyedHold, limits_in_s, reorder
from hybrid_ml_scheduler.schedulers.holding.planned import KnownGraph
from hybrid_ml_scheduler.schedulers.holding.settings import (
    OBJECTIVES,
    PLAIN,
    History,
    Setting,
    gpus_by_speed,
    held_order,
    replayed_values,
    stage_of,
)

__all__ = ["RlHold"]

_VERSION = 5  # of the captured state
_FIRST_REVIEW = 32
_LONGEST_PAUSE = 2000
_PRIOR_TASKS = 100.0  # the expectation counts as much as what so many tasks say
_OTHER_PRIOR_TASKS = 50.0  # it was learned for the mean latency, and says less about anything else
_TRUST = 2.0  # over the root of the tasks replayed: so much worse than a plain rule may be chance
_APART = 2.0  # twice the spread that is expected of two devices: e to this is as far as they differ from what was told
_NEWS = 8  # when as many tasks have finished as an eighth of the held ones, these are put in order by what is known now


class RlHold(CorrectedBeliefs, KeyedHold):
    """Holds ready tasks, starts the shortest first, and chooses by replay how they are cut and which devices refuse.

    `objective`: auto (the makespan of a batch or graph, the latency of a stream), latency, makespan, slowdown, p99,
    energy or cost. `patience` bounds how long others may overtake a task, as for
    `sjf` (-1: as the model says), and so does `aging`. `model` is a file of `hms tune` or `hms train agent`.
    """

    name = "rl_hold"
    reason = "the shortest held task that can start at once starts, under the setting that did best on the latest tasks"
    learning = "online"

    def __init__(
        self, objective: str = "auto", patience: float = -1.0, model: str | None = None, aging: float = -1.0
    ) -> None:
        if objective not in ("auto", *OBJECTIVES):
            raise PlanError(f"rl_hold: objective = {objective!r} must be one of auto, {', '.join(OBJECTIVES)}.")
        if not (patience == -1.0 or 0.0 <= patience < float("inf")):
            raise PlanError(f"rl_hold: patience = {patience:g} must be -1 or a finite number of at least 0.")
        if not (aging == -1.0 or 0.0 <= aging < float("inf")):
            raise PlanError(f"rl_hold: aging = {aging:g} must be -1 or a finite number of at least 0.")
        super().__init__()
        self.model = load_hold(model)
        self._plans_batches = objective in ("auto", "makespan")
        self._objective = "latency" if objective == "auto" else objective
        self._patience = self.model.patience if patience == -1.0 else patience
        self._stream_aging = (self.model.aging if aging == -1.0 else aging) or math.inf

    def adopt(self, model: HoldModel) -> RlHold:
        """Go on with another model, as if it had been read from a file; call before `prepare`."""
        self.model, self._patience, self._stream_aging = model, model.patience, model.aging or math.inf
        return self

    def prepare(self, context: RaceContext) -> None:
        """Start afresh with nothing held and nothing seen."""
        super().prepare(context)
        self._estimator, self._devices = context.estimator, context.num_gpus + 1
        self._start_believing(context)
        self._by_speed = gpus_by_speed(context.estimator)
        if isinstance(context.estimator, Doubts):
            context.estimator.doubt(_APART)
        self.rates = _rates(context.estimator, self._devices, self._objective)
        self._history: dict[int, Remembered] = {}
        self._news = 0  # tasks that have finished since held ones were last put in order
        self._due_s = np.zeros(self._devices)
        self._has_gangs = False
        self._next_review = _FIRST_REVIEW
        self.gate = (0, 0)  # reviews, and at how many of them a plain rule took the place of the setting chosen
        self._batch: BatchPlan | None = None
        self._aging = self._stream_aging
        self._setting = 0
        self._follow()

    def key(self, task: Task, size_s: float, terms: TaskTerms) -> float:
        """Its place in a batch; in a stream its seconds, or the moment up to which it lets others pass."""
        if self._batch is not None:
            return self._batch.keys[task.task_id]
        setting = self.model.settings[self._setting]
        own_s = size_s if setting.splits else _whole_s(terms)
        return held_order(task.arrival_time, own_s, self._patience, setting.patience)

    def keys(self, batch: TaskBatch, size_s: FloatColumn, seconds: BatchSeconds) -> FloatColumn:
        """The same for a whole stream, as long as the first setting is in force."""
        return held_order(batch.arrival_time, size_s, self._patience, self.model.settings[0].patience)

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Learn how long a task really took, where what is believed can be wrong."""
        if not self.online:
            return
        self._thoughts.clear()
        self._lessons.observe(task, outcome)
        if self._batch is not None:
            self._batch.finish()
        known = self._history.get(task.task_id)
        if known is not None and not outcome.failed:
            self._history[task.task_id] = known._replace(
                share=outcome.gpu_fraction, gpu=max(outcome.gpu, 0), took_s=outcome.cpu_s + outcome.gpu_s
            )
            self._news += 1

    def activate(self, model: TimeForest, data: TimeData) -> None:
        """Believe from now on what a newly grown forest says, of what is held, too."""
        super().activate(model, data)
        self._news += 1 + len(self._queue)

    def explain(self, task: Task, cluster: ClusterView) -> Mapping[str, Any]:
        """Also the setting in force, how often the gate has acted, and what the forest made of what is believed."""
        setting = self.model.settings[self._setting]
        said: dict[str, Any] = {
            "splits": setting.splits,
            "price": setting.price,
            "low": setting.low,
            "ratio": setting.ratio,
        }
        said |= {"slowest": setting.slowest, "affinity": setting.affinity, "patience": setting.patience}
        said["soonest"] = setting.soonest > 0.0
        if self.online:
            thought = self._thought(task, cluster, cluster.now_s)
            said |= seconds_words(thought.believed, thought.seconds.tolist())
            said |= self._forest_words(task, thought.believed)
        return {**super().explain(task, cluster), **said, "reviews": self.gate[0], "gate_acted": self.gate[1]}

    def held_rule(self, batch: TaskBatch, seconds: BatchSeconds) -> HeldRule | None:
        """The compiled form, for a batch or graph known at once, and for a stream of tasks that wait for nobody."""
        if len(batch) == 0:
            return None
        begin = int(np.searchsorted(batch.arrival_time, batch.arrival_time[0], side="right"))
        terms = self._estimator.batch_terms(batch)._replace(cpu_s=seconds.cpu_s, gpu_s=seconds.gpu_s)
        size_s = possible_seconds(terms, True)
        whole_s = possible_seconds(terms, False)
        if batch.has_dependencies and not self._plans_batches:
            return None
        if (begin >= BATCH or batch.has_dependencies) and self._plans_batches:
            if begin < len(batch):
                return None
            parents = parent_rows(batch) if batch.has_dependencies else np.empty(0, dtype=np.int64)
            graph = KnownGraph(terms, batch.task_id, batch.parent_offsets, parents, np.zeros(self._devices))
            order, setting = best_batch_order(graph)
            one = stage_of(setting, self._devices, 0)
            return HeldRule(order=order, size_s=size_s, grid=one.grid, price=one.price, longest=one.longest)
        aging, patience = self._stream_aging, self._patience
        known = History(batch.arrival_time, size_s, terms, aging, patience, whole_s, by_speed=self._by_speed)
        stages, orders = self._all_stages(known)
        first = stages[0]
        return HeldRule(
            order=orders[0],
            size_s=size_s,
            grid=first.grid,
            price=first.price,
            longest=first.longest,
            aging=aging,
            stages=stages,
            orders=orders[1:],
        )

    def capture(self) -> Mapping[str, Any]:
        """Also the latest tasks and the setting in force."""
        return {
            **super().capture(),
            "version": _VERSION,
            "history": {identity: tuple(known) for identity, known in self._history.items()},
            "news": self._news,
            "has_gangs": self._has_gangs,
            "due_s": self._due_s.tolist(),
            "setting": self._setting,
            "stage": asdict(self._stage),
            "reviews": (self._next_review, *self.gate),
            "batch": None if self._batch is None else self._batch.capture(),
            "training": self._training_state() if self.online else None,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state."""
        if state.get("version") != _VERSION:
            raise SchedulerError("rl_hold: the stored state is of another version.")
        super().restore(state)
        self._history = {identity: Remembered(*known) for identity, known in state["history"].items()}
        self._setting, self._has_gangs, self._news = state["setting"], state["has_gangs"], state["news"]
        self._due_s = as_column(state["due_s"])
        self._follow(HeldStage(**state["stage"]))
        self._next_review, *gate = state["reviews"]
        self.gate = (gate[0], gate[1])
        batch = state["batch"] if "batch" in state else _batch_before(state["batch_keys"])
        self._batch = None if batch is None else BatchPlan.from_state(batch, self._devices)
        self._aging = self._stream_aging if self._batch is None else math.inf
        if self.online:
            self._restore_training(state["training"])
            self._thoughts.clear()

    def _learn(self, held: HeldTasks, cluster: HeldView) -> None:
        """A batch or graph that comes first is played through; what comes later makes it a stream."""
        self._thoughts.clear()
        if self._batch is not None and held.arrived:
            self._batch, self._aging = None, self._stream_aging
            self._follow()
            self._order_anew(cluster)
        elif self._plans_batches and self._seen == 0 and is_known_at_once(held.arrived):
            self._batch = BatchPlan(held.arrived, self._devices)
            self._aging = math.inf  # the plan of a batch knows how long everybody waits
        batch = self._batch
        if batch is not None and (not batch.keys or (self.online and batch.due)):
            setting = batch.make(lambda task: self._believed(task, cluster))
            self._follow(stage_of(setting, self._devices, 0, self._patience))
            self._order_anew(cluster)

    def _starting(self, cluster: HeldView, idle: BoolColumn) -> Iterator[Commitment]:
        """Devices take tasks, or tasks plan, beside gangs with care."""

        def terms_of(task: Task) -> Terms:
            return as_terms(self._believed(task, cluster))

        def terms_of_many(tasks: Sequence[Task]) -> BatchTerms:
            return self._believed_of(tasks, cluster)

        if self._has_gangs:
            self.pick = Pick.IN_ORDER
        if self._stage.slowest and not self._has_gangs:
            starts = pull(self._queue, self._waiting, self._stage, terms_of_many, idle)
        elif self._has_gangs or self._estimator.learns:
            cuts = Cuts(self._points, self._price, limits_in_s(self._longest, self._mean_s))
            starts = planned_beside_gangs(self._queue, cuts, cluster, terms_of, idle, self._due_s, self._next_place)
        else:
            yield from super()._starting(cluster, idle)
            return
        for place, decision in starts:
            _, identity, task = self._queue.pop(place)
            self._waiting.start(identity, cluster.now_s)
            if self._batch is not None:
                self._batch.start(identity)
            self._expect(task, decision, cluster)
            yield Commitment(identity, decision)

    def _order_anew(self, cluster: HeldView) -> None:
        tasks = [task for _, _, task in self._queue[self._waiting.overdue :]]
        if not tasks:
            return
        if self._batch is None:
            setting, terms = self.model.settings[self._setting], self._believed_of(tasks, cluster)
            own_s = possible_seconds(terms, setting.splits)
            arrival_s = as_column([task.arrival_time for task in tasks])
            keys = held_order(arrival_s, own_s, self._patience, setting.patience).tolist()
        else:
            keys = [self._batch.keys[task.task_id] for task in tasks]
        found = dict(zip((task.task_id for task in tasks), keys, strict=True))
        reorder(self._queue, self._waiting.overdue, lambda task: found[task.task_id])

    def _size_s(self, terms: TaskTerms) -> float:
        return float(possible_s(as_terms(terms), True))

    def _hold(self, task: Task, cluster: HeldView) -> None:
        super()._hold(task, cluster)
        terms = self._believed(task, cluster)
        self._has_gangs = self._has_gangs or task.gpus_required > 1
        self._history[task.task_id] = Remembered(cluster.now_s, task, terms)
        if len(self._history) > 2 * REMEMBERED:
            self._history = latest_tasks(self._history)

    def _review(self, held: HeldTasks, cluster: HeldView) -> None:
        if self._batch is not None:
            return
        was = _order_of(self.model.settings[self._setting])
        if self._seen >= self._next_review and len(self.model.settings) > 1:
            self._history = latest_tasks(self._history)
            latest = list(self._history.values())
            if self.online:
                terms = self._believed_of([one.task for one in latest], cluster)
            else:
                terms = as_batch([one.terms for one in latest])
            known = known_history(latest, terms, self.online, self._aging, self._patience)
            self._reviewed(known._replace(by_speed=self._by_speed))
            self._follow()
            self._next_review = _review_after(self._seen)
        believes_else = self._news * _NEWS > len(self._queue)
        if believes_else or _order_of(self.model.settings[self._setting]) != was:
            self._order_anew(cluster)
            self._news = 0

    def _all_stages(self, history: History) -> tuple[tuple[HeldStage, ...], tuple[FloatColumn, ...]]:
        """The settings of a whole stream, reviewed as `dispatch` would, and the orders that they go by."""
        settings, found = self.model.settings, [(0, 0)]
        count, due = len(history.ready_s), _FIRST_REVIEW
        while due <= count and len(settings) > 1:
            # Tasks of one instant are seen together.
            seen = int(np.searchsorted(history.ready_s, history.ready_s[due - 1], side="right"))
            found.append((self._reviewed(history.rows(max(0, seen - REMEMBERED), seen)), seen))
            due = _review_after(seen)
        orders = {_order_of(settings[chosen]): history.order(settings[chosen]) for chosen, _ in found}
        places = list(orders)
        stages = [
            stage_of(
                settings[one],
                self._devices,
                first,
                self._patience,
                places.index(_order_of(settings[one])),
                self._by_speed,
            )
            for one, first in found
        ]
        return tuple(stages), tuple(orders.values())

    def _reviewed(self, history: History) -> int:
        """The setting with the best replay, corrected by what was learned; the gate has the last word."""
        settings = self.model.settings
        values = replayed_values(history, settings, self._objective, self.rates, all_count=True)
        if self._objective == "p99":  # in order of arrival the longest waits look short until a queue has built up
            values = np.where([setting.patience == 0.0 for setting in settings], math.inf, values)
        features = hold_features(history)
        prior, trust = self.model.prior(features), self.model.trust(features)
        weight = trust * (_PRIOR_TASKS if self._objective == "latency" else _OTHER_PRIOR_TASKS) / len(history.ready_s)
        chosen = int(np.argmin(hedge(values, settings) + weight * prior))
        plain = [place for place, setting in enumerate(settings) if setting in PLAIN]
        best = min(plain, key=lambda place: values[place], default=chosen)
        acts = bool(values[best] * math.exp(_TRUST / math.sqrt(len(history.ready_s))) < values[chosen])
        self.gate = (self.gate[0] + 1, self.gate[1] + acts)
        chosen = best if acts else chosen
        self._setting = chosen
        return chosen

    def _follow(self, stage: HeldStage | None = None) -> None:
        """Plan by this stage from now on; by that of the setting in force if none is given."""
        stage = stage or stage_of(
            self.model.settings[self._setting], self._devices, 0, self._patience, by_speed=self._by_speed
        )
        self._stage, self._grid, self._points = stage, stage.grid, as_column(stage.grid)
        self._price, self._longest, self.pick = stage.price, stage.longest, stage.pick


def _order_of(setting: Setting) -> tuple[bool, float]:
    """What the order of tasks depends on."""
    return setting.splits, setting.patience


def _batch_before(keys: Mapping[int, float] | None) -> BatchState | None:
    """The plan of a batch in a state stored before 0.3, which was made once and for all."""
    return None if keys is None else ([], 0, dict(keys), tuple(PLAIN[0]))


def _review_after(seen: int) -> int:
    return seen + max(_FIRST_REVIEW, min(seen // 2, _LONGEST_PAUSE))


def _whole_s(terms: TaskTerms) -> float:
    return float(possible_s(as_terms(terms), False))


def _rates(estimator: Estimator, devices: int, objective: str) -> FloatColumn:
    """What one second of every device costs: watts, or dollars where the objective is cost."""
    if objective != "cost":
        return as_column(estimator.power_w)
    cpu = estimator.cost_usd(Parts(0.0, 1.0, 0.0, False, False), 0)
    gpus = [estimator.cost_usd(Parts(1.0, 0.0, 1.0, False, False), gpu) for gpu in range(devices - 1)]
    return as_column((cpu, *gpus))
