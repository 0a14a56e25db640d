"""How long the scientific commands take from start to PDF, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["render", "run"]

HEAVY_LIMIT_S, HEAVY_AIM_S = 75.0, 30.0
RATES = [2.0, 4.0, 6.0, 8.0]
_PROGRAM = "from hybrid_ml_scheduler.cli.main import main; main()"
_SWEEP = """
[simulation]
seeds = {seeds}
[workload]
preset = "mixed"
num_tasks = {tasks}
[schedulers]
race = ["round_robin", "greedy", "oracle", "earliest_finish"]
[sweep]
"workload.arrival_rate" = {rates}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How large each study is."""

    tasks: int = 10_000
    seeds: int = 3
    sweep_seeds: int = 25
    help_calls: int = 3
    options: tuple[str, ...] = ()


FULL = Effort()
# Rules alone, in one process: no network is loaded for a sample that measures nothing.
_FEW = ("round_robin", "greedy", "oracle")
QUICK = Effort(
    tasks=60,
    seeds=1,
    sweep_seeds=1,
    help_calls=1,
    options=("--workers", "1", *(word for name in _FEW for word in ("--scheduler", name))),
)


def _seconds(*words: str) -> float:
    """Wall seconds of one `hms` command."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", _PROGRAM, *words], check=True, capture_output=True)
    return time.perf_counter() - begin


def run(*, quick: bool) -> dict[str, Any]:
    """Measure once; the first command finds the kernels compiled."""
    effort = QUICK if quick else FULL
    heavy = ("heavy", "--tasks", str(effort.tasks), *effort.options)
    load_before = os.getloadavg()[0]
    _seconds("race", "--tasks", "50", *effort.options[2:])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        plan, one, all_seeds = folder / "sweep.toml", str(folder / "one"), str(folder / "all")
        plan.write_text(_SWEEP.format(tasks=effort.tasks, seeds=effort.sweep_seeds, rates=RATES))
        found = {
            "help_s": min(_seconds("--help") for _ in range(effort.help_calls)),
            "heavy_one_seed_s": _seconds(*heavy, "--seeds", "1", "--out", one),
            "heavy_s": _seconds(*heavy, "--seeds", str(effort.seeds), "--out", all_seeds) if effort.seeds > 1 else None,
            "report_s": _seconds("report", all_seeds if effort.seeds > 1 else one),
            "resume_finished_s": _seconds(*heavy, "--seeds", "1", "--out", one),
            "sweep_s": _seconds("sweep", str(plan), "--out", str(folder / "sweep"), *effort.options[:2]),
        }
    rounded = {name: None if value is None else round(value, 2) for name, value in found.items()}
    size = {"tasks": effort.tasks, "seeds": effort.seeds, "sweep_cells": len(RATES) * effort.sweep_seeds}
    machine = {"cores": len(os.sched_getaffinity(0)), "load_before": round(load_before, 2)}
    return {**rounded, **size, **machine, "heavy_limit_s": HEAVY_LIMIT_S}


def render(result: dict[str, Any]) -> str:
    """The figures as lines."""
    tasks = f"{result['tasks']:,} tasks"
    lines = [
        f"{result['cores']} cores, load average before: {result['load_before']}",
        _line("hms --help", result["help_s"]),
        _line("hms heavy --seeds 1", result["heavy_one_seed_s"], f"(aim {HEAVY_AIM_S:.0f} s)"),
        _line("hms report (11 plots as PNG + SVG, PDF)", result["report_s"]),
        _line("hms heavy on a finished folder", result["resume_finished_s"]),
        _line(f"hms sweep, {result['sweep_cells']} cells of 4 × {tasks}", result["sweep_s"]),
    ]
    if result["heavy_s"] is not None:
        within = "within" if result["heavy_s"] <= HEAVY_LIMIT_S else "OVER"
        name = f"hms heavy ({tasks}, all, {result['seeds']} seeds)"
        lines.insert(2, _line(name, result["heavy_s"], f"({within} {HEAVY_LIMIT_S:.0f} s)"))
    return "\n".join(lines)


def _line(name: str, seconds: float, note: str = "") -> str:
    return f"{name:41} {seconds:8.2f} s  {note}".rstrip()
