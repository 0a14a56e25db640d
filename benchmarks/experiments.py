"""How long the scientific commands take from start to PDF, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

__all__ = ["render", "run"]

HEAVY_LIMIT_S, HEAVY_AIM_S = 75.0, 30.0
_PROGRAM = "from hybrid_ml_scheduler.cli.main import main; main()"
_SWEEP = """
[simulation]
seeds = 25
[workload]
preset = "mixed"
num_tasks = 10000
[schedulers]
race = ["round_robin", "greedy", "oracle", "earliest_finish"]
[sweep]
"workload.arrival_rate" = [2.0, 4.0, 6.0, 8.0]
"""


def _seconds(*words: str) -> float:
    """Wall seconds of one `hms` command."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", _PROGRAM, *words], check=True, capture_output=True)
    return time.perf_counter() - begin


def run() -> dict[str, Any]:
    """Measure once; the first command finds the kernels compiled."""
    load_before = os.getloadavg()[0]
    _seconds("race", "--tasks", "50")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        plan = folder / "sweep.toml"
        plan.write_text(_SWEEP)
        found = {
            "help_s": min(_seconds("--help") for _ in range(3)),
            "heavy_one_seed_s": _seconds("heavy", "--seeds", "1", "--out", str(folder / "one")),
            "heavy_s": _seconds("heavy", "--out", str(folder / "three")),
            "report_s": _seconds("report", str(folder / "three")),
            "resume_finished_s": _seconds("heavy", "--out", str(folder / "three")),
            "sweep_100_cells_s": _seconds("sweep", str(plan), "--out", str(folder / "sweep")),
        }
    rounded = {name: round(value, 2) for name, value in found.items()}
    cores = len(os.sched_getaffinity(0))
    return {**rounded, "cores": cores, "load_before": round(load_before, 2), "heavy_limit_s": HEAVY_LIMIT_S}


def render(result: dict[str, Any]) -> str:
    """The figures as lines."""
    within = "within" if result["heavy_s"] <= HEAVY_LIMIT_S else "OVER"
    lines = [
        f"{result['cores']} cores, load average before: {result['load_before']}",
        f"hms --help                                {result['help_s']:8.2f} s",
        f"hms heavy (10,000 tasks, all, 3 seeds)    {result['heavy_s']:8.2f} s  ({within} {HEAVY_LIMIT_S:.0f} s)",
        f"hms heavy --seeds 1                       {result['heavy_one_seed_s']:8.2f} s  (aim {HEAVY_AIM_S:.0f} s)",
        f"hms report (11 plots as PNG + SVG, PDF)   {result['report_s']:8.2f} s",
        f"hms heavy on a finished folder            {result['resume_finished_s']:8.2f} s",
        f"hms sweep, 100 cells of 4 × 10,000 tasks  {result['sweep_100_cells_s']:8.2f} s",
    ]
    return "\n".join(lines)
