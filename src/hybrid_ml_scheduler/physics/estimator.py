"""What strategies may believe about a task: exact physics or the trace's times, never how long it will really take."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from hybrid_ml_scheduler.core.compiled import python_function
from hybrid_ml_scheduler.core.decisions import FAILED, FITTED, NO_GPU, Parts, parts_of
from hybrid_ml_scheduler.core.tasks import FloatColumn, Task, TaskBatch
from hybrid_ml_scheduler.core.terms import BatchTerms, TaskTerms
from hybrid_ml_scheduler.physics import choices, formulas
from hybrid_ml_scheduler.physics.durations import batch_terms, durations, gpu_kinds, gpu_only_code, not_measured
from hybrid_ml_scheduler.physics.energy import Tariff
from hybrid_ml_scheduler.physics.gangs import check_width, gang_members, gang_seconds, kind_counts, pool_memory_mb
from hybrid_ml_scheduler.physics.node import CPU_ONLY, WHOLE, CoExecution, MemoryRule, Node

__all__ = ["PhysicsEstimator", "TaskSeconds", "TruthFactor", "is_plain", "is_rounded", "is_whole", "rule_code"]

# How many times its durations a task really takes: one number everywhere, or the CPU's and one for each kind of GPU.
TruthFactor = float | tuple[float, ...]

# The very same functions, uncompiled: for one task, crossing into compiled code costs more than their few operations.
_resolve = python_function(formulas.resolve)
_whole_share = python_function(formulas.whole_share)
_NO_PAGED = np.empty(0)
_MOST_MEASURED = 8192


def is_whole(task: Task) -> bool:
    """Whether a task must not be cut."""
    return not task.divisible or task.gpus_required != 1


def is_rounded(task: Task, fraction: float) -> bool:
    """Whether a task does not allow the share that was decided: it must not be cut, or runs on GPUs only."""
    return fraction < 1.0 and (task.gpu_only or (not task.divisible and fraction > 0.0))


def rule_code(task: Task, memory_rule: int) -> int:
    """What a task allows, in the code of the compiled forms."""
    if task.gpus_required == 0:
        return CPU_ONLY + WHOLE
    if task.gpu_only:
        return gpu_only_code(memory_rule)
    return memory_rule + WHOLE if is_whole(task) else memory_rule


def is_plain(task: Task) -> bool:
    """Whether a task runs on one GPU and has no times of its own, so that the formula gives its durations."""
    is_timed = task.cpu_time is not None or task.gpu_time is not None or task.gpu_times
    return not is_timed and task.gpus_required == 1 and not task.fp32


class TaskSeconds(NamedTuple):
    """Durations of one task: the CPU, and every kind of GPU (fitting and paged)."""

    cpu_s: float
    gpu_s: tuple[float, ...]
    paged_s: tuple[float, ...] = ()


class PhysicsEstimator:
    """The estimator over a node's physics; remembers the last task, since several questions follow one another."""

    learns = False

    def __init__(self, node: Node) -> None:
        self.node = node
        self.tariff = Tariff(node)
        self.serial = node.co_execution == CoExecution.SERIAL
        self.memory_rule = int(node.memory_rule)
        self.gpu_memory_mb = node.gpu_column("memory_mb")
        self._representatives, self.gpu_kind = gpu_kinds(node)
        self._kind_list = self.gpu_kind.tolist()
        self._memory_list = self.gpu_memory_mb.tolist()
        self.kind_counts = kind_counts(self.gpu_kind)
        self._curves = None if node.curves is None else node.curves.logs()
        kinds = [node.gpus[index] for index in self._representatives]
        self._kinds = np.array(
            [(one.dense_speed, one.stream_speed, one.speed, one.bandwidth_mb_s, one.launch_s) for one in kinds],
            dtype=np.float64,
        )
        self._scratch = np.empty(1 + len(kinds))
        self._law = int(node.speedup_law)
        self._cpu_speed = node.cpu.speed
        self._has_formula = self._curves is None and node.memory_rule != MemoryRule.PAGE
        self._task: Task | None = None
        self._seconds = TaskSeconds(0.0, ())
        # The seconds of a waiting task: a strategy asks about it again long after they were handed in.
        self.waiting_seconds: Callable[[int], TaskSeconds | None] = lambda task_id: None
        # A strategy that compares all waiting tasks asks about each of them at every wake.
        self._measured: dict[int, tuple[Task, TaskSeconds]] = {}
        self._pools: dict[int, FloatColumn] = {}

    @property
    def num_gpus(self) -> int:
        """How many GPUs the node has."""
        return self.node.num_gpus

    @property
    def gpus_alike(self) -> bool:
        """Whether all GPUs are the same in every respect."""
        return len(set(self.node.gpus)) == 1

    @property
    def power_w(self) -> tuple[float, ...]:
        """Watts of every device while it is busy, the CPU first."""
        return (self.node.cpu.power_w / self.node.cpu.slots, *(gpu.power_w for gpu in self.node.gpus))

    def seconds(self, task: Task) -> TaskSeconds:
        """Durations of one task, computed once."""
        if task is not self._task:
            told = self.waiting_seconds(task.task_id)
            self._seconds, self._task = self._computed(task) if told is None else told, task
        return self._seconds

    def remember(self, task: Task, seconds: TaskSeconds) -> None:
        """Accept durations that were computed for a whole batch."""
        self._task, self._seconds = task, seconds

    def terms(self, task: Task) -> TaskTerms:
        """The durations of the task and the limits they meet, as one tuple."""
        seconds = self.seconds(task)
        return TaskTerms(
            seconds.cpu_s,
            np.array(seconds.gpu_s),
            np.array(seconds.paged_s) if seconds.paged_s else _NO_PAGED,
            self.gpu_kind,
            task.memory_required,
            self.gpu_memory_mb if task.gpus_required <= 1 else self._pool_memory_mb(task),
            rule_code(task, self.memory_rule),
            self.serial,
        )

    def _pool_memory_mb(self, task: Task) -> FloatColumn:
        width = task.gpus_required
        if width not in self._pools:
            self._pools[width] = pool_memory_mb(width, self.gpu_kind, self.kind_counts, self.gpu_memory_mb)
        return self._pools[width]

    def batch_terms(self, batch: TaskBatch) -> BatchTerms:
        """The same for many tasks, as columns."""
        return batch_terms(batch, self.node, durations(batch, self.node))

    def cpu_s(self, task: Task) -> float:
        """Seconds of the whole task on the CPU."""
        return self.seconds(task).cpu_s

    def gpu_s(self, task: Task, gpu: int) -> float:
        """Seconds of the whole task on one GPU, transfer included."""
        return self.seconds(task).gpu_s[self._kind_list[gpu]]

    def parts(self, task: Task, gpu_fraction: float, gpu: int, seconds: TaskSeconds | None = None) -> Parts:
        """The two parts of a split, after the memory rule; of the believed durations unless others are given."""
        if seconds is None:
            seconds = self._seconds if task is self._task else self.seconds(task)
        width = task.gpus_required
        rule = self.memory_rule
        if task.gpu_only:
            gpu_fraction, rule = 1.0, gpu_only_code(rule) % WHOLE
        if gpu_fraction <= 0.0 or gpu == NO_GPU or width == 0:
            if task.gpu_only:  # asked about without a GPU
                return parts_of((1.0, 0.0, 0.0, True, True))
            return parts_of((0.0, seconds.cpu_s, 0.0, False, False))
        memory_mb = self._memory_list[gpu]
        if width > 1:
            gpu_fraction, memory_mb = _whole_share(gpu_fraction), float(self._pool_memory_mb(task)[gpu])
        elif not task.divisible:
            gpu_fraction = _whole_share(gpu_fraction)
        kind = self._kind_list[gpu]
        paged = seconds.paged_s[kind] if seconds.paged_s else 0.0
        fraction, cpu_part, gpu_part, status = _resolve(
            gpu_fraction,
            seconds.cpu_s,
            seconds.gpu_s[kind],
            paged,
            task.memory_required,
            memory_mb,
            rule,
        )
        return parts_of((fraction, cpu_part, gpu_part, status != FITTED, status == FAILED))

    def true_parts(self, task: Task, gpu_fraction: float, gpu: int) -> Parts:
        """The parts that the truth multiplies: here those that are believed."""
        return self.parts(task, gpu_fraction, gpu)

    def execution_s(self, parts: Parts) -> float:
        """Execution time of the parts as if both devices were free."""
        return float(formulas.execution_s(parts.cpu_s, parts.gpu_s, self.serial))

    def gang(self, task: Task, lead: int, backlogs_s: Sequence[float]) -> tuple[int, ...]:
        """The GPUs that a task gets besides its first, by rising id: those behind the least backlogs."""
        others = np.empty(max(task.gpus_required - 1, 0), np.int32)
        if others.size:
            backlogs = np.array(backlogs_s, dtype=np.float64)
            gang_members(lead, task.gpus_required, self.gpu_kind, self.kind_counts, backlogs, others)
        return tuple(others.tolist())

    def energy_j(self, parts: Parts, gpu: int, gang: Sequence[int] = ()) -> float:
        """Joules that the parts use."""
        if gang:
            return self.tariff.gang_charges(parts.gpu_s, (gpu, *gang))[0]
        return self.tariff.energy_j(parts.cpu_s, parts.gpu_s, gpu)

    def cost_usd(self, parts: Parts, gpu: int, gang: Sequence[int] = ()) -> float:
        """Dollars that the parts cost."""
        if gang:
            return self.tariff.gang_charges(parts.gpu_s, (gpu, *gang))[1]
        return self.tariff.cost_usd(parts.cpu_s, parts.gpu_s, gpu)

    def _computed(self, task: Task) -> TaskSeconds:
        if self._has_formula and is_plain(task):
            formulas.plain_seconds(
                task.size, task.compute_intensity, task.memory_required,
                self._law, self.node.max_speedup, self._cpu_speed, self._kinds, self._scratch,
            )  # fmt: skip
            cpu_s, *gpu_s = self._scratch.tolist()
            return TaskSeconds(cpu_s, tuple(gpu_s))
        known = self._measured.get(task.task_id)
        if known is not None and known[0] is task:
            return known[1]
        if len(self._measured) >= _MOST_MEASURED:
            self._measured.clear()
        seconds = _typed(task, self.node) if task.gpu_times else self._from_own_times(task)
        self._measured[task.task_id] = task, seconds
        return seconds

    def _from_own_times(self, task: Task) -> TaskSeconds:
        node, intensity = self.node, task.compute_intensity
        if self._curves is None:
            base = gpu_base = formulas.base_s(task.size, intensity)
            gain = formulas.speedup(intensity, int(node.speedup_law), node.max_speedup)
        else:
            base = formulas.curve_s(task.size, intensity, self._curves, 1)
            gpu_base, gain = formulas.curve_s(task.size, intensity, self._curves, 3), 1.0
        if (task.cpu_time is None) != (task.gpu_time is None):
            ratio = gain if self._curves is None else formulas.curve_speedup(task.size, intensity, self._curves)
            gain = ratio * task.speedup_factor
            base, gpu_base = not_measured(task.gpu_time) * gain, not_measured(task.cpu_time)
        gpu_seconds, paged_seconds = [], []
        for index in self._representatives:
            gpu = node.gpus[index]
            value = formulas.gpu_s(
                gpu_base,
                gain
                * formulas.type_speed(intensity, gpu.fp32_speed if task.fp32 else gpu.dense_speed, gpu.stream_speed),
                task.memory_required,
                not_measured(task.gpu_time),
                gpu.speed,
                gpu.bandwidth_mb_s,
                gpu.launch_s,
            )
            gpu_seconds.append(value)
            if node.memory_rule == MemoryRule.PAGE:
                paged_seconds.append(
                    formulas.paged_gpu_s(value, task.memory_required, gpu.bandwidth_mb_s, node.paging_slowdown)
                )
        cpu_seconds = formulas.cpu_s(base, not_measured(task.cpu_time), node.cpu.speed)
        if task.gpus_required > 1:
            check_width(task.task_id, task.gpus_required, self.num_gpus)
            for seconds in (gpu_seconds, paged_seconds):
                if seconds:
                    columns = np.array([seconds])
                    gang_seconds(np.array([task.gpus_required]), self.kind_counts, columns)
                    seconds[:] = columns[0].tolist()
        return TaskSeconds(float(cpu_seconds), tuple(gpu_seconds), tuple(paged_seconds))

    def completion_s(
        self, task: Task, gpu_fraction: float, gpu: int, cpu_backlog_s: float, gpu_backlog_s: float
    ) -> float:
        """Seconds until a split would be done behind these backlogs; inf if it would fail."""
        parts = self.parts(task, gpu_fraction, gpu)
        if parts.failed:
            return math.inf
        return float(choices.completion_s(parts.cpu_s, parts.gpu_s, cpu_backlog_s, gpu_backlog_s, self.serial))


def _typed(task: Task, node: Node) -> TaskSeconds:
    """Durations of a task that knows its seconds by GPU type: as those of a batch of one."""
    found = durations(TaskBatch.from_tasks([task]), node)
    paged = tuple(found.paged_s[0].tolist()) if len(found.paged_s) else ()
    return TaskSeconds(float(found.cpu_s[0]), tuple(found.gpu_s[0].tolist()), paged)
