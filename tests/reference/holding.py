"""Clause C8 in plain Python: ready tasks are held in order, planned by earliest finish, committed if they start now."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from hybrid_ml_scheduler.core import Task, TaskBatch
from hybrid_ml_scheduler.physics.node import Node
from tests.reference import formulas
from tests.reference.simulator import Record, Reference
from tests.reference.strategies import View, completion_s, grid_of

Key = Callable[[Task, float], float]
Score = Callable[[list[float]], float]  # of the completions on all whole devices: who scores least plans next
MEAN_OVER = 1000


@dataclass(frozen=True)
class HeldOrder:
    """An order of held tasks and how they are planned."""

    key: Key
    steps: int = 20
    price: float = 0.0
    longest: tuple[float, ...] = ()
    depth: int = 64
    aging: float = math.inf
    score: Score | None = None
    pull: tuple[float, float, float] | None = None  # slowest, affinity, patience: idle devices take whole tasks


def cpu_alone_s(node: Node, task: Task) -> float:
    """Seconds of the whole task on the CPU; infinite if it runs on GPUs only."""
    return math.inf if task.gpu_only else formulas.cpu_s(node, task)


def fastest_s(node: Node, task: Task, splits: bool) -> float:
    """Seconds at the fastest: the best device, or CPU and best GPU ending together."""
    cpu = cpu_alone_s(node, task)
    gpu = min(formulas.gpu_s(node, task, one, paging=False) for one in node.gpus)
    if math.isinf(cpu):
        return gpu
    return cpu * gpu / (cpu + gpu) if splits else min(cpu, gpu)


class HeldReference(Reference):
    """A holding strategy on one node, run to the end."""

    def __init__(self, batch: TaskBatch, node: Node, order: HeldOrder) -> None:
        super().__init__(batch, node, lambda task, view: (0.0, 0))
        self.order = order
        self.held: list[tuple[float, int]] = []
        self.seen, self.mean_s = 0, 0.0
        self.since: dict[int, float] = {}
        self.overdue: list[int] = []
        self.started, self.mean_wait_s = 0, 0.0

    def run(self) -> list[Record]:
        """Repeat: what finishes now, then what is ready now, then, if either woke the strategy, its dispatch."""
        now = 0.0
        was_busy = [False] * len(self.devices)
        while True:
            self.finish_parts(now)
            is_busy = [bool(device.parts()) for device in self.devices]
            came_free = any(before and not after for before, after in zip(was_busy, is_busy, strict=True))
            if self.hold_ready(now) or (came_free and self.held):
                self.dispatch(now)
            was_busy = [bool(device.parts()) for device in self.devices]
            upcoming = [self.ready_s(task_id) for task_id in self.undecided]
            upcoming += [part.start_s + part.actual_s for device in self.devices if (part := device.running)]
            later = [moment for moment in upcoming if moment > now and moment != math.inf]
            if not later:
                return list(self.records.values())
            now = min(later)

    def hold_ready(self, now: float) -> bool:
        """Move what is ready by now into the held queue, in order of readiness; say whether there was any."""
        ready = sorted((self.ready_s(i), i) for i in self.undecided if self.ready_s(i) <= now)
        for _, task_id in ready:
            task = self.records[task_id].task
            size_s = fastest_s(self.node, task, self.order.steps > 1)
            self.seen += 1
            self.mean_s += (size_s - self.mean_s) / min(self.seen, MEAN_OVER)
            self.held.append((self.order.key(task, size_s), task_id))
            self.since[task_id] = now
            self.undecided.discard(task_id)
        self.held.sort()
        return bool(ready)

    def dispatch(self, now: float) -> None:
        backlog = [device.believed_free_s(now) - now for device in self.devices]
        idle = [not device.parts() for device in self.devices]
        limits = [limit * self.mean_s for limit in self.order.longest] or [math.inf] * len(self.devices)
        if any(idle):
            self.age(now)
        planned: set[int] = set()
        for _ in range(self.order.depth):
            seen = [i for i in self.in_order(now)[: self.order.depth] if i not in planned]
            if not seen or not any(idle):
                return
            task_id = self.next_of(seen, backlog)
            planned.add(task_id)
            fraction, gpu = self.planned(self.records[task_id].task, backlog, limits)
            if self.booked(task_id, fraction, gpu, backlog, idle):
                self.held = [entry for entry in self.held if entry[1] != task_id]
                self.started += 1
                self.mean_wait_s += (now - self.since.pop(task_id) - self.mean_wait_s) / min(self.started, MEAN_OVER)
                self.overdue = [i for i in self.overdue if i != task_id]
                self.commit(task_id, fraction, gpu, now)

    def age(self, now: float) -> None:
        """Who has waited too long is overdue until it starts; no more than a wake looks at."""
        for task_id, since in self.since.items():
            waited_long = now - since >= self.order.aging * (self.mean_s + self.mean_wait_s)
            if waited_long and task_id not in self.overdue and len(self.overdue) < self.order.depth:
                self.overdue.append(task_id)

    def in_order(self, now: float) -> list[int]:
        """The overdue, then all others by key and id."""
        return [*self.overdue, *(i for _, i in sorted(self.held) if i not in self.overdue)]

    def next_of(self, seen: list[int], backlog: list[float]) -> int:
        """The first, or the first of those with the least score."""
        score, view = self.order.score, View(self.node, backlog[0], backlog[1:])
        if score is None:
            return seen[0]
        gpus = [(1.0, gpu) for gpu in range(len(backlog) - 1)]

        def completions(task: Task) -> list[float]:
            on_gpus = [completion_s(task, view, *one) for one in gpus]
            return [math.inf if task.gpu_only else completion_s(task, view, 0.0, 0), *on_gpus]

        return min(seen, key=lambda i: score(completions(self.records[i].task)))

    def booked(self, task_id: int, fraction: float, gpu: int, backlog: list[float], idle: list[bool]) -> bool:
        """Book the devices that a plan uses; say whether a part of it starts at once."""
        part = formulas.split(self.node, self.records[task_id].task, fraction, gpu)
        used = ([0] if part.cpu_s > 0.0 else []) + ([gpu + 1] if part.gpu_s > 0.0 else [])
        starts = any(idle[device] for device in used)
        for device in used:
            idle[device] = False
        if part.cpu_s > 0.0:
            backlog[0] += part.cpu_s
        if part.gpu_s > 0.0:
            waits = self.serial and part.cpu_s > 0.0
            backlog[gpu + 1] = (max(backlog[gpu + 1], backlog[0]) if waits else backlog[gpu + 1]) + part.gpu_s
        return starts

    def planned(self, task: Task, backlog: list[float], limits: list[float]) -> tuple[float, int]:
        view = View(self.node, backlog[0], backlog[1:])
        options = []
        for fraction in [1.0] if task.gpu_only else grid_of(self.order.steps):
            for gpu in range(len(backlog) - 1):
                part = formulas.split(self.node, task, fraction, gpu)
                charge = completion_s(task, view, fraction, gpu) + self.order.price * (part.cpu_s + part.gpu_s)
                fits = part.cpu_s <= limits[0] and part.gpu_s <= limits[gpu + 1]
                options.append((part.failed, not fits, charge, fraction, gpu))
        return min(options)[3:]

    def commit(self, task_id: int, fraction: float, gpu: int, now: float) -> None:
        record = self.records[task_id]
        record.decided, self.decisions = self.decisions, self.decisions + 1
        record.ready_s = self.ready_s(task_id)
        part = formulas.split(self.node, record.task, fraction, gpu)
        record.out_of_memory, record.fraction = part.out_of_memory, part.fraction
        record.gpu = gpu if part.fraction > 0.0 else -1
        record.gang = [gpu]
        self.enqueue(record, part, now)
        self.finish_parts(now)  # an idle device begins at once


Orders = Callable[[Task, list[float]], list[float]]


class PullReference(HeldReference):
    """Idle devices take the held task that they like best: GPUs by number, then the CPU."""

    def __init__(self, batch: TaskBatch, node: Node, orders: Orders) -> None:
        super().__init__(batch, node, HeldOrder(key=lambda task, size_s: 0.0))
        self.orders = orders

    def dispatch(self, now: float) -> None:
        idle = [not device.parts() for device in self.devices]
        for device in [*range(1, len(self.devices)), 0]:
            if not idle[device] or self.devices[device].parts():
                continue
            liked = [(self.liking(i)[device], i) for _, i in self.held if self.liking(i)[device] < math.inf]
            if liked:
                _, task_id = min(liked)
                self.held = [entry for entry in self.held if entry[1] != task_id]
                self.commit(task_id, 1.0 if device else 0.0, max(device - 1, 0), now)

    def liking(self, task_id: int) -> list[float]:
        task = self.records[task_id].task
        on_gpus = [formulas.gpu_s(self.node, task, one, paging=False) for one in self.node.gpus]
        fails = [formulas.split(self.node, task, 1.0, gpu).failed for gpu in range(len(on_gpus))]
        seconds = [math.inf if fail else one for one, fail in zip(on_gpus, fails, strict=True)]
        orders = self.orders(task, [cpu_alone_s(self.node, task), *seconds])
        return [
            math.inf if task.gpu_only else orders[0],
            *(math.inf if fail else order for order, fail in zip(orders[1:], fails, strict=True)),
        ]


class PlanReference(HeldReference):
    """Tasks take their turns on the devices that a plan names: task id -> (turn, fraction, gpu)."""

    def __init__(self, batch: TaskBatch, node: Node, plan: dict[int, tuple[int, float, int]]) -> None:
        super().__init__(batch, node, HeldOrder(key=lambda task, size_s: 0.0))
        self.plan = plan

    def devices_of(self, task_id: int) -> set[int]:
        _, fraction, gpu = self.plan[task_id]
        return ({0} if fraction < 1.0 else set()) | ({gpu + 1} if fraction > 0.0 else set())

    def is_next(self, task_id: int) -> bool:
        waiting = [i for i in self.plan if self.records[i].decided < 0 and self.plan[i][0] < self.plan[task_id][0]]
        return not any(self.devices_of(i) & self.devices_of(task_id) for i in waiting)

    def dispatch(self, now: float) -> None:
        while turn := sorted((self.plan[i][0], i) for _, i in self.held if self.is_next(i)):
            task_id = turn[0][1]
            self.held = [entry for entry in self.held if entry[1] != task_id]
            self.commit(task_id, self.plan[task_id][1], self.plan[task_id][2], now)


class RankReference(HeldReference):
    """Held by the longest way to the end of what has arrived of the graph."""

    def in_order(self, now: float) -> list[int]:
        return sorted((i for _, i in self.held), key=lambda i: (-self.rank(i, now), i))

    def rank(self, task_id: int, now: float) -> float:
        """The way from a task to the end, itself included."""
        size_s = fastest_s(self.node, self.records[task_id].task, splits=True)
        known = [i for i, one in self.records.items() if task_id in one.task.dependencies]
        ways = [self.rank(i, now) for i in known if self.records[i].task.arrival_time <= now]
        return max([size_s + way for way in ways], default=size_s)


class StagedReference(HeldReference):
    """Held in order, planned by the stage that so many ready tasks have reached: (first, order) by rising first."""

    def __init__(self, batch: TaskBatch, node: Node, stages: list[tuple[int, HeldOrder]]) -> None:
        super().__init__(batch, node, stages[0][1])
        self.stages = stages

    def dispatch(self, now: float) -> None:
        self.order = [order for first, order in self.stages if first <= self.seen][-1]
        if self.order.pull is None:
            super().dispatch(now)
            return
        idle = [not device.parts() for device in self.devices]
        for device in [*range(1, len(self.devices)), 0]:
            front = self.in_order(now)[: self.order.depth] if idle[device] else []
            wanted = [(key, i) for i in front if (key := self.pull_key(device, i)) < math.inf]
            if wanted:
                task_id = min(wanted)[1]
                self.held = [entry for entry in self.held if entry[1] != task_id]
                self.commit(task_id, 1.0 if device else 0.0, max(device - 1, 0), now)

    def in_order(self, now: float) -> list[int]:
        """By the keys of the present stage, whenever they were held."""
        tasks = [self.records[task_id].task for _, task_id in self.held]
        return [i for _, i in sorted((self.order.key(t, fastest_s(self.node, t, True)), t.task_id) for t in tasks)]

    def pull_key(self, device: int, task_id: int) -> float:
        """Seconds on the device times a power of how much slower that is than on other sorts, behind the arrival."""
        task, (slowest, affinity, patience) = self.records[task_id].task, self.order.pull or (0.0, 0.0, 0.0)
        seconds = [cpu_alone_s(self.node, task)]
        for gpu in range(len(self.node.gpus)):
            part = formulas.split(self.node, task, 1.0, gpu)
            seconds.append(math.inf if part.failed or part.gpu_s <= 0.0 else part.gpu_s)
        own = seconds[device]
        if math.isinf(own) or own > slowest * min(seconds):
            return math.inf
        sorts = ["cpu", *(self.node.gpus[gpu] for gpu in range(len(self.node.gpus)))]
        others = [one for one, sort in zip(seconds, sorts, strict=True) if sort != sorts[device]]
        score = own * (own / min(others)) ** affinity if affinity else own
        return task.arrival_time + patience * score if patience else score

    def hold_ready(self, now: float) -> bool:
        self.order = replace(self.order, steps=20)  # sizes are those of the best cut, whatever the stage
        return super().hold_ready(now)
