"""The strategies S1, S2, S3, S6 and S7 as plain functions of the task and the believed backlogs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from hybrid_ml_scheduler.core import Task, stream
from hybrid_ml_scheduler.physics.node import CoExecution, Node
from tests.reference import formulas


@dataclass(frozen=True)
class View:
    """What an online scheduler can see: seconds until each device is free, as believed."""

    node: Node
    cpu_backlog_s: float
    gpu_backlogs_s: list[float]


Choice = tuple[float, int]
Strategy = Callable[[Task, View], Choice]


def least_loaded(view: View) -> int:
    """The GPU with the least backlog, the lowest id among equals."""
    best = 0
    for gpu, backlog in enumerate(view.gpu_backlogs_s):
        if backlog < view.gpu_backlogs_s[best]:
            best = gpu
    return best


def completion_s(task: Task, view: View, fraction: float, gpu: int) -> float:
    """Seconds from now until the split would be finished behind the believed queues."""
    part = formulas.split(view.node, task, fraction, gpu)
    if part.failed:
        return math.inf
    cpu_done = view.cpu_backlog_s + part.cpu_s
    if part.fraction == 0.0:
        return cpu_done
    gpu_free = view.gpu_backlogs_s[gpu]
    if part.fraction == 1.0:
        return gpu_free + part.gpu_s
    if view.node.co_execution == CoExecution.SERIAL:
        return max(gpu_free, cpu_done) + part.gpu_s
    return max(cpu_done, gpu_free + part.gpu_s)


def grid_of(steps: int) -> list[float]:
    """Shares from 0 to 1 in equal steps."""
    return [step / steps for step in range(steps + 1)]


def shares(task: Task, steps: int) -> list[float]:
    """The shares of the grid that a task allows."""
    return [1.0] if task.gpu_only else grid_of(steps if task.divisible else 1)


def cpu_only(task: Task, view: View) -> Choice:
    """Everything on the CPU; what never runs there goes to the least loaded GPU."""
    return 0.0, least_loaded(view)


def gpu_only(task: Task, view: View) -> Choice:
    """Everything on the least loaded GPU."""
    return 1.0, least_loaded(view)


def greedy(task: Task, view: View) -> Choice:
    """The share is the intensity, on the least loaded GPU."""
    return task.compute_intensity, least_loaded(view)


def half(task: Task, view: View) -> Choice:
    """Half for even ids, nothing for odd ones."""
    return (0.5 if task.task_id % 2 == 0 else 0.0), least_loaded(view)


def round_robin() -> Strategy:
    """GPU 0, CPU, GPU 1, CPU, and so on, in order of decision."""
    turns: list[Choice] = []

    def decide(task: Task, view: View) -> Choice:
        turn = len(turns)
        on_gpu = turn % 2 == 0
        choice = (1.0, (turn // 2) % len(view.gpu_backlogs_s)) if on_gpu else (0.0, least_loaded(view))
        turns.append(choice)
        return choice

    return decide


def random_split(seed: int) -> Strategy:
    """Two uniform draws a decision: the share, then the GPU."""
    rng = stream(seed, "scheduler", "random")

    def decide(task: Task, view: View) -> Choice:
        fraction = float(rng.random())
        return fraction, int(float(rng.random()) * len(view.gpu_backlogs_s))

    return decide


def oracle(steps: int) -> Strategy:
    """The least execution time on the grid; the least loaded among GPUs that do equally well."""

    def decide(task: Task, view: View) -> Choice:
        keys = [
            (formulas.execution_s(view.node, formulas.split(view.node, task, fraction, gpu)), fraction, backlog, gpu)
            for fraction in shares(task, steps)
            for gpu, backlog in enumerate(view.gpu_backlogs_s)
        ]
        _, fraction, _, gpu = min(keys)
        return fraction, gpu

    return decide


def earliest(steps: int, price: float = 0.0) -> Strategy:
    """The least completion behind the queues, plus a price for every device-second; then the smaller share, then
    the lower GPU.
    """

    def charge(task: Task, view: View, fraction: float, gpu: int) -> float:
        part = formulas.split(view.node, task, fraction, gpu)
        return completion_s(task, view, fraction, gpu) + price * (part.cpu_s + part.gpu_s)

    def decide(task: Task, view: View) -> Choice:
        keys = [
            (charge(task, view, fraction, gpu), fraction, gpu)
            for fraction in shares(task, steps)
            for gpu in range(len(view.gpu_backlogs_s))
        ]
        _, fraction, gpu = min(keys)
        return fraction, gpu

    return decide


STRATEGIES = (
    "round_robin",
    "half",
    "random",
    "greedy",
    "oracle",
    "cpu_only",
    "gpu_only",
    "earliest_finish",
    "earliest_device",
    "frugal_finish",
)


def make_strategy(name: str, seed: int, steps: int = 20) -> Strategy:
    """A fresh strategy by name (`half` is the variant of round robin)."""
    table: dict[str, Strategy] = {
        "round_robin": round_robin(),
        "half": half,
        "random": random_split(seed),
        "greedy": greedy,
        "oracle": oracle(steps),
        "cpu_only": cpu_only,
        "gpu_only": gpu_only,
        "earliest_finish": earliest(steps),
        "earliest_device": earliest(1),
        "frugal_finish": earliest(steps, price=1.0),
    }
    return table[name]
