"""One measurement of the engine in a process of its own, for the source tree that is on the path (`benchmarks.engine`).

It uses only names that both versions of the package have, so that an older tree can be measured beside this one.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from hybrid_ml_scheduler import ClusterView, Decision, Task
from hybrid_ml_scheduler.cluster import Simulation, capacity, run_batch, run_held_batch
from hybrid_ml_scheduler.core import RaceContext, TaskBatch
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator, durations
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.race import task_seconds
from hybrid_ml_scheduler.workload import generate, preset

SEED, LOAD = 7, 0.8
WAITING: dict[str, tuple[str, dict[str, Any]]] = {
    "sjf_whole": ("sjf", {"splits": False}),
    "sjf": ("sjf", {}),
    "c_mu": ("c_mu", {}),
    "hetero_prio": ("hetero_prio", {}),
    "lpt": ("lpt", {}),
    "min_min": ("min_min", {}),
    "rl_hold": ("rl_hold", {}),
}


class OneLine:
    """A strategy in Python that decides in one line."""

    name = "one_line"

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Send large tasks to a GPU."""
        return Decision(gpu_fraction=1.0 if task.size > 1000.0 else 0.0)


def loaded_batch(count: int, node: Node) -> TaskBatch:
    """Tasks of `mixed` that arrive at 80 % of what the node can do."""
    batch = generate(preset("mixed").with_values({"num_tasks": count}), SEED)
    rate = count / float(batch.arrival_time[-1])
    return replace(batch, arrival_time=batch.arrival_time * (rate / (LOAD * capacity(batch, node))))


def millions(count: int, job: Callable[[], Any], repeats: int) -> float:
    """Decisions a second of the quickest of several runs, in millions; by the processor's time, as one core does it."""
    times = []
    for _ in range(repeats + 1):  # the first one may compile
        begin = time.thread_time()
        job()
        times.append(time.thread_time() - begin)
    return count / min(times[1:]) / 1e6


def prepared(name: str, options: dict[str, Any], node: Node) -> Any:
    """A strategy that is ready to give its rule."""
    strategy: Any = create(name, options)
    if hasattr(strategy, "prepare"):
        strategy.prepare(RaceContext(estimator=PhysicsEstimator(node), seed=0))
    return strategy


def step(batch: TaskBatch, node: Node) -> None:
    """Drive the stepping form from Python, one task at a time."""
    simulation = Simulation(node, OneLine(), recall=0)
    for task, seconds in zip(batch, task_seconds(durations(batch, node)), strict=True):
        simulation.advance(task.arrival_time)
        simulation.offer(task, 1.0, seconds)
    simulation.drain()


def measured(count: int, repeats: int) -> dict[str, Any]:
    """Every figure of this source tree, and for each strategy the sum of its latencies, which must not differ."""
    node = Node()
    batch = loaded_batch(count, node)
    seconds = durations(batch, node)
    found: dict[str, Any] = {"held_M": {}, "sums": {}}
    for key, name in (("at_once_M", "greedy"), ("finish_M", "earliest_finish")):
        rule = prepared(name, {}, node).rule(batch)
        found[key] = millions(count, partial(run_batch, batch, node, rule, seconds=seconds), repeats)
        found["sums"][name] = float(run_batch(batch, node, rule, seconds=seconds).latency_s.sum())
    for key, (name, options) in WAITING.items():
        rule = prepared(name, options, node).held_rule(batch, seconds)
        found["held_M"][key] = millions(count, partial(run_held_batch, batch, node, rule, seconds=seconds), repeats)
        found["sums"][key] = float(run_held_batch(batch, node, rule, seconds=seconds).latency_s.sum())
    few = batch.take(slice(0, max(count // 4, 1)))
    found["stepped_K"] = 1e3 * millions(len(few), lambda: step(few, node), max(repeats // 3, 1))
    found["sums"]["tasks"] = float(np.sum(batch.arrival_time))
    return found


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]), int(sys.argv[2]))))
