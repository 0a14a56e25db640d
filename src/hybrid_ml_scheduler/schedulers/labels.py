"""The oracle's answer without its grid: the share of a task with the least execution time.

The grid's best share can cost a tenth more than the best real one; a learner that averages labels should
not inherit that. Where a share does not fit a GPU's memory, the grid decides what is left.
"""

from __future__ import annotations

from hybrid_ml_scheduler.core import Estimator, Task
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, split_grid

__all__ = ["best_fraction"]

_GRID = split_grid(DEFAULT_STEP)


def best_fraction(task: Task, estimator: Estimator) -> float:
    """The GPU share with the least execution time over all GPUs, queues ignored."""
    cpu_s = estimator.cpu_s(task)
    best_s, best = cpu_s, 0.0
    tried: set[float] = set()
    for gpu in range(estimator.num_gpus):
        gpu_s = estimator.gpu_s(task, gpu)
        balance = cpu_s / (cpu_s + gpu_s)
        candidates: tuple[float, ...] = (balance, 1.0)
        if estimator.parts(task, 1.0, gpu).out_of_memory:
            candidates = (balance, *_GRID)
        elif balance in tried:
            continue  # an equal GPU answered already
        tried.add(balance)
        for fraction in candidates:
            parts = estimator.parts(task, fraction, gpu)
            time_s = estimator.execution_s(parts)
            if not parts.failed and time_s < best_s:
                best_s, best = time_s, parts.gpu_fraction
    return best
