"""Holding where devices choose: an idle device takes the held task that it likes best, whole.

At every wake the idle GPUs choose by rising number, then the CPU; each has an order of its own over the held tasks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import Any

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
from hybrid_ml_scheduler.core.holding import BatchSeconds, Commitment, HeldTasks, HeldView, PullRule, soonest_device
from hybrid_ml_scheduler.physics.choices import alone_on_cpu
from hybrid_ml_scheduler.physics.node import CPU_ONLY, MemoryRule
from hybrid_ml_scheduler.physics.node import WHOLE as NOT_DIVISIBLE
from hybrid_ml_scheduler.schedulers.grid import as_batch

__all__ = ["PullHold"]


class PullHold:
    """Holds ready tasks; an idle device takes the first one of its own order.

    A subclass gives `orders`: one row a device (the CPU first), one column a task, infinite for never.
    """

    name = "pull_hold"
    reason = "an idle device takes the held task that it likes best"

    def prepare(self, context: RaceContext) -> None:
        """Start afresh with nothing held."""
        self._devices, self._estimator = context.num_gpus + 1, context.estimator
        self._held: dict[int, tuple[Task, tuple[float, ...]]] = {}
        self._heaps: list[list[tuple[float, int]]] = [[] for _ in range(self._devices)]

    def orders(self, identity: IntColumn, arrival: FloatColumn, seconds: FloatColumn) -> FloatColumn:
        """The order of every device over these tasks; `seconds` has one row a device, one column a task.

        They are infinite where a task would fail, which the device then never takes.
        """
        raise PlanError(f"{self.name} gives no order.")

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterator[Commitment]:
        """Let every idle device take a task."""
        for task in held.fresh:
            self._hold(task, cluster)
        if len(self._held) != len(held):  # what could be held no longer was committed for us
            self._held = {identity: entry for identity, entry in self._held.items() if identity in held}
        for device in (*range(1, self._devices), 0):
            identity = self._first(device) if cluster.idle[device] else -1
            if identity >= 0:
                del self._held[identity]
                yield Commitment(identity, self._on(device))

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Where a task would go if it had to be committed now: the device that ends first."""
        return soonest_device(task, cluster)

    def explain(self, task: Task, cluster: ClusterView) -> Mapping[str, Any]:
        """How many tasks are held, and for each device how many of them it likes better."""
        own = self._orders_of(task, cluster)
        better = [
            sum((order[device], other) < (own[device], task.task_id) for other, (_, order) in self._held.items())
            for device in range(self._devices)
        ]
        chosen = self.decide(task, cluster)
        return {
            "reason": self.reason,
            "gpu_fraction": chosen.gpu_fraction,
            "gpu": chosen.gpu,
            "held": len(self._held),
            "held_before_it": min(better),
            "completion_s": cluster.completion_s(task, chosen.gpu_fraction, chosen.gpu or 0),
        }

    def held_rule(self, batch: TaskBatch, seconds: BatchSeconds) -> PullRule | None:
        """The compiled form."""
        terms = self._estimator.batch_terms(batch)._replace(cpu_s=seconds.cpu_s, gpu_s=seconds.gpu_s)
        return PullRule(orders=np.ascontiguousarray(self._all_orders(batch.task_id, batch.arrival_time, terms)))

    def capture(self) -> Mapping[str, Any]:
        """The held tasks with their places in every order."""
        return {"held": list(self._held.values())}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state."""
        self._held = {task.task_id: (task, tuple(orders)) for task, orders in state["held"]}
        for device in range(self._devices):
            self._heaps[device] = [(orders[device], i) for i, (_, orders) in self._held.items()]
            heapify(self._heaps[device])

    def _on(self, device: int) -> Decision:
        return Decision(gpu_fraction=1.0, gpu=device - 1) if device else Decision(gpu_fraction=0.0)

    def _orders_of(self, task: Task, cluster: ClusterView) -> tuple[float, ...]:
        terms = as_batch([cluster.estimator.terms(task)])
        return tuple(self._all_orders(np.array([task.task_id]), np.array([task.arrival_time]), terms)[:, 0].tolist())

    def _all_orders(self, identity: IntColumn, arrival: FloatColumn, terms: BatchTerms) -> FloatColumn:
        rule = terms.memory_rule % NOT_DIVISIBLE
        gpus = zip(terms.gpu_kind, terms.gpu_memory_mb, strict=True)
        never = rule == CPU_ONLY
        fails = rule == MemoryRule.FAIL
        on_gpus = [
            np.where(never | (fails & (terms.memory_mb > mb)), math.inf, terms.gpu_s[:, kind]) for kind, mb in gpus
        ]
        seconds = np.vstack([alone_on_cpu(terms), *on_gpus])
        with np.errstate(invalid="ignore"):  # what would fail has no place in an order
            orders = self.orders(identity, arrival, seconds)
        orders = np.where(np.isinf(seconds), math.inf, orders)
        orders[0, np.isinf(seconds).all(axis=0)] = 0.0  # what can run nowhere fails first
        return orders

    def _hold(self, task: Task, cluster: HeldView) -> None:
        orders = self._orders_of(task, cluster)
        self._held[task.task_id] = (task, orders)
        for device, order in enumerate(orders):
            if order < math.inf:
                heappush(self._heaps[device], (order, task.task_id))

    def _first(self, device: int) -> int:
        """Take out the held task that a device likes best; -1 if it would take none."""
        heap = self._heaps[device]
        while heap:
            order, identity = heappop(heap)
            if identity in self._held and order < math.inf:
                return identity
        return -1
