"""How fast the cluster is simulated, beside SimPy, heapq events and a loop in C."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.job import reference_job, same_schedule
from benchmarks.peers import c_loop, heapq_events, simpy_model
from hybrid_ml_scheduler.cluster import RunColumns, Simulation, certificate, run_batch
from hybrid_ml_scheduler.core.tasks import TaskBatch
from hybrid_ml_scheduler.physics import Node, durations
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.race import task_seconds
from hybrid_ml_scheduler.workload import TaskStream, generate, preset

__all__ = ["render", "run"]

CHUNK = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How many tasks are simulated by whom, and how often the fastest are repeated."""

    tasks: int = 100_000
    simpy_tasks: int = 20_000
    long_tasks: int = 10_000_000
    bound_tasks: int = 10_000
    overload_tasks: tuple[int, int] = (20_000, 200_000)
    repeats: int = 30


FULL = Effort()
QUICK = Effort(
    tasks=2_000, simpy_tasks=500, long_tasks=20_000, bound_tasks=200, overload_tasks=(1_000, 2_000), repeats=2
)


def _best(job: Callable[[], Any], repeats: int) -> float:
    """The shortest of several runs: the one that other programs disturbed least."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        job()
        times.append(time.perf_counter() - begin)
    return min(times)


def run(*, quick: bool) -> dict[str, Any]:
    """Measure everything once, in one process, and check that all programs agree."""
    effort, node = QUICK if quick else FULL, Node()
    batch = reference_job(effort.tasks)
    rule = create("greedy").rule(batch)  # type: ignore[attr-defined]
    columns = RunColumns.empty(batch, node)
    in_c = c_loop(batch)
    few = effort.simpy_tasks
    small = batch.take(slice(0, few))
    run_batch(batch, node, rule, into=columns)
    agree = {
        "c": same_schedule(columns.finish_s, in_c()),
        "simpy": same_schedule(columns.finish_s[:few], simpy_model(small)),
        "heapq": same_schedule(columns.finish_s, heapq_events(batch)),
    }
    rates = {
        "kernel": effort.tasks / _best(lambda: run_batch(batch, node, rule, into=columns), effort.repeats),
        "c": effort.tasks / _best(in_c, effort.repeats),
        "stepping": effort.tasks / _best(lambda: _step(batch, node), 5),
        "heapq": effort.tasks / _best(lambda: heapq_events(batch), 5),
        "simpy": few / _best(lambda: simpy_model(small), 5),
    }
    return {
        **{name: round(rate) for name, rate in rates.items()},
        "vs_simpy": round(rates["kernel"] / rates["simpy"], 1),
        "vs_c": round(rates["kernel"] / rates["c"], 3),
        "same_schedule": agree,
        "certificate_10k_ms": round(_certificate_ms(effort.bound_tasks), 2),
        **_growth(node, effort),
        "noisy_overload_cost_per_task_200k_vs_20k": round(_overload(effort, node), 3),
    }


def _step(batch: TaskBatch, node: Node) -> None:
    """Drive the stepping form from Python, one task at a time, as a race of Python strategies does."""
    simulation = Simulation(node, create("greedy"), recall=0)
    advance, offer = simulation.advance, simulation.offer
    for task, seconds in zip(batch, task_seconds(durations(batch, node)), strict=True):
        advance(task.arrival_time)
        offer(task, 1.0, seconds)
    simulation.drain()


def _certificate_ms(count: int) -> float:
    batch = reference_job(count)
    certificate(batch, Node())
    return 1e3 * _best(lambda: certificate(batch, Node()), 10)


def _growth(node: Node, effort: Effort) -> dict[str, float]:
    """Seconds a task at 100,000 and at 10 million tasks, and the peak memory of a streamed race."""
    seconds = {count: _streamed(count, node) / count for count in (effort.tasks, effort.long_tasks)}
    peaks = []
    for count in (effort.tasks, 10 * effort.tasks):
        tracemalloc.start()
        _streamed(count, node)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return {
        "cost_per_task_10m_vs_100k": round(seconds[effort.long_tasks] / seconds[effort.tasks], 3),
        "streaming_peak_memory_1m_vs_100k": round(peaks[1] / peaks[0], 3),
    }


def _overload(effort: Effort, node: Node) -> float:
    """What a task costs in a long overload, over what it costs in a short one."""
    short, long = effort.overload_tasks
    return _overloaded(long, node) / _overloaded(short, node)


def _overloaded(count: int, node: Node) -> float:
    """Seconds a task where queues grow without end and nothing takes as long as estimated."""
    batch = generate(preset("heavy").with_values({"num_tasks": count, "noise_sigma": 0.5}), 1)
    rule = create("earliest_finish").rule(batch)  # type: ignore[attr-defined]
    return _best(lambda: run_batch(batch, node, rule), 3) / count


def _streamed(count: int, node: Node) -> float:
    """Run a long race chunk by chunk; returns the seconds spent in generating and simulating."""
    chunk = min(count, CHUNK)
    source, free = TaskStream(preset("mixed"), 1), np.zeros(node.num_gpus + 1)
    greedy = create("greedy")
    begin = time.perf_counter()
    for _ in range(count // chunk):
        batch = source.next_chunk(chunk)
        run_batch(batch, node, greedy.rule(batch), free_s=free)  # type: ignore[attr-defined]
    return time.perf_counter() - begin


def render(result: dict[str, Any]) -> str:
    """The figures as lines."""
    lines = [f"{name:10} {result[name]:>14,} tasks/s" for name in ("kernel", "c", "stepping", "heapq", "simpy")]
    lines.append(f"kernel is {result['vs_simpy']} x SimPy and {result['vs_c']} x the C loop")
    rest = {key: value for key, value in result.items() if key not in ("kernel", "c", "stepping", "heapq", "simpy")}
    lines += [f"{key}: {value}" for key, value in rest.items()]
    return "\n".join(lines)
