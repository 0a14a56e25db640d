"""Holding by plan: everything that has arrived is planned at once, and tasks take their turns on the devices.

A task is committed when it is ready and every task before it on its devices is committed. Whenever tasks arrive, all
that is not committed yet is planned anew behind what the devices have promised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from hybrid_ml_scheduler.core import (
    BatchTerms,
    ClusterView,
    Decision,
    FloatColumn,
    IntColumn,
    RaceContext,
    Task,
    TaskBatch,
)
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.holding import BatchSeconds, Commitment, HeldTasks, HeldView, PlanRule, soonest_device
from hybrid_ml_scheduler.core.terms import TaskTerms
from hybrid_ml_scheduler.core.validation import parent_rows
from hybrid_ml_scheduler.schedulers.grid import as_batch, as_column

__all__ = ["KnownGraph", "PlanHold", "graph_children", "known_graph"]


class KnownGraph(NamedTuple):
    """The tasks that are known and not committed, the parents among them, and how long the devices are busy.

    `at_once` says that nothing came before them: a batch or a graph rather than a part of a stream.
    """

    tasks: BatchTerms
    identity: IntColumn
    parent_offsets: IntColumn
    parents: IntColumn
    backlog: FloatColumn
    at_once: bool = True

    @property
    def num_devices(self) -> int:
        """The CPU and all GPUs."""
        return len(self.backlog)


class PlanHold:
    """Plans everything that has arrived, and commits tasks in the order of the plan. A subclass gives `plan_rule`."""

    name = "plan_hold"
    reason = "the plan of all known tasks says where and in which order"

    def prepare(self, context: RaceContext) -> None:
        """Start afresh with nothing known."""
        self._estimator, self._devices, self._seed = context.estimator, context.num_gpus + 1, context.seed
        self._known: dict[int, Task] = {}
        self._ready: set[int] = set()
        self._plan: dict[int, tuple[float, int]] = {}
        self._lists: list[list[int]] = [[] for _ in range(self._devices)]
        self._plans = 0

    def plan_rule(self, graph: KnownGraph) -> PlanRule:
        """Where every known task goes, and when its turn is."""
        raise PlanError(f"{self.name} gives no plan.")

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterator[Commitment]:
        """Plan what arrived, and commit every ready task whose turn it is."""
        gone = [identity for identity in self._ready if identity not in held]
        self._ready.update(task.task_id for task in held.fresh)
        for identity in gone:  # it could be held no longer and was committed for us
            self._forget(identity)
        if held.arrived:
            self._known.update((task.task_id, task) for task in held.arrived)
            self._plan_anew(cluster)
        while (first := self._next(all(cluster.idle))) is not None:
            fraction, gpu = self._plan[first]
            self._forget(first)
            yield Commitment(first, Decision(gpu_fraction=fraction, gpu=gpu))

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Where the plan sends a task; one that is not planned goes to the device that ends first."""
        if task.task_id not in self._plan:
            return soonest_device(task, cluster)
        fraction, gpu = self._plan[task.task_id]
        return Decision(gpu_fraction=fraction, gpu=gpu)

    def explain(self, task: Task, cluster: ClusterView) -> Mapping[str, Any]:
        """Where the plan sends the task, and how many go before it on its devices."""
        chosen = self.decide(task, cluster)
        return {
            "reason": self.reason,
            "gpu_fraction": chosen.gpu_fraction,
            "gpu": chosen.gpu,
            "held": len(self._ready),
            "held_before_it": self._before(task.task_id),
            "completion_s": cluster.completion_s(task, chosen.gpu_fraction, chosen.gpu or 0),
        }

    def held_rule(self, batch: TaskBatch, seconds: BatchSeconds) -> PlanRule | None:
        """The compiled form, for tasks that are all known from the first moment on."""
        if len(batch) == 0 or not bool(np.all(batch.arrival_time == batch.arrival_time[0])):
            return None
        terms = self._estimator.batch_terms(batch)._replace(cpu_s=seconds.cpu_s, gpu_s=seconds.gpu_s)
        parents = parent_rows(batch) if batch.has_dependencies else np.empty(0, dtype=np.int64)
        idle = np.zeros(self._devices)
        return self.plan_rule(KnownGraph(terms, batch.task_id, batch.parent_offsets, parents, idle))

    def capture(self) -> Mapping[str, Any]:
        """The known tasks and what is left of the plan."""
        return {
            "known": list(self._known.values()),
            "ready": sorted(self._ready),
            "plan": dict(self._plan),
            "lists": [list(line) for line in self._lists],
            "plans": self._plans,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state."""
        self._known = {task.task_id: task for task in state["known"]}
        self._ready, self._plan = set(state["ready"]), {i: tuple(entry) for i, entry in state["plan"].items()}
        self._lists, self._plans = [list(line) for line in state["lists"]], state["plans"]

    def _before(self, identity: int) -> int:
        """How many tasks go before this one on its devices."""
        return max((len(line) - 1 - line.index(identity) for line in self._lists if identity in line), default=0)

    def _next(self, is_idle: bool) -> int | None:
        """A ready task that stands first on all its devices, if there is one; on an idle node whoever is nearest.

        The first of a list may wait for a parent that has not arrived, and the parent for somebody in the list.
        """
        for line in self._lists:
            if line and line[-1] in self._ready and all(self._lists[d][-1] == line[-1] for d in self._used(line[-1])):
                return line[-1]
        return min(self._ready, key=lambda i: (self._before(i), i)) if is_idle and self._ready else None

    def _used(self, identity: int) -> Sequence[int]:
        fraction, gpu = self._plan[identity]
        return ([0] if fraction < 1.0 else []) + ([gpu + 1] if fraction > 0.0 else [])

    def _forget(self, identity: int) -> None:
        for device in self._used(identity):
            line = self._lists[device]
            if line[-1] == identity:
                line.pop()
            else:
                line.remove(identity)
        self._ready.discard(identity)
        del self._known[identity], self._plan[identity]

    def _plan_anew(self, cluster: HeldView) -> None:
        tasks = list(self._known.values())
        backlog = as_column((cluster.cpu_backlog_s, *cluster.gpu_backlogs_s))
        graph = known_graph(tasks, cluster.estimator.terms, backlog)
        rule = self.plan_rule(graph._replace(at_once=self._plans == 0))
        self._plans += 1
        fractions, gpus = rule.fractions.tolist(), rule.gpus.tolist()
        self._plan = {task.task_id: (fractions[row], gpus[row]) for row, task in enumerate(tasks)}
        self._lists = [[] for _ in range(self._devices)]
        for row in np.argsort(rule.turns)[::-1]:
            for device in self._used(tasks[row].task_id):
                self._lists[device].append(tasks[row].task_id)


def known_graph(tasks: Sequence[Task], terms_of: Callable[[Task], TaskTerms], backlog: FloatColumn) -> KnownGraph:
    """These tasks as columns; a parent that is not among them is done or on its way."""
    terms = [terms_of(task) for task in tasks]
    rows = {task.task_id: row for row, task in enumerate(tasks)}
    parents = [[rows[parent] for parent in task.dependencies if parent in rows] for task in tasks]
    offsets = np.zeros(len(tasks) + 1, dtype=np.int64)
    np.cumsum([len(one) for one in parents], out=offsets[1:])
    flat = np.array([row for one in parents for row in one], dtype=np.int64)
    return KnownGraph(as_batch(terms), np.array(list(rows), dtype=np.int64), offsets, flat, backlog)


def graph_children(graph: KnownGraph) -> tuple[IntColumn, IntColumn]:
    """The children of every row, flat: offsets and rows."""
    count = len(graph.identity)
    child_of = np.repeat(np.arange(count), np.diff(graph.parent_offsets))
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(graph.parents, minlength=count), out=offsets[1:])
    return offsets, child_of[np.argsort(graph.parents, kind="stable")]
