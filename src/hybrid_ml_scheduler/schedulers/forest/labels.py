"""The oracle's answer without its grid: the share of a task with the least execution time.

The grid's best share can cost a tenth more than the best real one; a learner that averages labels should
not inherit that. Where a share does not fit a GPU's memory, the grid decides what is left.
"""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, IntColumn, TaskBatch
from hybrid_ml_scheduler.core.compiled import compiled
from hybrid_ml_scheduler.physics import CoExecution, Node, durations
from hybrid_ml_scheduler.physics.choices import split_on
from hybrid_ml_scheduler.physics.formulas import execution_s
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, as_column, split_grid

__all__ = ["best_fractions"]

_GRID = as_column(split_grid(DEFAULT_STEP))


def best_fractions(batch: TaskBatch, node: Node) -> FloatColumn:
    """The GPU share of every task with the least execution time over all GPUs, queues ignored."""
    seconds = durations(batch, node)
    best = np.empty(len(batch))
    _fill(
        seconds.cpu_s, seconds.gpu_s, seconds.paged_s, seconds.gpu_kind, batch.memory_required,
        node.gpu_column("memory_mb"), int(node.memory_rule), node.co_execution == CoExecution.SERIAL, _GRID, best,
    )  # fmt: skip
    return best


@compiled(nogil=True)
def _fill(
    cpu_s: FloatColumn,
    gpu_s: FloatColumn,
    paged_s: FloatColumn,
    gpu_kind: IntColumn,
    memory: FloatColumn,
    gpu_memory: FloatColumn,
    rule: int,
    serial: bool,
    grid: FloatColumn,
    best: FloatColumn,
) -> None:
    no_pages = np.zeros(0)
    for row in range(cpu_s.shape[0]):
        least_s, best[row] = cpu_s[row], 0.0
        paged = paged_s[row] if paged_s.shape[0] > 0 else no_pages
        for gpu in range(gpu_kind.shape[0]):
            fits = memory[row] <= gpu_memory[gpu]
            if fits and np.any((gpu_kind[:gpu] == gpu_kind[gpu]) & (gpu_memory[:gpu] >= memory[row])):
                continue  # an equally fast GPU that holds the task answered already
            balance = cpu_s[row] / (cpu_s[row] + gpu_s[row, gpu_kind[gpu]])
            for place in range(-1, 1 if fits else grid.shape[0]):
                fraction = balance if place < 0 else 1.0 if fits else grid[place]
                used, cpu_part, gpu_part, status = split_on(
                    gpu, fraction, cpu_s[row], gpu_s[row], paged, gpu_kind, memory[row], gpu_memory, rule
                )
                time_s = execution_s(cpu_part, gpu_part, serial)
                if status < 2 and time_s < least_s:
                    least_s, best[row] = time_s, used
