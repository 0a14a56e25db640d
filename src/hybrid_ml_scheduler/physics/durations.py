"""Durations of a whole batch on a node, as columns."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import BoolColumn, FloatColumn, IntColumn, Task, TaskBatch
from hybrid_ml_scheduler.core.terms import BatchTerms
from hybrid_ml_scheduler.physics import formulas
from hybrid_ml_scheduler.physics.gangs import check_widths, gang_seconds, has_gangs, kind_counts, pool_memory_mb
from hybrid_ml_scheduler.physics.node import CPU_ONLY, GPU_ONLY, WHOLE, CoExecution, Gpu, MemoryRule, Node
from hybrid_ml_scheduler.physics.typed_times import typed_times

__all__ = ["Durations", "batch_terms", "can_run", "durations", "fits_no_gpu", "gpu_only_code", "rule_codes"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Durations:
    """Estimated seconds of every task on the CPU and on every kind of GPU.

    GPUs with equal type, speeds, bandwidth and launch overhead share a column; `gpu_kind[g]` is the column of GPU g.
    `paged_s` has no columns where nothing pages.
    """

    cpu_s: FloatColumn
    gpu_s: FloatColumn
    paged_s: FloatColumn
    gpu_kind: IntColumn

    def on_gpu(self, gpu: int) -> FloatColumn:
        """Seconds of every task on one GPU."""
        column: FloatColumn = self.gpu_s[:, self.gpu_kind[gpu]]
        return column


def batch_terms(batch: TaskBatch, node: Node, seconds: Durations) -> BatchTerms:
    """Gather what compiled code needs to know about a batch."""
    return BatchTerms(
        seconds.cpu_s,
        seconds.gpu_s,
        seconds.paged_s,
        seconds.gpu_kind,
        batch.memory_required,
        node.gpu_column("memory_mb"),
        rule_codes(batch, int(node.memory_rule)),
        node.co_execution == CoExecution.SERIAL,
    )


def rule_codes(batch: TaskBatch, memory_rule: int) -> IntColumn:
    """What each task allows: the node's memory rule, that of a task that must not be cut, one device alone."""
    if bool(batch.divisible.all()):
        return np.full(len(batch), memory_rule)
    codes: IntColumn = np.where(batch.divisible, memory_rule, memory_rule + WHOLE)
    codes[batch.gpus_required == 0] = CPU_ONLY + WHOLE
    codes[batch.gpu_only] = gpu_only_code(memory_rule)
    return codes


def gpu_only_code(memory_rule: int) -> int:
    """The code of a task that runs on GPUs only: where it does not fit one, it pages or fails."""
    return (memory_rule if memory_rule == MemoryRule.PAGE else int(MemoryRule.FAIL)) + WHOLE + GPU_ONLY


def gpu_kinds(node: Node) -> tuple[list[int], IntColumn]:
    """Return one representative GPU of each kind, and the kind of every GPU."""
    keys = [(*_speeds(gpu), gpu.type) for gpu in node.gpus]
    kinds = list(dict.fromkeys(keys))
    representatives = [keys.index(kind) for kind in kinds]
    return representatives, np.array([kinds.index(key) for key in keys], dtype=np.int64)


def _speeds(gpu: Gpu) -> tuple[float, ...]:
    return gpu.speed, gpu.bandwidth_mb_s, gpu.launch_s, gpu.dense_speed, gpu.stream_speed, gpu.fp32_speed


def durations(batch: TaskBatch, node: Node) -> Durations:
    """Compute the durations of a batch once, for everyone who needs them."""
    if not has_gangs(batch):
        return _durations_of_one(batch, node)
    check_widths(batch, node.num_gpus)
    found = _durations_of_one(batch, node)
    counts = kind_counts(found.gpu_kind)
    for column in (found.gpu_s, found.paged_s):
        if column.size:
            gang_seconds(batch.gpus_required, counts, column)
    return found


def _durations_of_one(batch: TaskBatch, node: Node) -> Durations:
    """The durations as if every task needed one GPU."""
    representatives, kind_of = gpu_kinds(node)
    count, kinds = len(batch), len(representatives)
    paging = node.memory_rule == MemoryRule.PAGE
    cpu_column = np.empty(count)
    gpu_columns = np.empty((count, kinds))
    paged = np.empty((count, kinds if paging else 0))
    chosen = [node.gpus[index] for index in representatives]
    gpu = chosen[0]
    plain = node.curves is None and not paging and kinds == 1
    if plain and gpu.dense_speed == gpu.stream_speed == gpu.fp32_speed == 1.0 and not _any_measured(batch):
        _fill_formula(
            batch.size,
            batch.compute_intensity,
            batch.memory_required,
            node.cpu.speed,
            gpu.speed,
            gpu.bandwidth_mb_s,
            gpu.launch_s,
            int(node.speedup_law),
            node.max_speedup,
            cpu_column,
            gpu_columns.reshape(-1),
        )
        return Durations(cpu_s=cpu_column, gpu_s=gpu_columns, paged_s=paged, gpu_kind=kind_of)
    known = typed_times(batch, node, chosen)
    _fill(
        batch.size,
        batch.compute_intensity,
        batch.memory_required,
        batch.cpu_time,
        known.reference_s,
        known.gpu_s,
        batch.speedup_factor,
        batch.fp32,
        node.cpu.speed,
        np.array([_speeds(gpu) for gpu in chosen]),
        int(node.speedup_law),
        node.max_speedup,
        node.paging_slowdown,
        np.empty((0, 0)) if node.curves is None else node.curves.logs(),
        cpu_column,
        gpu_columns,
        paged,
    )
    return Durations(cpu_s=cpu_column, gpu_s=gpu_columns, paged_s=paged, gpu_kind=kind_of)


