"""The devices of one strategy where they slow each other down: a part's end is known only when it has come.

What a strategy is told is what it is told elsewhere: seconds of tasks alone, and backlogs that are put right whenever
a part ends early or late.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from hybrid_ml_scheduler.cluster.devices import BacklogView, Device
from hybrid_ml_scheduler.cluster.interference import rescale
from hybrid_ml_scheduler.cluster.learned_estimator import LearnedEstimator
from hybrid_ml_scheduler.cluster.stepping import Cluster
from hybrid_ml_scheduler.core.decisions import NO_GPU, Decision, Outcome
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.tasks import Task
from hybrid_ml_scheduler.physics.estimator import TruthFactor, is_rounded
from hybrid_ml_scheduler.physics.interference import slowdown_of
from hybrid_ml_scheduler.physics.node import CoExecution, Node

__all__ = ["EndedPart", "EventCluster"]

_NAN = math.nan


@dataclass(slots=True)
class _Part:
    """A queued or running part: its true seconds alone, what it was believed to take, and when it began."""

    task_id: int
    turn: int
    seconds: float
    estimate_s: float
    factors: tuple[float, float, float]
    start_s: float = _NAN


@dataclass(frozen=True, slots=True)
class EndedPart:
    """A part that has ended: whose it was, where, when it began, the seconds it took, and whether its server idles."""

    task_id: int
    on_cpu: bool
    start_s: float
    seconds: float
    leaves_idle: bool


class _Line(Device):
    """A device whose parts begin and end when they are told to; what is promised to its queue is as everywhere."""

    __slots__ = ()

    def wait(self, estimate_s: float, task_id: int, now_s: float) -> None:
        """Queue a part whose start and end nobody knows."""
        self.append(math.inf, math.inf, estimate_s, 0.0, task_id, now_s)

    def begin(self, now_s: float) -> None:
        """The first part starts."""
        self._queue[0] = (now_s, *self._queue[0][1:])

    def end(self) -> None:
        """The first part is done."""
        self._queue.popleft()


class EventCluster(Cluster):
    """Servers (the slots of the CPU, then the GPUs) with one part each, and a queue for the CPU and for every GPU."""

    __slots__ = ("_ends_s", "_ends_told_s", "_factors", "_left", "_lines", "_numbers", "_parts", "_queues", "_row",
                 "_since", "_slower", "_turn", "num_slots")  # fmt: skip

    def __init__(self, node: Node, estimator: LearnedEstimator | None = None, *, sees_ends: bool = True) -> None:
        if node.co_execution == CoExecution.SERIAL:
            raise PlanError("physics.interference does not go with co_execution = serial.")
        super().__init__(node, estimator=estimator, sees_ends=sees_ends)
        self.num_slots = node.cpu.slots
        self._lines = [_Line(60.0) for _ in range(node.num_gpus + 1)]
        for line in self._lines:
            line.expect_noise(0.0)
        self._queues: list[deque[_Part]] = [deque() for _ in self._lines]
        servers = self.num_slots + node.num_gpus
        self._parts: list[_Part | None] = [None] * servers
        self._numbers = np.arange(servers)
        self._row = np.full(servers, -1)
        self._left, self._slower, self._since = np.zeros(servers), np.ones(servers), np.zeros(servers)
        self._factors = np.ones((3, servers))
        self._ends_s: list[float] = []
        self._ends_told_s = _NAN
        self._turn = 0

    def view(self, now_s: float) -> BacklogView:
        """The backlogs as they are believed to be at this moment."""
        if self.books is not None:
            return super().view(now_s)
        cpu, *gpus = (line.estimated_end_s(now_s) - now_s for line in self._lines)
        if self.num_slots > 1:
            cpu = self._slot_end_s(now_s) - now_s
        view = self._view
        view.now_s, view.cpu_backlog_s, view.gpu_backlogs_s = now_s, cpu, gpus
        return view

    def view_for(self, task: Task, now_s: float) -> BacklogView:
        """The same; a task that needs several GPUs at once is refused here."""
        if task.gpus_required > 1:
            raise PlanError(
                f"physics.interference does not go with tasks for several GPUs at once (task {task.task_id})."
            )
        return self.view(now_s)

    def _slot_end_s(self, now_s: float) -> float:
        """When the first slot of the CPU is believed to take another part."""
        if self._ends_told_s != now_s:
            running = self._parts[: self.num_slots]
            self._ends_s = [now_s if one is None else max(now_s, one.start_s + one.estimate_s) for one in running]
            heapq.heapify(self._ends_s)
            for part in self._queues[0]:
                heapq.heapreplace(self._ends_s, self._ends_s[0] + part.estimate_s)
            self._ends_told_s = now_s
        return self._ends_s[0]

    def idle_devices(self, now_s: float) -> list[bool]:
        """Which devices could begin at once, the CPU first."""
        return [any(part is None for part in self._servers(line)) for line in range(len(self._lines))]

    def _is_single(self, line: int) -> bool:
        return line > 0 or self.num_slots == 1

    def _servers(self, line: int) -> list[_Part | None]:
        return self._parts[: self.num_slots] if line == 0 else [self._parts[self.num_slots + line - 1]]

    def place(self, task: Task, decision: Decision, view: BacklogView, factor: TruthFactor = 1.0) -> Outcome:
        """Queue the parts of a decided task; what is returned holds its seconds alone, and no start and finish yet."""
        gpu = self.chosen_gpu(task, decision, view)
        if isinstance(factor, tuple):
            cpu_factor, gpu_factor = factor[0], factor[1 + self._gpu_kinds[gpu]]
        else:
            cpu_factor = gpu_factor = factor
        fraction, cpu_part, gpu_part, out_of_memory, failed = self.estimator.parts(task, decision.gpu_fraction, gpu)
        now, rounded = view.now_s, is_rounded(task, decision.gpu_fraction)
        if failed:
            return self.failed_outcome(task, now, fraction, rounded=rounded)
        cpu_true, gpu_true = cpu_part, gpu_part
        if self._learns:
            _, cpu_true, gpu_true, _, _ = self.estimator.true_parts(task, decision.gpu_fraction, gpu)
        cpu_s, gpu_s = cpu_true * cpu_factor, gpu_true * gpu_factor
        self._turn += 1
        factors = slowdown_of(self.node.interference, task.kind).factors
        for line, believed, true in ((0, cpu_part, cpu_s), (gpu + 1, gpu_part, gpu_s)):
            if believed > 0.0:
                self._queue(line, _Part(task.task_id, self._turn, true, believed, factors), now)
        if self.books is not None:
            self.books.enter(now, cpu_part, gpu_part, (gpu,), serial=False)
        return Outcome(
            task_id=task.task_id,
            gpu_fraction=fraction,
            gpu=gpu if gpu_part > 0.0 else NO_GPU,
            arrival_s=task.arrival_time,
            ready_s=now,
            cpu_start_s=_NAN,
            gpu_start_s=_NAN,
            finish_s=_NAN,
            execution_s=max(cpu_s, gpu_s),
            cpu_s=cpu_s,
            gpu_s=gpu_s,
            energy_j=_NAN,
            cost_usd=_NAN,
            out_of_memory=out_of_memory,
            failed=False,
            rounded=rounded,
        )

    def settled_outcome(self, outcome: Outcome, parts: list[EndedPart]) -> Outcome:
        """What came of a task whose parts have all ended."""
        on = {part.on_cpu: part for part in parts}
        cpu, gpu = on.get(True), on.get(False)
        cpu_s, gpu_s = cpu.seconds if cpu else 0.0, gpu.seconds if gpu else 0.0
        energy_j, cost_usd = self._tariff.charges(cpu_s, gpu_s, outcome.gpu)
        return outcome._replace(
            cpu_start_s=cpu.start_s if cpu else _NAN,
            gpu_start_s=gpu.start_s if gpu else _NAN,
            execution_s=max(cpu_s, gpu_s),
            cpu_s=cpu_s,
            gpu_s=gpu_s,
            energy_j=energy_j,
            cost_usd=cost_usd,
        )

    def _queue(self, line: int, part: _Part, now_s: float) -> None:
        self._queues[line].append(part)
        if self._is_single(line):
            self._lines[line].wait(part.estimate_s, part.task_id, now_s)
        elif self._ends_told_s == now_s:
            heapq.heapreplace(self._ends_s, self._ends_s[0] + part.estimate_s)
        if self._begin(line, now_s):
            self._rescale(now_s)

    def _begin(self, line: int, now_s: float) -> bool:
        """Let the first part of a queue begin if a server of its device is idle; say whether it did."""
        first = 0 if line == 0 else self.num_slots + line - 1
        for server in range(first, first + (self.num_slots if line == 0 else 1)):
            if self._parts[server] is None and self._queues[line]:
                part = self._queues[line].popleft()
                part.start_s, self._parts[server], self._row[server] = now_s, part, server
                self._left[server], self._slower[server], self._since[server] = part.seconds, 1.0, now_s
                self._factors[:, server] = part.factors
                if self._is_single(line):
                    self._lines[line].begin(now_s)
                return True
        return False

    def _rescale(self, now_s: float) -> None:
        rescale(
            now_s, self.num_slots, self._row, self._left, self._slower, self._since, self._numbers, *self._factors
        )  # fmt: skip

    def next_end(self) -> tuple[float, int]:
        """When the next part ends, and on which server; of several at one instant, the one decided first."""
        found, server = (math.inf, 0), -1
        for index, part in enumerate(self._parts):
            if part is not None:
                ends_s = float(self._since[index] + self._left[index] * self._slower[index])
                if (ends_s, part.turn) < found:
                    found, server = (ends_s, part.turn), index
        return found[0], server

    def end(self, server: int, now_s: float) -> EndedPart:
        """A part ends, and the next one of its queue begins."""
        part = self._parts[server]
        assert part is not None
        untouched = self._left[server] == part.seconds and self._slower[server] == 1.0
        self._parts[server], self._row[server] = None, -1
        line = 0 if server < self.num_slots else server - self.num_slots + 1
        if self._is_single(line):
            self._lines[line].end()
        self._ends_told_s = _NAN
        self._begin(line, now_s)
        self._rescale(now_s)
        # The very seconds that were asked for where nothing came between: a difference of moments would round them.
        seconds = part.seconds if untouched else now_s - part.start_s
        return EndedPart(part.task_id, line == 0, part.start_s, seconds, self._parts[server] is None)
