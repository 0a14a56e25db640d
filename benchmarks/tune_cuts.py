"""`hms tune` at many points in time: what it recommends beside the best untuned rule, on tasks that it never saw.

Each of three public traces (LLM requests, a parallel machine's log, Philly's jobs; 5,000 tasks each) is cut at 20
points. `tune` sees what lies before the cut; its advice and all rules then run through, and the tasks after the cut
count. The best rule is the one that was best after the cut, which nobody can know before. LLM requests are given a load
of 80 %: as recorded they hardly wait, and nothing can be won.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, TaskBatch
from hybrid_ml_scheduler.core.knowledge import EXACT
from hybrid_ml_scheduler.physics import Durations, Node, durations
from hybrid_ml_scheduler.physics.truth import Truth
from hybrid_ml_scheduler.plans.intervals import Interval, t_interval
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.race import run_scheduler
from hybrid_ml_scheduler.studies.tuning import RULES, Tuning, tune
from hybrid_ml_scheduler.workload import load

__all__ = ["measured", "render", "run"]

TRACES = Path(__file__).resolve().parent.parent.parent / "shared" / "traces"
SOURCES: dict[str, tuple[str, dict[str, float]]] = {
    "LLM": ("azure_llm_2023/*conv*.csv.gz", {"target_load": 0.8}),
    "SWF": ("pwa_swf/*.swf.gz", {}),
    "Philly": ("philly_2017/*.csv.gz", {}),
}
BLOCKS = 20


def run(*, quick: bool) -> dict[str, Any]:
    """All traces that are found; takes some minutes unless it is to be quick."""
    return {"tune_cuts": measured(tasks=400, cuts=1) if quick else measured(tasks=5000, cuts=20)}


def measured(*, tasks: int, cuts: int) -> dict[str, Any]:
    """By trace: at how many cuts the advice was ahead, behind or neither, and by how much in the median."""
    found = {}
    for name, (pattern, options) in SOURCES.items():
        paths = sorted(TRACES.glob(pattern))
        if not paths:
            print(f"tune_cuts: no trace of {name} under {TRACES}", file=sys.stderr)
            continue
        batch = load(paths[0], seed=0, limit=tasks, options=options)
        points = np.linspace(0.3, 0.8, cuts) if cuts > 1 else np.array([0.6])
        found[name] = _at_cuts(name, batch, (points * len(batch)).astype(int).tolist())
    return found


def _at_cuts(name: str, batch: TaskBatch, cuts: list[int]) -> dict[str, Any]:
    node = Node()
    seconds = durations(batch, node)
    rules = {rule: _latency(spec, batch, node, seconds) for rule, spec in RULES.items()}
    intervals: list[Interval] = []
    slowest_s, advised = 0.0, []
    for cut in cuts:
        begun = time.perf_counter()
        known = KnownTasks(batch=batch.take(slice(0, cut)), node=node, truth=Truth(), seed=0)
        advice = tune(known, EXACT)
        slowest_s = max(slowest_s, time.perf_counter() - begun)
        ours = _latency(_spec(advice), batch, node, seconds)[cut:]
        best = min((column[cut:] for column in rules.values()), key=lambda column: float(column.mean()))
        intervals.append(_relative(ours, best))
        advised.append(advice.recommended)
        print(f"tune_cuts: {name} at {cut}: {advice.recommended}, {intervals[-1].mean:+.2%}", file=sys.stderr)
    return {
        "cuts": len(cuts),
        "ahead": sum(one.high < 0.0 for one in intervals),
        "behind": sum(one.low > 0.0 for one in intervals),
        "median_difference": float(np.median([one.mean for one in intervals])),
        "worst_difference": max(one.mean for one in intervals),
        "advised_tuned": sum(one in ("tuned", "rl_hold") for one in advised),
        "slowest_tune_s": slowest_s,
    }


def _spec(advice: Tuning) -> tuple[str, Any]:
    if advice.is_tuned:
        return advice.tuned.strategy, advice.tuned.options
    return ("rl_hold", {}) if advice.recommended == "rl_hold" else RULES[advice.recommended]


def _latency(spec: tuple[str, Any], batch: TaskBatch, node: Node, seconds: Durations) -> FloatColumn:
    return run_scheduler(create(*spec), batch, node, seed=0, seconds=seconds).latency_s


def _relative(ours: FloatColumn, best: FloatColumn) -> Interval:
    """The difference as a share of the best rule's mean; neighbours depend on each other, so blocks are counted."""
    blocks = np.array_split((ours - best) / best.mean(), BLOCKS)
    return t_interval([float(block.mean()) for block in blocks])


def render(result: dict[str, Any]) -> str:
    """The figures as text."""
    lines = []
    for name, one in result["tune_cuts"].items():
        lines.append(
            f"{name:8} {one['cuts']} cuts: ahead {one['ahead']}, behind {one['behind']}; median "
            f"{one['median_difference']:+.2%}, worst {one['worst_difference']:+.2%}; tuned or learned advised "
            f"{one['advised_tuned']}; slowest tuning {one['slowest_tune_s']:.1f} s"
        )
    return "\n".join(lines) or "No trace was found."
