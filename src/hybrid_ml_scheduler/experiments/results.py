"""The results of a race as plain values: means over seeds with intervals, plan, bound and versions."""

from __future__ import annotations

import csv
import json
import math
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.experiments.intervals import t_interval
from hybrid_ml_scheduler.experiments.metrics import HEADLINE
from hybrid_ml_scheduler.experiments.plans import Plan
from hybrid_ml_scheduler.experiments.race import Entrant, SeedRace, same_tasks, samples_of
from hybrid_ml_scheduler.experiments.statistics import Comparison, compare_all
from hybrid_ml_scheduler.workload.files import written

__all__ = ["race_mapping", "versions", "write_race"]

_SAME_TASKS = (
    "same_tasks: every seed gives the same tasks, so these are repeats of one observation; an interval shows only how "
    "much the strategies' own luck matters, and no winner is named."
)
_PARTS = ("hybrid-ml-scheduler", "numpy", "numba", "scikit-learn", "torch")


def versions() -> dict[str, str]:
    """The versions of the parts that a result depends on."""
    return {"python": platform.python_version(), **{part: _version(part) for part in _PARTS}}


def _version(part: str) -> str:
    try:
        return version(part)
    except PackageNotFoundError:
        return "absent"


def race_mapping(plan: Plan, strategies: Sequence[Entrant], races: Sequence[SeedRace]) -> dict[str, Any]:
    """Everything a race found out, ready for JSON."""
    schedulers = {}
    for entrant in strategies:
        metrics = averaged([race.metrics(entrant.name) for race in races])
        schedulers[entrant.name] = {**metrics, "learning": entrant.learning}
    comparisons = [one for metric in HEADLINE for one in compare_all(metric, samples_of(races, metric))]
    if len(races) < 2 or same_tasks(races):
        comparisons = []  # one set of tasks shows nothing about the next
    bounds = [{"makespan_s": race.bound.makespan_s, "mean_time_s": race.bound.mean_time_s} for race in races]
    return {
        "schedulers": schedulers,
        "lower_bound": {**averaged(bounds), "argument": races[0].bound.binding},
        "plan": {**plan.to_mapping(), "digest": plan.digest},
        "seed": plan.seed,
        "seeds": len(races),
        "tasks": races[0].tasks,
        "assumptions": [*races[0].assumptions, *([_SAME_TASKS] if same_tasks(races) else [])],
        "comparisons": [_comparison(one) for one in comparisons],
        "versions": versions(),
    }


def _comparison(one: Comparison) -> dict[str, Any]:
    """A paired comparison as plain values; `winner` is null where no difference is shown."""
    return {
        "metric": one.metric,
        "first": one.first,
        "second": one.second,
        "difference": _plain(one.difference.mean),
        "difference_ci": [_plain(one.difference.low), _plain(one.difference.high)],
        "relative": _plain(one.relative),
        "p_holm": one.p_adjusted,
        "winner": one.winner,
    }


def averaged(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One row as it is; several as means with `<metric>_ci` beside each."""
    if len(rows) == 1:
        return {key: _plain(value) for key, value in rows[0].items()}
    found: dict[str, Any] = {}
    for key, value in rows[0].items():
        if isinstance(value, Mapping):
            inner = averaged([row[key] for row in rows])
            found[key] = {name: number for name, number in inner.items() if not name.endswith("_ci")}
            found[f"{key}_ci"] = {
                name.removesuffix("_ci"): ends for name, ends in inner.items() if name.endswith("_ci")
            }
        elif any(row[key] is None for row in rows):
            found[key], found[f"{key}_ci"] = None, None
        else:
            interval = t_interval([float(row[key]) for row in rows])
            found[key] = _plain(interval.mean)
            found[f"{key}_ci"] = [_plain(interval.low), _plain(interval.high)]
    return found


def _plain(value: Any) -> Any:
    """JSON has no NaN: what is not known is null."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_race(folder: Path, result: Mapping[str, Any]) -> None:
    """Write plan, results and a table into a folder; the results come last and mark it complete."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PlanError(f"The folder {folder} cannot be made: {error.strerror}.") from None
    with written(folder / "plan.json") as file:
        file.write(json.dumps(result["plan"], indent=2) + "\n")
    with written(folder / "summary.csv") as file:
        table = csv.writer(file, lineterminator="\n")
        names = [key for key, value in _first(result).items() if not isinstance(value, (Mapping, list))]
        table.writerow(["scheduler", *names])
        for name, metrics in result["schedulers"].items():
            table.writerow([name, *(metrics[key] for key in names)])
    with written(folder / "race.json") as file:
        file.write(json.dumps(result, indent=2, allow_nan=False) + "\n")


def _first(result: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(iter(result["schedulers"].values()))
    return found
