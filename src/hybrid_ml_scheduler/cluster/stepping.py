"""The stepping form of the cluster: places one decided part at a time, same semantics as the kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any

import numpy as np

from hybrid_ml_scheduler.cluster.books import Books
from hybrid_ml_scheduler.cluster.devices import BacklogView, Device, QueuedPart
from hybrid_ml_scheduler.cluster.learned_estimator import LearnedEstimator
from hybrid_ml_scheduler.core.compiled import python_function
from hybrid_ml_scheduler.core.decisions import NO_GPU, Decision, Outcome, outcome_of
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.core.tasks import FloatColumn, IntColumn, Task
from hybrid_ml_scheduler.engine.columns import RunColumns, gang_of
from hybrid_ml_scheduler.physics import placement
from hybrid_ml_scheduler.physics.estimator import PhysicsEstimator, TruthFactor, is_rounded
from hybrid_ml_scheduler.physics.gangs import check_width, gang_backlogs
from hybrid_ml_scheduler.physics.node import Node

__all__ = ["Cluster"]

_NAN = math.nan
_free_s: Callable[[Device], float] = attrgetter("free_s")
# The very same function, uncompiled: for one task, crossing into compiled code costs more than its few operations.
_place = python_function(placement.place)
_ALONE: Mapping[int, Device] = {}  # a part that has no fellows on other GPUs


class Cluster:
    """The devices of one strategy, with their queues."""

    __slots__ = (
        "_gpu_kinds", "_has_slots", "_learns", "_serial", "_slots", "_tariff", "_view", "books", "devices", "estimator",
        "node",
    )  # fmt: skip

    def __init__(
        self,
        node: Node,
        *,
        window_s: float = 60.0,
        estimator: PhysicsEstimator | LearnedEstimator | None = None,
        sees_ends: bool = True,
    ) -> None:
        self.node = node
        self.estimator = PhysicsEstimator(node) if estimator is None else estimator
        # The CPU, the GPUs, then the further slots of the CPU, if it has any.
        self.devices = [Device(window_s) for _ in range(node.num_gpus + node.cpu.slots)]
        self._slots = [self.devices[0], *self.devices[node.num_gpus + 1 :]]
        self._has_slots = len(self._slots) > 1
        self._gpu_kinds = self.estimator.gpu_kind.tolist()
        self._learns = isinstance(estimator, LearnedEstimator)
        if self._learns:
            for device in self.devices:  # what is learned is never quite the truth
                device.expect_noise(0.0)
        self._serial = self.estimator.serial
        self._tariff = self.estimator.tariff
        self._view = BacklogView(self.estimator)
        self.books = None if sees_ends else Books(node.num_gpus, node.cpu.slots)

    def view(self, now_s: float) -> BacklogView:
        """The backlogs at this moment; the same object is refreshed and returned each time."""
        if self.books is not None:
            gpus = self.books.backlogs_s(now_s)
        elif self.devices[0].is_exact:  # then they all are: noise is met by all of them at once
            gpus = [free_s - now_s if (free_s := device.free_s) > now_s else 0.0 for device in self.devices]
        else:
            gpus = [device.estimated_end_s(now_s) - now_s for device in self.devices]
        view = self._view
        view.now_s, view.cpu_backlog_s, view.gpu_backlogs_s = now_s, gpus.pop(0), gpus
        if self._has_slots:
            further = 1 - len(self._slots)
            view.cpu_backlog_s, view.gpu_backlogs_s = min(view.cpu_backlog_s, *gpus[further:]), gpus[:further]
        return view

    def view_for(self, task: Task, now_s: float) -> BacklogView:
        """The same as a task sees it: one that needs several GPUs is told when each and its fellows are free."""
        view = self.view(now_s)
        self._tell_gang(task, view)
        return view

    def _tell_gang(self, task: Task, view: BacklogView) -> None:
        if task.gpus_required > 1:
            known, backlogs = self.estimator, np.array(view.gpu_backlogs_s)
            leads, room = np.empty_like(backlogs), np.empty_like(backlogs)
            check_width(task.task_id, task.gpus_required, len(backlogs))
            gang_backlogs(
                task.gpus_required, known.gpu_kind, known.kind_counts, known.gpu_memory_mb, backlogs, leads, room
            )
            view.gpu_backlogs_s = leads.tolist()

    def foreseen_view(self, at_s: float, task: Task | None = None) -> BacklogView:
        """The backlogs as they will be at a later moment if nothing comes; unlike `view`, it lets no time pass.

        With a task, they are as that one will see them (`view_for`).
        """
        if self.books is not None:
            backlogs = self.books.backlogs_s(at_s)
        else:
            backlogs = [device.foreseen_end_s(at_s) - at_s for device in self.devices]
        gpus, further = backlogs[1 : self.node.num_gpus + 1], backlogs[self.node.num_gpus + 1 :]
        view = BacklogView(self.estimator, at_s, min(backlogs[0], *further, math.inf), gpus)
        if task is not None:
            self._tell_gang(task, view)
        return view

    def place(self, task: Task, decision: Decision, view: BacklogView, factor: TruthFactor = 1.0) -> Outcome:
        """Queue the parts of a decided task and return what will come of it; the factor is the truth's."""
        gpu = self.chosen_gpu(task, decision, view)
        fraction, cpu_part, gpu_part, out_of_memory, failed = self.estimator.parts(task, decision.gpu_fraction, gpu)
        now, identity = view.now_s, task.task_id
        rounded = is_rounded(task, decision.gpu_fraction)
        if failed:
            return self.failed_outcome(task, now, fraction, rounded=rounded)
        cpu_factor, gpu_factor = (1.0, 1.0) if factor == 1.0 else self._met_factors(factor, gpu, now)
        cpu_device, gpu_device, serial = self.devices[0], self.devices[gpu + 1], self._serial
        if self._has_slots:
            cpu_device = min(self._slots, key=_free_s)  # the first of those that are free first
        gpu_free_s, fellows = gpu_device.free_s, _ALONE
        if task.gpus_required > 1 and gpu_part > 0.0:
            fellows = self._gang(task, gpu, now)
            gpu_free_s = max(gpu_free_s, *map(_free_s, fellows.values()))
        cpu_true, gpu_true = cpu_part, gpu_part
        if self._learns:
            _, cpu_true, gpu_true, _, _ = self.estimator.true_parts(task, decision.gpu_fraction, gpu)
        cpu_start, gpu_start, finish, cpu_s, gpu_s, cpu_end, gpu_end = _place(
            now, cpu_device.free_s, gpu_free_s, cpu_true, gpu_true, cpu_factor, gpu_factor, serial
        )
        not_before = 0.0
        if cpu_part > 0.0:
            not_before = self._cpu_end_s(now) + cpu_part if serial else 0.0
            cpu_device.append(cpu_start, cpu_end, cpu_part, 0.0, identity, now)
        if gpu_part > 0.0:
            if fellows is not _ALONE:
                together = (gpu_device, *fellows.values())
                not_before = max(device.estimated_end_s(now) for device in together)
                for device in fellows.values():
                    device.append(gpu_start, gpu_end, gpu_part, not_before, identity, now)
            gpu_device.append(gpu_start, gpu_end, gpu_part, not_before, identity, now)
        if self.books is not None:
            self.books.enter(now, cpu_part, gpu_part, (gpu, *fellows), serial=serial)
        gpu = gpu if gpu_part > 0.0 else NO_GPU
        execution_s = cpu_s + gpu_s if serial else (cpu_s if cpu_s > gpu_s else gpu_s)
        energy_j, cost_usd = self._tariff.charges(cpu_s, gpu_s, gpu)
        if fellows is not _ALONE:
            energy_j, cost_usd = self._tariff.gang_charges(gpu_s, (gpu, *fellows))
        return outcome_of((
            identity, fraction, gpu, task.arrival_time, now, cpu_start, gpu_start, finish,
            execution_s, cpu_s, gpu_s, energy_j, cost_usd, out_of_memory, False, rounded,
            () if fellows is _ALONE else tuple(fellows),
        ))  # fmt: skip

    def _met_factors(self, factor: TruthFactor, gpu: int, now_s: float) -> tuple[float, float]:
        """By how much the parts on the CPU and on this GPU really take longer; where they do, nothing stays exact."""
        factors = (factor[0], factor[1 + self._gpu_kinds[gpu]]) if isinstance(factor, tuple) else (factor, factor)
        if self.devices[0].is_exact and factors != (1.0, 1.0):
            # Noise on one device moves parts on others too (serial co-execution), so none stays exact.
            for device in self.devices:
                device.expect_noise(now_s)
        return factors

    def _gang(self, task: Task, lead: int, now_s: float) -> Mapping[int, Device]:
        """The GPUs that a gang gets besides its leader, by rising id."""
        if self.books is not None:
            backlogs = self.books.backlogs_s(now_s)
        else:
            backlogs = [device.estimated_end_s(now_s) - now_s for device in self.devices]
        backlogs = backlogs[1 : self.node.num_gpus + 1]
        return {gpu: self.devices[gpu + 1] for gpu in self.estimator.gang(task, lead, backlogs)}

    def _cpu_end_s(self, now_s: float) -> float:
        """When the CPU is believed to take another part."""
        return min(device.estimated_end_s(now_s) for device in self._slots)

    @property
    def is_exact(self) -> bool:
        """Whether noise has played no part, so that what is promised is what will be."""
        return all(device.is_exact for device in self.devices)

    def idle_devices(self, now_s: float) -> list[bool]:
        """Which devices could begin at once, the CPU first."""
        idle = [device.free_s <= now_s for device in self.devices[: self.node.num_gpus + 1]]
        idle[0] = any(device.free_s <= now_s for device in self._slots)
        return idle

    def free_s(self) -> FloatColumn:
        """When each device is free, the CPU first."""
        return np.array([device.free_s for device in self.devices])

    def queue(self, task_ids: IntColumn, placed: RunColumns) -> None:
        """Queue the parts of tasks that were placed elsewhere on these devices, without noise and in order."""
        serial = self._serial
        parts: list[list[QueuedPart]] = [[] for _ in self.devices]
        columns = (placed.gpu, placed.cpu_start_s, placed.cpu_s, placed.gpu_start_s, placed.gpu_s)
        slot_free = {self.devices.index(device): device.free_s for device in self._slots}
        for row, (identity, gpu, cpu_start, cpu_s, gpu_start, gpu_s) in enumerate(
            zip(task_ids.tolist(), *(column.tolist() for column in columns), strict=True)
        ):
            not_before = 0.0
            if cpu_s > 0.0:
                end = cpu_start + cpu_s
                slot = min(slot_free, key=slot_free.__getitem__) if len(slot_free) > 1 else 0
                slot_free[slot] = end
                parts[slot].append((cpu_start, end, cpu_s, 0.0, end, identity))
                not_before = end if serial else 0.0
            if gpu_s > 0.0:
                end = gpu_start + gpu_s
                gang = gang_of(placed.gang[row]) if placed.gang.size else ()
                for one in (gpu, *gang):  # no noise: a gang is believed to start when it does
                    gate = gpu_start if gang else not_before
                    parts[one + 1].append((gpu_start, end, gpu_s, gate, end, identity))
        now_s = float(placed.ready_s[-1])
        for device, own in zip(self.devices, parts, strict=True):
            device.extend(own, now_s)
        if self.books is not None:  # as long as there was no noise, devices are free when it is believed
            self.books.ends_s = [device.free_s for device in self.devices]

    def failed_outcome(
        self, task: Task, now_s: float, fraction: float = 0.0, *, by_parent: bool = False, rounded: bool = False
    ) -> Outcome:
        """The outcome of a task that cannot run."""
        return Outcome(
            task_id=task.task_id,
            gpu_fraction=fraction,
            gpu=NO_GPU,
            arrival_s=task.arrival_time,
            ready_s=now_s,
            cpu_start_s=_NAN,
            gpu_start_s=_NAN,
            finish_s=_NAN,
            execution_s=_NAN,
            cpu_s=0.0,
            gpu_s=0.0,
            energy_j=0.0,
            cost_usd=0.0,
            out_of_memory=not by_parent,
            failed=True,
            rounded=rounded,
        )

    def chosen_gpu(self, task: Task, decision: Decision, view: BacklogView) -> int:
        """Check a decision and fill in the GPU it left open."""
        if not isinstance(decision, Decision):
            raise SchedulerError(f"task {task.task_id}: decide returned {type(decision).__name__}, not a Decision.")
        fraction, gpu, _ = decision
        if not 0.0 <= fraction <= 1.0:
            raise SchedulerError(f"task {task.task_id}: gpu_fraction = {fraction} is outside [0, 1].")
        if gpu is None:
            return view.least_loaded_gpu
        if not 0 <= gpu < len(view.gpu_backlogs_s):
            raise SchedulerError(f"task {task.task_id}: there is no GPU {gpu} on this node.")
        return gpu

    def utilization(self, now_s: float, *, recent: bool) -> dict[str, float]:
        """The busy share of each device over the last window, or since time zero."""
        if recent:
            return self._by_device(lambda device: device.recent_utilization(now_s), mean=True)
        if now_s <= 0.0:
            return dict.fromkeys(self.node.device_names, 0.0)
        return self._by_device(lambda device: device.busy_s(now_s) / now_s, mean=True)

    def _by_device(self, ask: Callable[[Device], float], *, mean: bool) -> dict[str, float]:
        """One figure of each device by its name; the CPU's is the sum over its slots, or the mean of them."""
        found = dict(zip(self.node.device_names, map(ask, self.devices), strict=False))
        if len(self._slots) > 1:
            found["cpu"] = sum(map(ask, self._slots)) / (len(self._slots) if mean else 1)
        return found

    def queue_lengths(self, now_s: float) -> dict[str, int]:
        """How many parts wait or run on each device."""
        lengths = self._by_device(lambda device: device.queue_length(now_s), mean=False)
        return {name: int(length) for name, length in lengths.items()}

    def capture(self, now_s: float) -> Mapping[str, Any]:
        """The whole state as plain values."""
        books = None if self.books is None else list(self.books.ends_s)
        return {"devices": [device.capture(now_s) for device in self.devices], "books": books}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured state."""
        for device, saved in zip(self.devices, state["devices"], strict=True):
            device.restore(saved)
        if self.books is not None:
            self.books.ends_s = list(state["books"])
