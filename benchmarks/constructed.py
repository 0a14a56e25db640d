"""Constructed workloads that a learned strategy must not fail on, each with one trait that real ones have too.

Some tasks fit no GPU or only one type; one device is far slower; kinds are seen once; gangs; work for the CPU; bursts
of requests; a task graph; a batch; tasks for GPUs alone. Streams are judged by mean latency and its 95th percentile
without the first tenth, batches and graphs by makespan and the same percentile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from hybrid_ml_scheduler.cluster import capacity
from hybrid_ml_scheduler.core import FloatColumn, Scheduler, TaskBatch, stream
from hybrid_ml_scheduler.core.knowledge import EXACT, LEARNED, Level
from hybrid_ml_scheduler.physics import Gpu, Node
from hybrid_ml_scheduler.physics.truth import Truth
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.race import run_known
from hybrid_ml_scheduler.workload import generate, preset

__all__ = ["JUDGED_FROM", "SHAPES", "Shape", "constructed", "figures_of", "lines", "ratios"]

OURS = ("hybrid_ml", "rl_hold")
STREAM_RULES = ("earliest_finish", "frugal_finish", "sjf", "c_mu", "hetero_prio", "min_min", "size_split")
AT_ONCE_RULES = ("earliest_finish", "sjf", "rank_hold", "lpt", "hetero_prio", "work_stealing")
WANTED, WANTED_TAIL = 1.10, 1.50  # of the best rule's value, and of its 95th percentile
JUDGED_FROM = 100  # nothing was chosen on seeds from here on
_LOAD = 0.8
_ON_CPU = 1000.0  # so many times as long as on a GPU: for tasks that have no implementation for the CPU
_TYPED = Node(gpus=(Gpu(type="h100"), Gpu(type="a100"), Gpu(type="l4"), Gpu(type="l4")))
Columns = dict[str, Any]


def _measured(rng: np.random.Generator, count: int, *, spread: float, on_cpu: float) -> Columns:
    """Whole tasks with times of their own, of a few kinds; those of a kind differ by this spread."""
    kind = rng.choice(6, count, p=[0.35, 0.25, 0.15, 0.12, 0.08, 0.05])
    gpu_s = 0.5 * np.array([0.4, 0.7, 1.0, 1.6, 3.0, 6.0])[kind] * rng.lognormal(0.0, spread, count)
    return {
        "size": 1000.0 * gpu_s,
        "compute_intensity": np.full(count, 0.9),
        "memory_required": rng.uniform(10.0, 500.0, count),
        "arrival_time": np.zeros(count),
        "cpu_time": on_cpu * gpu_s * rng.uniform(0.8, 1.2, count),
        "gpu_time": gpu_s,
        "divisible": np.zeros(count, bool),
        "kind": kind,
        "kind_names": [f"kind-{one}" for one in range(6)],
    }


def _arriving(
    columns: Columns, node: Node, seed: int, truth: Truth, load: float = _LOAD, bursts: int = 1
) -> KnownTasks:
    """The tasks as a stream at this load; `bursts` tasks come at a time on average."""
    rng, count = stream(seed, "constructed", "arrivals"), len(columns["size"])
    still = KnownTasks(batch=TaskBatch.from_columns(**columns), node=node, truth=truth, seed=seed)
    rate = load * capacity(still.batch, node, still.true)
    gaps = rng.exponential(bursts / rate, count) * (rng.random(count) < 1.0 / bursts)
    arrival = np.cumsum(gaps)
    return KnownTasks(
        batch=TaskBatch.from_columns(**{**columns, "arrival_time": arrival - arrival[0]}),
        node=node,
        truth=truth,
        seed=seed,
    )


def _some_fit_no_gpu(seed: int, count: int) -> KnownTasks:
    rng = stream(seed, "constructed", "fit no gpu")
    columns = _measured(rng, count, spread=0.5, on_cpu=6.0)
    large = rng.random(count) < 1.0 / 30.0
    columns["memory_required"] = np.where(large, 9_000.0, columns["memory_required"])
    columns["arrival_time"] = np.zeros(count)
    return _arriving(columns, Node(), seed, Truth(), load=0.95)


def _cpu_drowns(seed: int, count: int) -> KnownTasks:
    """More work for the CPU alone than it can do, beside GPUs with room to spare."""
    rng = stream(seed, "constructed", "cpu drowns")
    columns = _measured(rng, count, spread=0.5, on_cpu=12.0)
    large = rng.random(count) < 1.0 / 30.0
    columns["memory_required"] = np.where(large, 9_000.0, columns["memory_required"])
    rate = 0.7 * 4.0 / float(columns["gpu_time"].mean())
    columns["arrival_time"] = np.cumsum(rng.exponential(1.0 / rate, count))
    return KnownTasks(batch=TaskBatch.from_columns(**columns), node=Node(), truth=Truth(), seed=seed)


def _one_type_only(seed: int, count: int) -> KnownTasks:
    rng = stream(seed, "constructed", "one type")
    large, small = Gpu(memory_mb=80_000.0), Gpu(memory_mb=24_000.0, speed=0.6)
    columns = _measured(rng, count, spread=0.5, on_cpu=15.0)
    columns["memory_required"] = np.where(rng.random(count) < 0.25, 50_000.0, 5_000.0)
    return _arriving(columns, Node(gpus=(large, large, small, small)), seed, Truth())


def _slow_device(seed: int, count: int) -> KnownTasks:
    batch = generate(preset("unknown").with_values({"num_tasks": count}), seed)
    node = Node(gpus=(Gpu(), Gpu(), Gpu(), Gpu(speed=0.05)))
    return _arriving(_of(batch), node, seed, Truth(kind_spread=0.5))


def _kinds_seen_once(seed: int, count: int) -> KnownTasks:
    rng = stream(seed, "constructed", "once")
    columns = _of(generate(preset("unknown").with_values({"num_tasks": count}), seed))
    once = rng.random(count) < 0.1
    usual = len(columns["kind_names"])
    columns["kind"] = np.where(once, usual + np.cumsum(once) - 1, columns["kind"])
    columns["kind_names"] += [f"once-{number}" for number in range(int(once.sum()))]
    return _arriving(columns, Node(), seed, Truth(kind_spread=1.0))


def _gangs(seed: int, count: int) -> KnownTasks:
    rng = stream(seed, "constructed", "gangs")
    columns = _measured(rng, count, spread=0.5, on_cpu=20.0)
    columns["gpus_required"] = np.where(rng.random(count) < 0.15, rng.integers(2, 5, count), 1)
    return _arriving(columns, Node(), seed, Truth(), load=0.7)


def _for_the_cpu(seed: int, count: int) -> KnownTasks:
    rng = stream(seed, "constructed", "for the cpu")
    columns = _of(generate(preset("unknown").with_values({"num_tasks": count}), seed))
    heavy = rng.random(count) < 0.7
    columns["compute_intensity"] = np.where(heavy, rng.uniform(0.0, 0.1, count), rng.uniform(0.7, 1.0, count))
    columns["memory_required"] = np.where(heavy, rng.uniform(4_000.0, 7_500.0, count), columns["memory_required"])
    columns["size"] = np.where(heavy, np.minimum(columns["size"], 200.0), columns["size"])
    return _arriving(columns, Node(), seed, Truth(kind_spread=0.5))


def _requests(seed: int, count: int) -> KnownTasks:
    rng = stream(seed, "constructed", "requests")
    columns = _measured(rng, count, spread=1.0, on_cpu=10.0)
    return _arriving(columns, Node(), seed, Truth(), bursts=8)


def _graph(seed: int, count: int) -> KnownTasks:
    rng = stream(seed, "constructed", "graph")
    columns, width = _measured(rng, count, spread=0.3, on_cpu=3.0), max(4, count // 12)
    layer = np.arange(count) // width
    columns["dependencies"] = [
        () if at == 0 else tuple(sorted({int(one) for one in rng.integers((at - 1) * width, at * width, 2)}))
        for at in layer
    ]
    columns["kind"], columns["kind_names"] = layer % 5, [f"step-{one}" for one in range(5)]
    return KnownTasks(batch=TaskBatch.from_columns(**columns), node=Node(), truth=Truth(), seed=seed)


def _batch(seed: int, count: int) -> KnownTasks:
    columns = _of(generate(preset("unknown").with_values({"num_tasks": count}), seed))
    columns["arrival_time"] = np.zeros(count)
    return KnownTasks(batch=TaskBatch.from_columns(**columns), node=Node(), truth=Truth(kind_spread=0.5), seed=seed)


def _gpu_types_only(seed: int, count: int) -> KnownTasks:
    rng = stream(seed, "constructed", "gpu types")
    columns = _of(generate(preset("unknown").with_values({"num_tasks": count}), seed))
    columns["divisible"] = np.zeros(count, bool)
    columns["compute_intensity"] = rng.uniform(0.2, 1.0, count)
    plain = KnownTasks(batch=TaskBatch.from_columns(**columns), node=Node(), truth=Truth(kind_spread=0.5), seed=seed)
    columns["gpu_time"] = plain.true.gpu_s[:, 0]
    columns["cpu_time"] = _ON_CPU * columns["gpu_time"]
    return _arriving(columns, _TYPED, seed, Truth())


def _of(batch: TaskBatch) -> Columns:
    names = ("size", "compute_intensity", "memory_required", "arrival_time", "duration_factor", "divisible", "kind")
    return {**{name: np.array(getattr(batch, name)) for name in names}, "kind_names": list(batch.kind_names)}


Shape = Callable[[int, int], KnownTasks]
"""A seed and a number of tasks to tasks with their truth."""

SHAPES: Mapping[str, tuple[Shape, bool]] = {
    "some fit no GPU": (_some_fit_no_gpu, True),
    "CPU overloaded by what fits no GPU": (_cpu_drowns, True),
    "some fit one type only": (_one_type_only, True),
    "one GPU 20 times slower": (_slow_device, True),
    "kinds seen once": (_kinds_seen_once, True),
    "gangs": (_gangs, True),
    "much work for the CPU": (_for_the_cpu, True),
    "requests in bursts": (_requests, True),
    "GPUs of three types alone": (_gpu_types_only, True),
    "task graph": (_graph, False),
    "batch": (_batch, False),
}
"""Each shape, and whether it is a stream, which is judged by latency, rather than by makespan."""


def figures_of(strategy: Scheduler, known: KnownTasks, level: Level, *, is_stream: bool) -> tuple[float, float]:
    """Mean latency (of what is known at once the makespan), and the 95th percentile of the latency."""
    arrival = known.batch.arrival_time
    finish = run_known(strategy, known, level).finish_s
    latency: FloatColumn = (finish - arrival)[len(arrival) // 10 if is_stream else 0 :]
    value = float(np.nanmean(latency)) if is_stream else float(np.nanmax(finish) - arrival[0])
    return value, float(np.nanquantile(latency, 0.95))


def ratios(name: str, level: Level, seeds: Sequence[int], count: int) -> dict[str, Any]:
    """Both learned strategies over the rule with the best mean over the seeds: its name, value and tail."""
    make, is_stream = SHAPES[name]
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in seeds:
        known = make(seed, count)
        for strategy in (*(STREAM_RULES if is_stream else AT_ONCE_RULES), *OURS):
            figures = figures_of(create(strategy), known, level, is_stream=is_stream)
            found.setdefault(strategy, []).append(figures)
    means = {strategy: np.mean(values, axis=0) for strategy, values in found.items()}
    best = min((one for one in means if one not in OURS), key=lambda one: float(means[one][0]))
    return {"rule": best, **{one: (means[one] / means[best]).tolist() for one in OURS}}


def constructed(seeds: int, count: int) -> dict[str, Any]:
    """The standing of both learned strategies in every shape at both levels, and what misses the bars."""
    judged = range(JUDGED_FROM, JUDGED_FROM + seeds)
    found = {f"{level} | {name}": ratios(name, level, judged, count) for level in (EXACT, LEARNED) for name in SHAPES}
    above = [
        f"{cell}: {one}"
        for cell, standing in found.items()
        for one in OURS
        if standing[one][0] > WANTED or standing[one][1] > WANTED_TAIL
    ]
    return {"cells": found, "above": above}


def lines(result: Mapping[str, Any]) -> list[str]:
    """The table as Markdown."""
    found = [
        "| level | workload | best rule | `hybrid_ml` ÷ it (p95) | `rl_hold` ÷ it (p95) |",
        "|---|---|---|---|---|",
    ]
    for cell, one in result["cells"].items():
        figures = " | ".join(f"{one[name][0]:.3f} ({one[name][1]:.2f})" for name in OURS)
        found.append(f"| {cell} | `{one['rule']}` | {figures} |")
    return [*found, "", f"- above what is wanted: {'; '.join(result['above']) or 'none'}"]
