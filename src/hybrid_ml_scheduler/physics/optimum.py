"""The best possible execution time of each task with a free choice of split, no grid: a proven floor."""

from __future__ import annotations

import math

import numpy as np

from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.tasks import FloatColumn, TaskBatch
from hybrid_ml_scheduler.core.terms import BatchTerms
from hybrid_ml_scheduler.physics.durations import Durations, batch_terms
from hybrid_ml_scheduler.physics.formulas import cpu_alone_s
from hybrid_ml_scheduler.physics.node import CPU_ONLY, WHOLE, Node

__all__ = ["SHORTEST_S", "best_execution_s", "bounded_slowdown", "fitting_share"]

SHORTEST_S = 0.01  # a slowdown is bounded: no task counts as shorter than this


def best_execution_s(batch: TaskBatch, node: Node, seconds: Durations) -> FloatColumn:
    """Least execution time of every task (before its duration factor) over all GPUs and all splits that it allows."""
    best = np.empty(len(batch))
    _fill(batch_terms(batch, node, seconds), best)
    return best


def bounded_slowdown(latency_s: FloatColumn, fastest_s: FloatColumn) -> FloatColumn:
    """How many times longer each task took than it takes at its fastest."""
    return latency_s / np.maximum(fastest_s, SHORTEST_S)


@compiled(inline="always")
def fitting_share(memory_mb: float, gpu_memory_mb: float) -> float:
    """The largest fraction whose memory fits the GPU."""
    if memory_mb <= gpu_memory_mb:
        return 1.0
    return gpu_memory_mb / memory_mb


@compiled()
def _balanced_s(cpu_seconds: float, gpu_seconds: float, least: float, most: float, serial: bool) -> float:
    """Least execution time over fractions in [least, most]."""
    if serial:  # a sum of straight lines is least at an end
        return min(least * gpu_seconds + (1.0 - least) * cpu_seconds, most * gpu_seconds + (1.0 - most) * cpu_seconds)
    if cpu_seconds + gpu_seconds == 0.0:
        return 0.0
    balance = cpu_seconds / (cpu_seconds + gpu_seconds)
    if balance > most:
        return (1.0 - most) * cpu_seconds
    if balance < least:
        return least * gpu_seconds
    return cpu_seconds * gpu_seconds / (cpu_seconds + gpu_seconds)


@compiled()
def _fill(tasks: BatchTerms, out: FloatColumn) -> None:
    cpu_s, gpu_s, paged_s, gpu_kind, memory, gpu_memory, memory_rule, serial = tasks
    for row in range(cpu_s.shape[0]):
        best = math.inf
        for gpu in range(gpu_kind.shape[0]):
            kind = gpu_kind[gpu]
            share = fitting_share(memory[row], gpu_memory[gpu])
            if memory_rule[row] >= WHOLE:
                best = min(best, cpu_alone_s(cpu_s[row], memory_rule[row]))
                if memory_rule[row] == CPU_ONLY + WHOLE:
                    continue
                if share == 1.0:
                    best = min(best, gpu_s[row, kind])
                elif paged_s.shape[1] > 0:
                    best = min(best, paged_s[row, kind])
                continue
            best = min(best, _balanced_s(cpu_s[row], gpu_s[row, kind], 0.0, share, serial))
            if paged_s.shape[1] > 0 and share < 1.0:
                best = min(best, _balanced_s(cpu_s[row], paged_s[row, kind], share, 1.0, serial))
        out[row] = best if best < math.inf else 0.0  # it runs on GPUs only and fits none: it fails
