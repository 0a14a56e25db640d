"""The learned strategies beside every untuned rule: presets, public traces and the H200 profile, at both levels.

Nothing was chosen on these tasks: seeds from 100 on draw a preset's tasks, and of a trace each takes a stretch of its
later part and draws what the trace does not hold. Streams are judged by their mean latency without the first tenth,
workflows by their makespan. A rule that takes more than twice as long as the best one on the first two seeds is not
run on the others; `max_min` and `sufferage`, which take long among gangs, are left out. What is done is kept in a file,
so that it may be measured in pieces.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_ml_scheduler.cluster import capacity
from hybrid_ml_scheduler.core import Scheduler
from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.core.knowledge import EXACT, LEARNED, Level
from hybrid_ml_scheduler.hardware.node import node_from_profile
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.file_tasks import FileTasks
from hybrid_ml_scheduler.plans.intervals import bounded_interval
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks, known_at_load
from hybrid_ml_scheduler.plans.plan import plan_from_mapping
from hybrid_ml_scheduler.plans.truth_plan import usual_truth
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.engines import Failure, LocalEngine
from hybrid_ml_scheduler.studies.folder_files import write_whole
from hybrid_ml_scheduler.studies.race import run_known
from hybrid_ml_scheduler.workload import PRESETS, load, preset

__all__ = ["GRAPHS", "OURS", "Amount", "everywhere", "lines", "traces"]

TRACES = Path(__file__).resolve().parent.parent.parent / "shared" / "traces"
H200 = Path(__file__).resolve().parent.parent / "plans" / "hardware" / "h200.json"
STREAMS = ("*/openb_pod*.csv.gz", "azure*/*.csv.gz", "philly*/*.csv.gz", "*/*.swf.gz")
GRAPHS = ("wfinstances*/*.json.gz",)
LOADS = (0.5, 0.8, 0.95)
OURS = ("rl_hold", "hybrid_ml")
RULES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    name: (name, {})
    for name in (
        "earliest_finish",
        "earliest_device",
        "frugal_finish",
        "sjf",
        "c_mu",
        "hetero_prio",
        "min_min",
        "size_split",
        "rank_hold",
        "lpt",
        "work_stealing",
    )
} | {"sjf (whole tasks)": ("sjf", {"splits": False})}
WANTED = 1.10  # of the best rule, at most
_FIRST_SEED, _ALL_RULES_ON, _HOPELESS = 100, 2, 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much is measured: seeds, and tasks of a stream of a preset told and learning, and of a trace."""

    seeds: int = 5
    told: int = 4000
    learning: int = 1000
    traced: int = 1000
    most_sources: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One workload on one node at one load (0: a workflow, which is there at once) and one level of knowledge."""

    source: str
    hardware: str
    load: float
    level: Level
    tasks: int
    seeds: int

    @property
    def key(self) -> str:
        """Its name in the file of what is done."""
        return f"{self.label} | {self.tasks} tasks, {self.seeds} seeds"

    @property
    def label(self) -> str:
        """Its name in the table."""
        place = f"{self.load:.0%}" if self.load else "graph"
        return f"{self.level} | {self.hardware} | {Path(self.source).name.split('.')[0]} | {place}"


@lru_cache(maxsize=2)
def _file(source: str) -> FileTasks:
    return FileTasks(plan_from_mapping({"workload": {"file": source}}).workload, Node())


def known_tasks(cell: Cell, seed: int) -> KnownTasks:
    """The tasks of a cell with their truth."""
    truth, node = usual_truth(cell.source), node_from_profile(H200) if cell.hardware else Node()
    if cell.source in PRESETS:
        law = preset(cell.source).with_values({"num_tasks": cell.tasks})
        return known_at_load(law, node, cell.load, seed, truth=truth)
    if not cell.load:
        batch = load(Path(cell.source), seed=seed, options={"divisible": 1})
    else:
        file = _file(cell.source)
        found = file.tasks(seed, cell.tasks)
        batch = file.at_rate(found, cell.load * capacity(found, node))
    return KnownTasks(batch=batch, node=node, truth=truth, seed=seed)


def value_of(strategy: Scheduler, known: KnownTasks, cell: Cell) -> float:
    """Mean latency without the first tenth, of a workflow the makespan."""
    arrival, finish = known.batch.arrival_time, run_known(strategy, known, cell.level).finish_s
    if not cell.load:
        return float(np.nanmax(finish) - arrival[0])
    return float(np.nanmean((finish - arrival)[len(arrival) // 10 :]))


def measured(job: tuple[Cell, dict[str, list[float]]]) -> dict[str, list[float]]:
    """One value a seed for every strategy that was not measured before; fewer for rules that are given up."""
    cell, found = job
    names = [name for name in (*RULES, *OURS) if name not in found]
    for place in range(cell.seeds if names else 0):
        known = known_tasks(cell, _FIRST_SEED + place)
        least = min((sum(found[name][:_ALL_RULES_ON]) for name in RULES if name in found), default=math.inf)
        for name in names:
            column = found.setdefault(name, [])
            if name in OURS or place < _ALL_RULES_ON or sum(column[:_ALL_RULES_ON]) <= _HOPELESS * least:
                column.append(value_of(create(*RULES.get(name, (name, {}))), known, cell))
    return found


def cells_of(amount: Amount) -> list[Cell]:
    """Presets on two nodes and traces at three loads, workflows as they are, each at both levels."""
    presets = sorted(list(PRESETS)[: amount.most_sources], key=lambda name: name != "unknown")  # it hides most
    streams, graphs = (traces(patterns, amount.most_sources) for patterns in (STREAMS, GRAPHS))
    sources = [(str(path), "", False) for path in streams]
    sources += [(name, hardware, True) for hardware in ("", "h200") for name in presets]
    found = []
    for level in (EXACT, LEARNED):
        one = Cell(source="", hardware="", load=0.0, level=level, tasks=0, seeds=amount.seeds)
        found += [replace(one, source=str(path)) for path in graphs]
        for source, hardware, is_preset in sources:
            own = amount.told if level == EXACT else amount.learning
            one = Cell(
                source=source,
                hardware=hardware,
                load=LOADS[0],
                level=level,
                tasks=own if is_preset else amount.traced,
                seeds=amount.seeds,
            )
            found += [replace(one, load=place) for place in LOADS]
    return found


def traces(patterns: Sequence[str], most: int) -> list[Path]:
    """The public traces that are found, at most so many."""
    return sorted(path for pattern in patterns for path in TRACES.glob(pattern))[:most]


def everywhere(amount: Amount, out: Path | None, workers: int | None) -> dict[str, Any]:
    """The standing of both learned strategies in every cell, and which cells miss what is wanted."""
    cells, done = cells_of(amount), _kept(out)
    left = [cell for cell in cells if not _is_done(done.get(cell.key, {}))]
    jobs = [(cell, done.get(cell.key, {})) for cell in left]
    for index, outcome in LocalEngine(workers).results(measured, jobs):
        if isinstance(outcome, Failure):
            raise HmsError(f"{left[index].label}: {outcome.reason}")
        done[left[index].key] = outcome
        if out is not None:
            out.parent.mkdir(parents=True, exist_ok=True)
            write_whole(out, json.dumps(done, indent=0).encode())
        ready = sum(_is_done(done.get(cell.key, {})) for cell in cells)
        words = "; ".join(f"{name} {_figures(standing(outcome, name))}" for name in OURS)
        print(f"portfolio: {ready} of {len(cells)}: {left[index].label}: {words}", file=sys.stderr, flush=True)
    found = {cell.label: {name: standing(done[cell.key], name) for name in OURS} for cell in cells}
    return {"cells": found, "verdict": {name: _verdict(found, name) for name in OURS}}


def _is_done(values: Mapping[str, Sequence[float]]) -> bool:
    return all(name in values for name in OURS)


def _kept(out: Path | None) -> dict[str, dict[str, list[float]]]:
    if out is None or not out.is_file():
        return {}
    kept: dict[str, dict[str, list[float]]] = json.loads(out.read_text(encoding="utf-8"))
    return kept


def standing(values: Mapping[str, Sequence[float]], name: str) -> dict[str, Any]:
    """The best rule, the learned strategy over it with a paired interval, and over `earliest_finish`.

    The ratio is that of the means over the seeds, the interval that of the paired differences.
    """
    count = len(values[name])
    means = {rule: float(np.mean(values[rule])) for rule in RULES if len(values[rule]) == count}
    best = min(means, key=lambda rule: means[rule])
    ours, theirs = np.array(values[name]), np.array(values[best])
    spread = bounded_interval(1.0 + (ours - theirs) / theirs.mean())
    blind = np.array(values["earliest_finish"])
    return {
        "rule": best,
        "best_s": means[best],
        "ratio": spread.mean,
        "interval": [spread.low, spread.high],
        "worst_seed": float((ours / theirs).max()),
        "vs_earliest_finish": float(ours[: len(blind)].mean() / blind.mean()),
    }


def _verdict(found: Mapping[str, Mapping[str, Mapping[str, Any]]], name: str) -> dict[str, Any]:
    """What is wanted: everything at most 1.10 of the best rule."""
    own = {label: one[name] for label, one in found.items()}
    return {
        "cells": len(own),
        "above": [label for label, one in own.items() if one["ratio"] > WANTED],
        "above_by_interval": [label for label, one in own.items() if one["interval"][0] > WANTED],
        "below_1_by_interval": sum(one["interval"][1] < 1.0 for one in own.values()),
        "highest": max(own, key=lambda label: own[label]["ratio"]),
        "behind_earliest_finish": [label for label, one in own.items() if one["vs_earliest_finish"] > 1.02],
    }


def lines(result: Mapping[str, Any]) -> list[str]:
    """A table for each strategy and level of knowledge and what they amount to, as Markdown."""
    tables: dict[tuple[str, str], dict[str, list[str]]] = {}
    for label, found in result["cells"].items():
        level, hardware, source, place = label.split(" | ")
        row = f"{hardware} {source}".strip() + (" (makespan)" if place == "graph" else "")
        for name, one in found.items():
            tables.setdefault((name, level), {}).setdefault(row, []).append(_figures(one))
    written = []
    for (name, level), rows in tables.items():
        written += [f"| `{name}` at `{level}` | 50 % | 80 % | 95 % |", "|---|---|---|---|"]
        written += [f"| {row} | {' | '.join([*figures, '', ''][:3])} |" for row, figures in rows.items()]
        written.append("")
    for name, verdict in result["verdict"].items():
        for key, one in verdict.items():
            written.append(f"- `{name}`, {key}: {'; '.join(one) if isinstance(one, list) else one}")
    return written


def _figures(one: Mapping[str, Any]) -> str:
    low, high = one["interval"]
    return f"{one['ratio']:.3f} [{low:.3f}, {high:.3f}] `{one['rule']}`"
