"""Exact answers for tiny instances: exhaustive search, and the splitting program solved by SciPy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy.optimize import linprog

from hybrid_ml_scheduler.core import Task, TaskBatch
from hybrid_ml_scheduler.physics import CoExecution, MemoryRule, Node
from tests.reference import formulas

Part = tuple[int, float]
"""A device (0 is the CPU) and the seconds that it works."""


def ways(task: Task, duration_factor: float, node: Node, grid: list[float]) -> list[tuple[float, float, int]]:
    """All ways to do a task on a grid of splits: seconds on the CPU, seconds on a GPU, which GPU."""
    found = []
    for fraction in grid:
        for gpu in range(node.num_gpus if fraction > 0.0 else 1):
            part = formulas.split(node, task, fraction, gpu)
            if not part.failed:
                found.append((part.cpu_s * duration_factor, part.gpu_s * duration_factor, gpu))
    return found


def orders(batch: TaskBatch, devices: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every order of the tasks on every device, each device for itself."""
    return itertools.product(itertools.permutations(range(len(batch))), repeat=devices)


def finishes_s(
    batch: TaskBatch, node: Node, chosen: tuple[tuple[float, float, int], ...], order: tuple[tuple[int, ...], ...]
) -> list[float]:
    """The finish of every task if every device serves its parts in the given order; inf if that locks up."""
    serial = node.co_execution == CoExecution.SERIAL
    row_of = {int(task_id): row for row, task_id in enumerate(batch.task_id)}
    queues = [[row for row in order[0] if chosen[row][0] > 0.0]]
    queues += [
        [row for row in order[gpu + 1] if chosen[row][1] > 0.0 and chosen[row][2] == gpu]
        for gpu in range(node.num_gpus)
    ]
    cpu_end: dict[int, float] = {}
    gpu_end: dict[int, float] = {}
    free = [0.0] * len(queues)

    def finish(row: int) -> float | None:
        ends = [] if chosen[row][0] == 0.0 else [cpu_end.get(row)]
        ends += [] if chosen[row][1] == 0.0 else [gpu_end.get(row)]
        known = [end for end in ends if end is not None]
        return max(known) if len(known) == len(ends) else None

    progress = True
    while progress and any(queues):
        progress = False
        for device, queue in enumerate(queues):
            if not queue:
                continue
            row = queue[0]
            moments: list[float | None] = [float(batch.arrival_time[row]), free[device]]
            moments += [finish(row_of[parent]) for parent in batch.parents(row)]
            if serial and device > 0 and chosen[row][0] > 0.0:
                moments.append(cpu_end.get(row))
            known = [moment for moment in moments if moment is not None]
            if len(known) < len(moments):
                continue
            queue.pop(0)
            progress = True
            free[device] = max(known) + (chosen[row][0] if device == 0 else chosen[row][1])
            (cpu_end if device == 0 else gpu_end)[row] = free[device]
    ends = [finish(row) for row in range(len(batch))]
    return [math.inf if any(queues) or end is None else end for end in ends]


def every_schedule(batch: TaskBatch, node: Node, grid: list[float]) -> Iterator[list[float]]:
    """The finishes of all tasks over all splits of the grid, all GPUs and all orders on all devices."""
    choices = [ways(task, float(batch.duration_factor[row]), node, grid) for row, task in enumerate(batch)]
    every_order = list(orders(batch, 1 + node.num_gpus))
    return (finishes_s(batch, node, chosen, order) for chosen in itertools.product(*choices) for order in every_order)


def least_makespan_s(batch: TaskBatch, node: Node, grid: list[float]) -> float:
    """The least last finish of any schedule."""
    return min(max(finishes) for finishes in every_schedule(batch, node, grid))


def least_mean_latency_s(batch: TaskBatch, node: Node, grid: list[float]) -> float:
    """The least mean of finish minus arrival of any schedule."""
    return min(float(np.mean(np.array(one) - batch.arrival_time)) for one in every_schedule(batch, node, grid))


def area_program_s(batch: TaskBatch, node: Node) -> float:
    """The least T such that shares of all tasks fit into T seconds of every device: a linear program."""
    columns: list[tuple[int, float, int, float]] = []
    for row, task in enumerate(batch):
        duration_factor = float(batch.duration_factor[row])
        cpu = formulas.cpu_s(node, task) * duration_factor
        columns.append((row, cpu, 1, 0.0))
        for index, gpu in enumerate(node.gpus):
            fits = min(1.0, gpu.memory_mb / task.memory_required) if task.memory_required > 0 else 1.0
            whole = formulas.gpu_s(node, task, gpu, paging=False) * duration_factor
            columns.append((row, (1.0 - fits) * cpu, 1 + index, fits * whole))
            if fits < 1.0 and node.memory_rule == MemoryRule.PAGE:
                columns.append((row, 0.0, 1 + index, formulas.gpu_s(node, task, gpu, paging=True) * duration_factor))
    busy = np.zeros((1 + node.num_gpus, len(columns) + 1))
    once = np.zeros((len(batch), len(columns) + 1))
    for place, (row, cpu, device, seconds) in enumerate(columns):
        busy[0, place] += cpu
        busy[device, place] += seconds
        once[row, place] = 1.0
    busy[:, -1] = -1.0
    cost = np.zeros(len(columns) + 1)
    cost[-1] = 1.0
    answer = linprog(cost, A_ub=busy, b_ub=np.zeros(len(busy)), A_eq=once, b_eq=np.ones(len(batch)), method="highs")
    assert answer.success
    return float(answer.fun)
