"""Holding in an order of one's own: plan by earliest finish, commit what starts at once.

At every wake the held tasks are gone through by rising key. Each plans the split and the GPU with the earliest
completion behind the plans before it; a plan that starts at once is carried out, all others are forgotten again. With
aging, those that have waited too long go before all others.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import ClusterView, Decision, FloatColumn, RaceContext, Task, TaskBatch
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.holding import MEAN_OVER, BatchSeconds, Commitment, HeldRule, HeldTasks, HeldView, Pick
from hybrid_ml_scheduler.core.tasks import BoolColumn
from hybrid_ml_scheduler.core.terms import TaskTerms
from hybrid_ml_scheduler.physics.formulas import cpu_alone_s
from hybrid_ml_scheduler.physics.held_choices import fastest_s, fastest_seconds, pick_score, plan_split, whole_seconds
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, as_column, as_terms, split_grid
from hybrid_ml_scheduler.schedulers.holding.waiting import Waiting, aging_limit

__all__ = ["WHOLE", "HeldQueue", "KeyedHold", "limits_in_s", "reorder"]

WHOLE = (0.0, 1.0)
HeldQueue = list[tuple[float, int, Task]]
"""Held tasks with their keys and ids, in order; the overdue stand before all others."""


class KeyedHold:
    """Holds ready tasks, goes through them by rising key, and commits what starts at once.

    A subclass gives the key: `keys` for a whole batch and `key` for one task, the same to the last bit.
    """

    name = "keyed_hold"
    reason = "held tasks go by rising key; what can start at once does"
    pick = Pick.IN_ORDER

    def __init__(
        self,
        splits: bool = True,
        step: float = DEFAULT_STEP,
        price: float = 0.0,
        longest: Sequence[float] = (),
        depth: int = 64,
        aging: float = 0.0,
    ) -> None:
        if not 0.0 <= price < math.inf:
            raise PlanError(f"{self.name}: price = {price:g} must be a finite number of at least 0.")
        if depth < 1:
            raise PlanError(f"{self.name}: depth = {depth} must be at least 1.")
        if any(not limit > 0.0 for limit in longest):
            raise PlanError(f"{self.name}: every number of longest must be above 0 (inf: no limit).")
        self._splits, self._price, self._depth = splits, price, depth
        self._aging = aging_limit(self.name, aging)
        self._grid = split_grid(step) if splits else WHOLE
        self._points = as_column(self._grid)
        self._longest_asked = tuple(float(limit) for limit in longest)
        self._longest: tuple[float, ...] = ()

    def prepare(self, context: RaceContext) -> None:
        """Start afresh with nothing held."""
        asked = self._longest_asked or (math.inf,)
        # The CPU first; one number for each device, the last one for all that follow.
        self._longest = tuple(asked[min(device, len(asked) - 1)] for device in range(context.num_gpus + 1))
        self._queue: HeldQueue = []
        self._seen, self._mean_s, self._waiting = 0, 0.0, Waiting()

    def key(self, task: Task, size_s: float, terms: TaskTerms) -> float:
        """The place of one task in the order; lower comes first."""
        raise PlanError(f"{self.name} gives no order.")

    def keys(self, batch: TaskBatch, size_s: FloatColumn, seconds: BatchSeconds) -> FloatColumn:
        """The same for a whole batch."""
        raise PlanError(f"{self.name} gives no order.")

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterable[Commitment]:
        """Plan the first held tasks in order, and commit those that start at once."""
        self._learn(held, cluster)
        for task in held.fresh:
            self._hold(task, cluster)
        self._review(held, cluster)
        idle = np.array(cluster.idle)
        self._forget_absent(held)
        if idle.any() and self._aging < math.inf:
            self._advance_overdue(cluster.now_s)
        yield from self._starting(cluster, idle)

    def _starting(self, cluster: HeldView, idle: BoolColumn) -> Iterator[Commitment]:
        """What starts at once, in order; `idle` has the CPU first."""
        backlog = as_column((cluster.cpu_backlog_s, *cluster.gpu_backlogs_s))
        limits_s = limits_in_s(self._longest, self._mean_s)
        planned: set[int] = set()
        for _ in range(self._depth):
            place = self._next_place(planned, backlog, cluster) if idle.any() else -1
            if place < 0:
                return
            task = self._queue[place][2]
            terms = as_terms(self._believed(task, cluster))
            fraction, gpu, starts = plan_split(terms, backlog, idle, self._points, self._price, limits_s)
            if starts:
                del self._queue[place]
                self._waiting.start(task.task_id, cluster.now_s)
                self._committed(task)
                yield Commitment(task.task_id, Decision(gpu_fraction=fraction, gpu=gpu))
            else:
                planned.add(task.task_id)

    def _advance_overdue(self, now_s: float) -> None:
        """Put those that have waited too long before all others, in the order in which they became ready."""
        for identity in self._waiting.newly_overdue(now_s, self._aging, self._mean_s, self._depth):
            place = next(place for place, entry in enumerate(self._queue) if entry[1] == identity)
            self._queue.insert(self._waiting.overdue, self._queue.pop(place))

    def _next_place(self, planned: Container[int], backlog: FloatColumn, cluster: HeldView) -> int:
        """The place of the task that plans next: the first not yet planned, or that with the best score; -1 if none.

        What is overdue goes first.
        """
        best, chosen = math.inf, -1
        for place, (_, identity, task) in enumerate(self._queue[: self._depth]):
            if identity in planned:
                continue
            if self.pick == Pick.IN_ORDER or place < self._waiting.overdue:
                return place
            whole_s = np.empty_like(backlog)
            whole_seconds(as_terms(self._believed(task, cluster)), whole_s)
            score = pick_score(int(self.pick), whole_s, backlog)
            if score < best or chosen < 0:
                best, chosen = score, place
        return chosen

    def _forget_absent(self, held: HeldTasks) -> None:
        """Drop what could be held no longer and was committed for us."""
        if len(self._queue) != len(held):
            for _, identity, task in self._queue:
                if identity not in held:
                    self._waiting.forget(identity)
                    self._committed(task)
            self._queue = [entry for entry in self._queue if entry[1] in held]

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Where a task would go if it had to be committed now: the earliest completion behind the queues."""
        backlog = as_column((cluster.cpu_backlog_s, *cluster.gpu_backlogs_s))
        busy = np.zeros(len(backlog), dtype=np.bool_)
        limits_s = limits_in_s(self._longest, self._mean_s)
        terms = as_terms(self._believed(task, cluster))
        fraction, gpu, _ = plan_split(terms, backlog, busy, self._points, self._price, limits_s)
        return Decision(gpu_fraction=fraction, gpu=gpu)

    def explain(self, task: Task, cluster: ClusterView) -> Mapping[str, Any]:
        """How many tasks are held, how many of them go first, and where the task would go now."""
        terms = self._believed(task, cluster)
        size_s = self._size_s(terms)
        key, chosen = self.key(task, size_s, terms), self.decide(task, cluster)
        overdue = self._waiting.overdue
        first = overdue + sum((k, identity) < (key, task.task_id) for k, identity, _ in self._queue[overdue:])
        return {
            "reason": self.reason,
            "gpu_fraction": chosen.gpu_fraction,
            "gpu": chosen.gpu,
            "fastest_s": size_s,
            "held": len(self._queue),
            "overdue": overdue,
            "held_before_it": first,
            "completion_s": cluster.completion_s(task, chosen.gpu_fraction, chosen.gpu or 0),
        }

    def held_rule(self, batch: TaskBatch, seconds: BatchSeconds) -> HeldRule | None:
        """The compiled form."""
        cpu_s = np.where(batch.gpu_only, math.inf, seconds.cpu_s)
        size_s = fastest_seconds(cpu_s, seconds.gpu_s, self._splits)
        return HeldRule(
            order=self.keys(batch, size_s, seconds),
            size_s=size_s,
            grid=self._grid,
            price=self._price,
            longest=self._longest,
            depth=self._depth,
            pick=self.pick,
            aging=self._aging,
        )

    def capture(self) -> Mapping[str, Any]:
        """The held tasks with their keys and since when, and the mean that limits are multiples of."""
        waiting = self._waiting.capture()
        return {"queue": list(self._queue), "seen": self._seen, "mean_s": self._mean_s, "waiting": waiting}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state."""
        self._queue = [tuple(entry) for entry in state["queue"]]
        self._seen, self._mean_s = state["seen"], state["mean_s"]
        self._waiting.restore(state["waiting"])

    def _learn(self, held: HeldTasks, cluster: HeldView) -> None:
        """See what has arrived before it is held; for orders that depend on more than the task itself."""

    def _review(self, held: HeldTasks, cluster: HeldView) -> None:
        """Think again before tasks are planned; for strategies that change their ways."""

    def _committed(self, task: Task) -> None:
        """A task is held no longer."""

    def _believed(self, task: Task, cluster: ClusterView) -> TaskTerms:
        """What is believed of a task."""
        return cluster.estimator.terms(task)

    def _size_s(self, terms: TaskTerms) -> float:
        """The seconds that a task counts as."""
        return float(fastest_s(cpu_alone_s(terms.cpu_s, terms.memory_rule), terms.gpu_s, self._splits))

    def _hold(self, task: Task, cluster: HeldView) -> None:
        terms = self._believed(task, cluster)
        size_s = self._size_s(terms)
        insort(self._queue, (self.key(task, size_s, terms), task.task_id, task), lo=self._waiting.overdue)
        self._waiting.hold(task.task_id, cluster.now_s)
        self._seen += 1
        self._mean_s += (size_s - self._mean_s) / min(self._seen, MEAN_OVER)


def limits_in_s(longest: Sequence[float], mean_s: float) -> FloatColumn:
    """The longest part of every device in seconds, given in multiples of the mean."""
    return as_column([math.inf if math.isinf(limit) else limit * mean_s for limit in longest])


def reorder(queue: HeldQueue, overdue: int, key: Callable[[Task], float]) -> None:
    """Put held tasks into another order; the overdue stay before all others."""
    queue[overdue:] = sorted((key(task), identity, task) for _, identity, task in queue[overdue:])
