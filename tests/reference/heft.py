"""HEFT in plain Python, from the paper: upward ranks over mean costs, then the gap with the earliest finish."""

from __future__ import annotations

from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.physics.node import Node
from tests.reference import formulas

Timetable = dict[int, tuple[int, float, float]]  # task id -> device (0 = CPU), start, finish


def heft(batch: TaskBatch, node: Node) -> Timetable:
    """The timetable of whole tasks on the CPU and the GPUs."""
    tasks = {task.task_id: task for task in batch}
    costs = {
        i: [formulas.cpu_s(node, task), *(formulas.gpu_s(node, task, gpu, paging=False) for gpu in node.gpus)]
        for i, task in tasks.items()
    }
    children: dict[int, list[int]] = {i: [] for i in tasks}
    for i, task in tasks.items():
        for parent in task.dependencies:
            children[parent].append(i)
    ranks: dict[int, float] = {}

    def rank(i: int) -> float:
        if i not in ranks:
            mean = sum(costs[i][1:], costs[i][0]) / len(costs[i])
            ranks[i] = max([mean + rank(child) for child in children[i]], default=mean)
        return ranks[i]

    table: Timetable = {}
    for i in sorted(tasks, key=lambda i: (-rank(i), i)):
        ready = max((table[parent][2] for parent in tasks[i].dependencies), default=0.0)
        options = []
        for device, seconds in enumerate(costs[i]):
            busy = sorted(entry[1:] for entry in table.values() if entry[0] == device)
            start = ready
            for begin, end in busy:
                if start + seconds <= begin:
                    break
                start = max(start, end)
            options.append((start + seconds, device, start))
        finish, device, start = min(options)
        table[i] = (device, start, finish)
    return table