def _any_measured(batch: TaskBatch) -> bool:
    untimed = np.isnan(batch.cpu_time).all() and np.isnan(batch.gpu_time).all()
    return bool(batch.gpu_types) or not untimed


def fits_no_gpu(batch: TaskBatch, node: Node) -> BoolColumn:
    """Which tasks run on GPUs only and fit none of the node, so that they would fail; too wide gangs do not count."""
    found = batch.gpu_only & (batch.gpus_required <= node.num_gpus)
    if node.memory_rule == MemoryRule.PAGE or not found.any():
        return np.zeros(len(batch), dtype=np.bool_)
    _, kind = gpu_kinds(node)
    counts, memory = kind_counts(kind), node.gpu_column("memory_mb")
    for width in np.unique(batch.gpus_required[found]).tolist():
        room = float(pool_memory_mb(width, kind, counts, memory).max()) if width > 1 else float(memory.max())
        found &= (batch.gpus_required != width) | (batch.memory_required > room)
    return found


def can_run(task: Task, node: Node) -> bool:
    """Whether the node has a device that the task fits."""
    alone = TaskBatch.from_tasks([task])
    return task.gpus_required <= node.num_gpus and not bool(fits_no_gpu(alone, node)[0])


@compiled()
def _fill_formula(
    size: FloatColumn,
    intensity: FloatColumn,
    memory: FloatColumn,
    cpu_speed: float,
    gpu_speed: float,
    bandwidth: float,
    launch: float,
    law: int,
    most: float,
    cpu_out: FloatColumn,
    gpu_out: FloatColumn,
) -> None:
    """The common case without a branch in the loop, so that the compiler can use vector instructions."""
    for row in range(size.shape[0]):
        base = formulas.base_s(size[row], intensity[row])
        gain = formulas.speedup(intensity[row], law, most)
        cpu_out[row] = formulas.cpu_s(base, math.nan, cpu_speed)
        gpu_out[row] = formulas.gpu_s(base, gain, memory[row], math.nan, gpu_speed, bandwidth, launch)


@compiled()
def _fill(
    size: FloatColumn,
    intensity: FloatColumn,
    memory: FloatColumn,
    measured_cpu: FloatColumn,
    reference_gpu: FloatColumn,
    measured_gpu: FloatColumn,
    factor: FloatColumn,
    fp32: BoolColumn,
    cpu_speed: float,
    gpu_table: FloatColumn,
    law: int,
    most: float,
    slowdown: float,
    curves: FloatColumn,
    cpu_out: FloatColumn,
    gpu_out: FloatColumn,
    paged_out: FloatColumn,
) -> None:
    has_curves = curves.shape[0] > 0
    for row in range(size.shape[0]):
        if has_curves:
            base = formulas.curve_s(size[row], intensity[row], curves, 1)
            gpu_base = formulas.curve_s(size[row], intensity[row], curves, 3)
            gain = 1.0
        else:
            base = formulas.base_s(size[row], intensity[row])
            gpu_base = base
            gain = formulas.speedup(intensity[row], law, most)
        if math.isnan(measured_cpu[row]) != math.isnan(reference_gpu[row]):
            # One time is known: the other follows from it by the speed-up, as the physics in force has it.
            ratio = formulas.curve_speedup(size[row], intensity[row], curves) if has_curves else gain
            gain = ratio * factor[row]
            base, gpu_base = reference_gpu[row] * gain, measured_cpu[row]
        cpu_out[row] = formulas.cpu_s(base, measured_cpu[row], cpu_speed)
        for kind in range(gpu_table.shape[0]):
            speed, bandwidth, launch = gpu_table[kind, 0], gpu_table[kind, 1], gpu_table[kind, 2]
            dense = gpu_table[kind, 5] if fp32[row] else gpu_table[kind, 3]
            faster = gain * formulas.type_speed(intensity[row], dense, gpu_table[kind, 4])
            seconds = formulas.gpu_s(gpu_base, faster, memory[row], measured_gpu[row, kind], speed, bandwidth, launch)
            gpu_out[row, kind] = seconds
            if paged_out.shape[1] > 0:
                paged_out[row, kind] = formulas.paged_gpu_s(seconds, memory[row], bandwidth, slowdown)


def not_measured(value: float | None) -> float:
    """NaN for a time that was never measured."""
    return math.nan if value is None else value
