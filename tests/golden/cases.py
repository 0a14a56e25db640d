"""The golden runs: a few hundred tasks on different nodes, every strategy that decides without learning.

Regenerate, after a change that is meant to change results, with:  python -m tests.golden.cases
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from hybrid_ml_scheduler.cluster import certificate, run_batch, summarize
from hybrid_ml_scheduler.core import HasRule, Prepares, RaceContext, TaskBatch
from hybrid_ml_scheduler.physics import CoExecution, CostModel, Gpu, MemoryRule, Node, PhysicsEstimator, SpeedupLaw
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.workload import WorkloadParameters, generate, preset

STORED = Path(__file__).with_name("runs.json")
SEED = 11
STRATEGIES = (
    "round_robin",
    "random",
    "greedy",
    "oracle",
    "cpu_only",
    "gpu_only",
    "earliest_device",
    "earliest_finish",
    "frugal_finish",
)
SAMPLED_EVERY = 25


def cases() -> dict[str, tuple[WorkloadParameters, Node]]:
    """Each case by name: what arrives, and the node it meets."""
    mixed = replace(preset("mixed"), num_tasks=300)
    graph = replace(mixed, dependency_probability=0.4, noise_sigma=0.5, arrival_rate=3.0)
    various = (Gpu(), Gpu(speed=2.5, memory_mb=4000.0, power_w=120.0, price_usd_s=0.0004), Gpu(launch_s=0.02))
    big = replace(preset("cpu_friendly"), num_tasks=200, memory_range=(3000.0, 12_000.0))
    return {
        "mixed": (mixed, Node()),
        "graph_with_luck_in_series": (graph, Node(gpus=various, co_execution=CoExecution.SERIAL)),
        "big_memory_pages": (big, Node(gpus=various, memory_rule=MemoryRule.PAGE, speedup_law=SpeedupLaw.AMDAHL)),
        "big_memory_fails": (
            replace(big, dependency_probability=0.2),
            Node(gpus=various[:2], memory_rule=MemoryRule.FAIL, cost_model=CostModel.ELECTRICITY),
        ),
    }


def outcome(batch: TaskBatch, node: Node, name: str) -> dict[str, Any]:
    """One strategy's metrics and a sample of its tasks."""
    scheduler = create(name)
    if isinstance(scheduler, Prepares):
        scheduler.prepare(RaceContext(estimator=PhysicsEstimator(node), seed=SEED))
    columns = run_batch(batch, node, cast(HasRule, scheduler).rule(batch))
    summary = summarize(columns)
    sample = [
        [
            int(batch.task_id[row]),
            float(columns.gpu_fraction[row]),
            int(columns.gpu[row]),
            _number(columns.finish_s[row]),
        ]
        for row in range(0, len(batch), SAMPLED_EVERY)
    ]
    return {
        "failed_count": summary.failed_count,
        "oom_count": summary.oom_count,
        "mean_time_s": summary.mean_time_s,
        "mean_latency_s": summary.mean_latency_s,
        "p99_latency_s": summary.p99_latency_s,
        "mean_wait_s": summary.mean_wait_s,
        "makespan_s": summary.makespan_s,
        "device_seconds": summary.device_seconds,
        "energy_j": summary.energy_j,
        "cost_usd": summary.cost_usd,
        "utilization": dict(summary.utilization),
        "sample": sample,
    }


def _number(value: float) -> float | None:
    """A finish, or nothing for a task that failed (JSON has no NaN)."""
    return None if value != value else float(value)


def results() -> dict[str, Any]:
    """All cases, computed now."""
    found: dict[str, Any] = {}
    for name, (parameters, node) in cases().items():
        batch = generate(parameters, SEED)
        floor = certificate(batch, node)
        found[name] = {
            "tasks": len(batch),
            "last_arrival_s": float(batch.arrival_time[-1]),
            "total_size": float(batch.size.sum()),
            "lower_bound": {"makespan_s": floor.makespan_s, "mean_time_s": floor.mean_time_s},
            "schedulers": {scheduler: outcome(batch, node, scheduler) for scheduler in STRATEGIES},
        }
    return found


def main() -> None:
    """Write the stored runs anew."""
    STORED.write_text(json.dumps(results(), indent=1) + "\n", encoding="utf-8")
    print(f"{STORED.name}: {len(cases())} cases, {len(STRATEGIES)} strategies.")


if __name__ == "__main__":
    main()
