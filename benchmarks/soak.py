"""A million tasks through the arena of a real service, with every row stored, while its memory is watched.

The store keeps the latest 100,000 tasks, so that the disk stays small. `HMS_SOAK_TASKS` changes the number of tasks.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from tests.api.service import service

__all__ = ["render", "run"]

STRATEGIES = "round_robin,random,greedy,hybrid_ml,rl_agent,oracle"
WARM_UP_TASKS = 100_000
QUICK_TASKS = 500
SAMPLE_EVERY_S, QUICK_SAMPLE_EVERY_S = 1.0, 0.02
COMPARED_SAMPLES = 60


def run(*, quick: bool) -> dict[str, Any]:
    """Run the service at full speed and watch its memory."""
    tasks = QUICK_TASKS if quick else int(os.environ.get("HMS_SOAK_TASKS", "1000000"))
    pause_s = QUICK_SAMPLE_EVERY_S if quick else SAMPLE_EVERY_S
    environment = {"HMS_SCHEDULERS": STRATEGIES, "HMS_RETENTION_TASKS": "100000", "HMS_SPEED": "0"}
    with tempfile.TemporaryDirectory() as folder, service(Path(folder), environment) as live:
        process = psutil.Process(live.pid)
        live.post("/api/simulation/start")
        begin, samples = time.perf_counter(), []
        while (done := live.status()["tasks_processed"]) < tasks:
            samples.append((done, process.memory_info().rss / 2**20))
            print(f"\r{done:,} of {tasks:,} tasks, {samples[-1][1]:.0f} MB", end="", file=sys.stderr)
            time.sleep(pause_s)
        print(file=sys.stderr)
        seconds = time.perf_counter() - begin
    return _summary(samples, tasks, seconds)


def _summary(samples: list[tuple[int, float]], tasks: int, seconds: float) -> dict[str, Any]:
    """Compare the memory after the first 100,000 tasks (half of them, if there are fewer than 200,000) with the end.

    Medians of a minute each, which is a whole round of retention: a sample may fall into the second in which a
    checkpoint is packed or rows wait for a removal.
    """
    settled = [rss for done, rss in samples if done >= min(WARM_UP_TASKS, tasks // 2)]
    begin, end = median(settled[:COMPARED_SAMPLES]), median(settled[-COMPARED_SAMPLES:])
    return {
        "tasks": tasks,
        "tasks_per_s": tasks / seconds,
        "rss_after_warm_up_mb": begin,
        "rss_at_the_end_mb": end,
        "rss_largest_mb": max(settled),
        "growth_percent": 100.0 * (end / begin - 1.0),
        "holds": end / begin < 1.05,
    }


def render(result: dict[str, Any]) -> str:
    """Return the figures as text."""
    return (
        f"{result['tasks']:,} tasks at {result['tasks_per_s']:.0f} tasks/s\n"
        f"RSS {result['rss_after_warm_up_mb']:.0f} MB after the warm-up, {result['rss_at_the_end_mb']:.0f} MB at last"
        f" ({result['growth_percent']:+.1f} %; must stay below +5 %): {'holds' if result['holds'] else 'FAILS'}"
    )
