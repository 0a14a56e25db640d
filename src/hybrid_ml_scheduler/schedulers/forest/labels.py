"""The oracle's answer without its grid: the share of a task with the least execution time.

The grid's best share can cost a tenth more than the best real one; a learner that averages labels should
not inherit that. Where a share does not fit a GPU's memory, the grid decides what is left.
"""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, TaskBatch
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.core.decisions import FAILED
from hybrid_ml_scheduler.core.terms import BatchTerms
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.physics.choices import row_terms, split_on
from hybrid_ml_scheduler.physics.durations import batch_terms, durations
from hybrid_ml_scheduler.physics.formulas import cpu_alone_s, execution_s
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, as_column, split_grid

__all__ = ["best_fractions", "fastest_fractions"]

_GRID = as_column(split_grid(DEFAULT_STEP))


def best_fractions(batch: TaskBatch, node: Node) -> FloatColumn:
    """The GPU share of every task with the least execution time over all GPUs, queues ignored."""
    return fastest_fractions(batch_terms(batch, node, durations(batch, node)))


def fastest_fractions(tasks: BatchTerms) -> FloatColumn:
    """The same from durations that are known already."""
    best = np.empty(len(tasks.cpu_s))
    _fill(tasks, _GRID, best)
    return best


@compiled(nogil=True)
def _fill(tasks: BatchTerms, grid: FloatColumn, best: FloatColumn) -> None:
    cpu_s, gpu_s, _, gpu_kind, memory, gpu_memory, memory_rule, serial = tasks
    for row in range(cpu_s.shape[0]):
        terms = row_terms(tasks, row)
        least_s, best[row] = cpu_alone_s(cpu_s[row], memory_rule[row]), 0.0
        for gpu in range(gpu_kind.shape[0]):
            fits = memory[row] <= gpu_memory[gpu]
            if fits and np.any((gpu_kind[:gpu] == gpu_kind[gpu]) & (gpu_memory[:gpu] >= memory[row])):
                continue  # an equally fast GPU that holds the task answered already
            balance = cpu_s[row] / (cpu_s[row] + gpu_s[row, gpu_kind[gpu]])
            for place in range(-1, 1 if fits else grid.shape[0]):
                fraction = balance if place < 0 else 1.0 if fits else grid[place]
                used, cpu_part, gpu_part, status = split_on(gpu, fraction, terms)
                time_s = execution_s(cpu_part, gpu_part, serial)
                if status < FAILED and time_s < least_s:
                    least_s, best[row] = time_s, used
