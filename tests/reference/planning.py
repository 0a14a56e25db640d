"""Plans in plain Python, from the papers: HEFT, PEFT, the linear programme's classes, and the best of all orders.

A plan is task id -> (turn, fraction, gpu), as `PlanReference` carries it out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.physics.node import CoExecution, Node
from tests.reference import formulas
from tests.reference.holding import PlanReference, fastest_s
from tests.reference.strategies import grid_of

Plan = dict[int, tuple[int, float, int]]


class Planning:
    """Everything about one batch that is known at once on one node."""

    def __init__(self, batch: TaskBatch, node: Node) -> None:
        self.batch, self.node = batch, node
        self.tasks = {task.task_id: task for task in batch}
        self.children: dict[int, list[int]] = {i: [] for i in self.tasks}
        for i, task in self.tasks.items():
            for parent in task.dependencies:
                self.children[parent].append(i)

    def costs(self, i: int) -> list[float]:
        """Seconds on the CPU and on every GPU."""
        on_gpus = [formulas.gpu_s(self.node, self.tasks[i], gpu, paging=False) for gpu in self.node.gpus]
        return [formulas.cpu_s(self.node, self.tasks[i]), *on_gpus]

    def mean_s(self, i: int) -> float:
        usable = self.costs(i)[1:] if self.tasks[i].gpu_only else self.costs(i)
        return sum(usable[1:], usable[0]) / len(usable)

    def whole_s(self, i: int) -> float:
        return fastest_s(self.node, self.tasks[i], splits=False)

    def split_s(self, i: int) -> float:
        return fastest_s(self.node, self.tasks[i], splits=True)

    def rank(self, i: int, cost: Callable[[int], float]) -> float:
        """The longest way from a task to the end, itself included."""
        return max([cost(i) + self.rank(child, cost) for child in self.children[i]], default=cost(i))

    def minus_rank(self, i: int, cost: Callable[[int], float]) -> float:
        return -self.rank(i, cost)

    def depth(self, i: int) -> int:
        return max([self.depth(parent) + 1 for parent in self.tasks[i].dependencies], default=0)

    def by(self, key: Callable[[int], float]) -> list[int]:
        return sorted(self.tasks, key=lambda i: (key(i), self.depth(i), i))

    def inserted(self, order: list[int], steps: int) -> Plan:
        """Each task in order into the gaps where it is finished first; then the smaller share, then the lower GPU."""
        busy: list[list[tuple[float, float]]] = [[] for _ in range(self.node.num_gpus + 1)]
        found: dict[int, tuple[float, float, float, int]] = {}  # finish, start, fraction, gpu
        for i in order:
            ready = max([found[parent][0] for parent in self.tasks[i].dependencies], default=0.0)
            options = [
                (self.placed(i, fraction, gpu, ready, busy), fraction, gpu)
                for fraction in grid_of(steps)
                for gpu in range(self.node.num_gpus)
            ]
            (finish, parts), wanted, gpu = min(options, key=lambda option: (option[0][0], *option[1:]))
            for device, start, end in parts:
                busy[device].append((start, end))
            fraction = formulas.split(self.node, self.tasks[i], wanted, gpu).fraction
            found[i] = (finish, min(start for _, start, _ in parts), fraction, gpu)
        turns = sorted(self.tasks, key=lambda i: (found[i][1], self.depth(i)))
        return {i: (turns.index(i), found[i][2], found[i][3]) for i in self.tasks}

    def placed(
        self, i: int, fraction: float, gpu: int, ready: float, busy: list[list[tuple[float, float]]]
    ) -> tuple[float, list[tuple[int, float, float]]]:
        """When a share would be finished, and which device would be busy from when to when."""
        part = formulas.split(self.node, self.tasks[i], fraction, gpu)
        if part.failed:
            return math.inf, []
        finish, parts = ready, []
        if part.cpu_s > 0.0:
            start = first_gap(busy[0], ready, part.cpu_s)
            finish = start + part.cpu_s
            parts.append((0, start, finish))
        if part.gpu_s > 0.0:
            serial = self.node.co_execution == CoExecution.SERIAL
            start = first_gap(busy[gpu + 1], finish if serial else ready, part.gpu_s)
            parts.append((gpu + 1, start, start + part.gpu_s))
            finish = max(finish, start + part.gpu_s)
        return finish, parts

    def heft(self, steps: int = 1) -> Plan:
        """By upward rank over mean costs; over the best cut where tasks are cut."""
        cost = self.split_s if steps > 1 else self.mean_s
        return self.inserted(self.by(lambda i: -self.rank(i, cost)), steps)

    def peft(self) -> Plan:
        """Of those whose parents are planned, the one with the longest optimistic way below it comes next."""
        order: list[int] = []
        while len(order) < len(self.tasks):
            ready = [
                i for i, task in self.tasks.items() if i not in order and all(p in order for p in task.dependencies)
            ]
            order.append(min(ready, key=lambda i: (-(self.rank(i, self.whole_s) - self.whole_s(i)), i)))
        return self.inserted(order, 1)

    def lp_classes(self) -> Plan:
        """The classes of the linear programme, longest first; a graph by the rank of the best devices."""
        if self.batch.has_dependencies:
            return self.inserted(self.by(lambda i: -self.rank(i, self.whole_s)), 1)
        cpu = {i: math.inf if self.tasks[i].runs_on == "gpu" else self.costs(i)[0] for i in self.tasks}
        gpu = {i: self.shared_s(i) for i in self.tasks}
        shares = self.shares(cpu, gpu)
        longest = sorted(self.tasks, key=lambda i: (-min(cpu[i], gpu[i]), i))
        is_cut = {i: 0.0 < shares[i] < 1.0 for i in self.tasks}
        free, gpus = [0.0] * self.node.num_gpus, dict.fromkeys(self.tasks, 0)
        for i in sorted(longest, key=lambda i: not is_cut[i]):
            parts = [formulas.split(self.node, self.tasks[i], shares[i], one) for one in range(len(free))]
            ends = [free[one] + part.gpu_s for one, part in enumerate(parts) if not part.out_of_memory]
            if shares[i] > 0.0 and ends:
                fitting = [one for one, part in enumerate(parts) if not part.out_of_memory]
                end, gpus[i] = min(zip(ends, fitting, strict=True))
                free[gpus[i]] = end
            else:
                shares[i] = 0.0
        turns = sorted(longest, key=lambda i: not 0.0 < shares[i] < 1.0)
        return {i: (turns.index(i), shares[i], gpus[i]) for i in self.tasks}

    def shared_s(self, i: int) -> float:
        """Seconds on one GPU if all that have room for a task worked at it at their pace on the average."""
        task, rate = self.tasks[i], 0.0
        for gpu, seconds in zip(self.node.gpus, self.costs(i)[1:], strict=True):
            rate += 1.0 / seconds if task.memory_required <= gpu.memory_mb else 0.0
        return self.node.num_gpus / rate if rate else math.inf

    def shares(self, cpu: dict[int, float], gpu: dict[int, float]) -> dict[int, float]:
        """The CPU takes what gains least from a GPU until it is as busy as the GPUs; one task is cut."""
        found, count = dict.fromkeys(self.tasks, 1.0), self.node.num_gpus
        on_cpu, on_gpus = 0.0, sum((one for one in gpu.values() if one < math.inf), 0.0)
        for i in sorted(self.tasks, key=lambda i: (cpu[i] / gpu[i], i)):
            rest = on_gpus if gpu[i] == math.inf else on_gpus - gpu[i]
            if gpu[i] == math.inf or on_cpu + cpu[i] <= rest / count:
                found[i], on_cpu, on_gpus = 0.0, on_cpu + cpu[i], rest
                continue
            share = (on_cpu + cpu[i] - rest / count) / (cpu[i] + gpu[i] / count)
            if share < 1.0:
                found[i] = share if self.tasks[i].divisible else float(share >= 0.5)
            break
        return found

    def best_of(self) -> Plan:
        """Of the plans of all orders, whole and cut, the first one that ends first."""
        costs = (self.mean_s, self.whole_s, self.split_s)
        keys: list[Callable[[int], float]] = [partial(self.minus_rank, cost=cost) for cost in costs]
        if not self.batch.has_dependencies:
            keys += [self.whole_s, self.split_s]
        plans = [self.inserted(self.by(key), steps) for key in keys for steps in (1, 20)]
        if not self.batch.has_dependencies:
            plans.append(self.lp_classes())
        return min(plans, key=self.end_s)

    def end_s(self, plan: Plan) -> float:
        """When a plan ends if every task takes as long as estimated and all come at zero."""
        nothing, same = np.zeros(len(self.tasks)), np.ones(len(self.tasks))
        batch = replace(self.batch, arrival_time=nothing, duration_factor=same)
        return max(record.finish_s for record in PlanReference(batch, self.node, plan).run())


def first_gap(busy: list[tuple[float, float]], ready: float, seconds: float) -> float:
    """The earliest moment from `ready` on at which a device has so many seconds free."""
    start = ready
    for begin, end in sorted(busy):
        if start + seconds <= begin:
            break
        start = max(start, end)
    return start
