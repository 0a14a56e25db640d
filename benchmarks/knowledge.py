"""What not knowing costs, and how much of it is learned: the preset `unknown`, test seeds 0 to 9, first tenth left out.

Ratios are of mean latencies over all seeds, at load 0.5, 0.8 and 0.95 of the true capacity. `hybrid_ml` starts
ignorant and learns (`hybrid_ml@learned`).
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core.knowledge import EXACT, LEARNED, NOMINAL, SEEN
from hybrid_ml_scheduler.studies.knowledge import (
    DriftCell,
    KnowledgeCell,
    KnowledgeStudy,
    drift_cell,
    knowledge_cell,
    run_cells,
)

__all__ = ["render", "run"]

LOADS = (0.5, 0.8, 0.95)
DRIFT_LOADS = (0.5, 0.8)
STUDY = KnowledgeStudy(
    only=(
        ("earliest_finish", EXACT),
        ("earliest_finish", NOMINAL),
        ("earliest_finish", LEARNED),
        ("hybrid_ml", LEARNED),
    )
)


def run(*, quick: bool) -> dict[str, Any]:
    """Race both strategies at every level; takes several minutes unless it is to be quick."""
    seeds, study = (range(1), replace(STUDY, tasks=250)) if quick else (range(10), STUDY)
    _tell(f"{len(seeds)} seeds of {study.tasks:,} tasks")
    cells = [cell for cells in run_cells(knowledge_cell, study, LOADS, seeds, _dot) for cell in cells]
    result: dict[str, Any] = {"seeds": len(seeds), "tasks": study.tasks}
    told = ("earliest_finish", EXACT)
    result["earliest_finish_learned_vs_exact"] = _ratios(cells, ("earliest_finish", LEARNED), told)
    result["hybrid_ml_vs_exact"] = _ratios(cells, ("hybrid_ml", LEARNED), told)
    result["nominal_vs_hybrid_ml"] = _ratios(cells, ("earliest_finish", NOMINAL), ("hybrid_ml", LEARNED))
    _tell("backlogs corrected by what is seen to end")
    seen = [cell for cells in run_cells(_seen_cell, study, LOADS, seeds, _dot) for cell in cells]
    hybrid = [cell for cell in cells if cell.strategy == "hybrid_ml"]
    result["nominal_seen_vs_hybrid_ml"] = _ratios(
        [*seen, *hybrid], ("earliest_finish", NOMINAL), ("hybrid_ml", LEARNED)
    )
    result["nominal_vs_fastest_possible"] = {
        f"{load}": round(_mean(_latencies(cells, load, ("earliest_finish", NOMINAL))) / _fastest(cells, load), 4)
        for load in LOADS
    }
    _tell("drift")
    drifts: list[DriftCell] = run_cells(drift_cell, study, DRIFT_LOADS, seeds, _dot)
    result |= _after_drift(drifts)
    learned = [cell for cell in cells if cell.coverage is not None]
    result["coverage_90"] = {
        **{f"{load}": _mean([c.coverage for c in learned if c.load == load]) for load in LOADS},
        **{f"{load} after a drift": _mean([c.coverage for c in drifts if c.load == load]) for load in DRIFT_LOADS},
    }
    _tell("nothing hidden")
    plain = replace(study, kind_spread=0.0, tasks=min(study.tasks, 10_000))
    open_cells = [cell for cells in run_cells(_open_cell, plain, LOADS, seeds[:3], _dot) for cell in cells]
    result["nothing_hidden"] = _ratios(open_cells, ("hybrid_ml", LEARNED), ("earliest_finish", EXACT))
    return result


class _Open(KnowledgeStudy):
    """The same without noise."""

    def law(self) -> Any:
        return super().law().with_values({"noise_sigma": 0.0})


def _open_cell(study: KnowledgeStudy, load: float, seed: int) -> list[KnowledgeCell]:
    plain = _Open(only=study.only, tasks=study.tasks, kind_spread=0.0)
    return knowledge_cell(plain, load, seed)


def _seen_cell(study: KnowledgeStudy, load: float, seed: int) -> list[KnowledgeCell]:
    """The rule that is told the formula, its backlogs corrected by every part that it sees end."""
    seen = replace(study, only=(("earliest_finish", NOMINAL),), nominal_backlogs=SEEN)
    return knowledge_cell(seen, load, seed)


def _latencies(cells: list[KnowledgeCell], load: float, which: tuple[str, str]) -> list[float]:
    return [cell.mean_latency_s for cell in cells if cell.load == load and (cell.strategy, cell.level) == which]


def _fastest(cells: list[KnowledgeCell], load: float) -> float:
    """Mean seconds of the tasks at best, each alone on free devices: no strategy's latency can be less."""
    return _mean([cell.fastest_s for cell in cells if cell.load == load])


def _ratios(cells: list[KnowledgeCell], one: tuple[str, str], other: tuple[str, str]) -> dict[str, float]:
    """Mean latency over mean latency, by load."""
    return {
        f"{load}": round(_mean(_latencies(cells, load, one)) / _mean(_latencies(cells, load, other)), 4)
        for load in LOADS
    }


def _after_drift(drifts: list[DriftCell]) -> dict[str, Any]:
    found: dict[str, Any] = {"drift_vs_told": {}, "drift_without_forgetting_vs_told": {}, "drift_recovered_after": {}}
    for load in DRIFT_LOADS:
        own = [cell for cell in drifts if cell.load == load]
        told = _mean([cell.exact_s for cell in own])
        found["drift_vs_told"][f"{load}"] = round(_mean([cell.learned_s for cell in own]) / told, 4)
        stubborn = _mean([cell.stubborn_s for cell in own]) / told
        found["drift_without_forgetting_vs_told"][f"{load}"] = round(stubborn, 4)
        found["drift_recovered_after"][f"{load}"] = [cell.recovered_after for cell in own]
    return found


def _mean(values: list[Any]) -> float:
    return float(np.mean(values)) if values else float("nan")


def _dot() -> None:
    print(".", end="", file=sys.stderr, flush=True)


def _tell(what: str) -> None:
    print(f"\nmeasuring {what} ...", file=sys.stderr)


def render(result: dict[str, Any]) -> str:
    """One line a figure."""
    return "\n".join(f"{name}: {value}" for name, value in result.items())
