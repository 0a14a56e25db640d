"""Tuning to one stream: settings are searched on its earlier part, and judged beside plain rules on its later part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, RaceContext, Scheduler, TaskBatch
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.physics import Durations, Node, PhysicsEstimator, durations
from hybrid_ml_scheduler.physics.held_choices import fastest_seconds
from hybrid_ml_scheduler.plans.intervals import Interval, t_interval
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.schedulers.agents.hold_model import HoldModel
from hybrid_ml_scheduler.schedulers.agents.rl_hold import RlHold
from hybrid_ml_scheduler.schedulers.holding.settings import History
from hybrid_ml_scheduler.studies.race import run_scheduler
from hybrid_ml_scheduler.training.hold_search import Tried, found_settings, tuned_model
from hybrid_ml_scheduler.training.hold_training import PATIENCE

__all__ = ["RULES", "Tuning", "tune"]

RULES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "sjf": ("sjf", {}),
    "sjf (whole tasks)": ("sjf", {"splits": False}),
    "c_mu": ("c_mu", {}),
    "hetero_prio": ("hetero_prio", {}),
    "earliest_finish": ("earliest_finish", {}),
    "earliest_device": ("earliest_device", {}),
    "frugal_finish": ("frugal_finish", {}),
}
"""The untuned rules that a tuned strategy must beat."""

EARLIER = 0.6
FEWEST_TASKS = 200
_MOST_TASKS = 20_000
_BLOCKS = 20
_SHORTEST_S = 0.01

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What came of it: the value of everything on the later part, and what to use."""

    objective: str
    values: Mapping[str, float]
    best_rule: str
    against_best_rule: Interval
    recommended: str
    model: HoldModel
    judged_tasks: int

    @property
    def is_tuned(self) -> bool:
        """Whether the tuned file is what to use."""
        return self.recommended == "tuned"


def tune(
    batch: TaskBatch,
    node: Node,
    *,
    objective: str = "latency",
    seed: int = 0,
    state: Path | None = None,
    tell: Tell = lambda label, done, total: None,
) -> Tuning:
    """Search on the first 60 % of a stream, judge on the rest, and recommend what a paired interval says is better."""
    _check(batch)
    seconds = durations(batch, node)
    cut = int(EARLIER * len(batch))
    first = max(0, cut - _MOST_TASKS)
    strategy = RlHold(objective=objective)
    strategy.prepare(RaceContext(estimator=PhysicsEstimator(node), seed=seed))
    tried = Tried(_history(batch, node, seconds).rows(first, cut), objective, strategy.rates, state)
    chosen = found_settings(tried, seed, tell)[0]
    model = tuned_model(chosen, PATIENCE, {"command": "hms tune", "objective": objective, "tasks": cut})
    later = _judged(batch, node, seconds, cut, objective, model, seed, tell)
    values = {name: _value(column, objective) for name, column in later.items()}
    rules = [name for name in later if name not in ("tuned", "rl_hold")]
    best = min(rules, key=lambda name: values[name])
    learned = min(("tuned", "rl_hold"), key=lambda name: values[name])
    interval = _paired(later[learned], later[best])
    return Tuning(
        objective=objective,
        values=values,
        best_rule=best,
        against_best_rule=interval,
        recommended=learned if interval.high < 0.0 else best,
        model=model,
        judged_tasks=len(batch) - cut,
    )


def _check(batch: TaskBatch) -> None:
    if batch.has_dependencies:
        raise PlanError("hms tune is for streams; these tasks wait for one another (rl_hold plans graphs by itself).")
    if len(batch) < FEWEST_TASKS:
        raise PlanError(f"hms tune needs at least {FEWEST_TASKS} tasks; there are {len(batch)}.")
    if batch.arrival_time[0] == batch.arrival_time[-1]:
        raise PlanError("hms tune is for streams; all these tasks arrive at once.")


def _history(batch: TaskBatch, node: Node, seconds: Durations) -> History:
    terms = PhysicsEstimator(node).batch_terms(batch)
    size_s = fastest_seconds(seconds.cpu_s, seconds.gpu_s, True)
    return History(batch.arrival_time, batch.arrival_time + PATIENCE * size_s, size_s, terms)


def _judged(
    batch: TaskBatch,
    node: Node,
    seconds: Durations,
    cut: int,
    objective: str,
    model: HoldModel,
    seed: int,
    tell: Tell,
) -> dict[str, FloatColumn]:
    """What each task of the later part cost, under the rules, the shipped strategy and the tuned one."""
    size_s = np.maximum(fastest_seconds(seconds.cpu_s, seconds.gpu_s, True), _SHORTEST_S)
    makers: dict[str, Callable[[], Scheduler]] = {
        name: lambda spec=spec, options=options: create(spec, options)  # type: ignore[misc]
        for name, (spec, options) in RULES.items()
    }
    makers["rl_hold"] = lambda: RlHold(objective=objective)
    makers["tuned"] = lambda: RlHold(objective=objective).adopt(model)
    found = {}
    for place, (name, make) in enumerate(makers.items()):
        tell("judging on the later part", place, len(makers))
        latency_s = run_scheduler(make(), batch, node, seed=seed, seconds=seconds).latency_s
        found[name] = (latency_s / size_s if objective == "slowdown" else latency_s)[cut:]
    return found


def _value(column: FloatColumn, objective: str) -> float:
    return float(np.quantile(column, 0.99) if objective == "p99" else column.mean())


def _paired(ours: FloatColumn, theirs: FloatColumn) -> Interval:
    """The interval of the mean difference; neighbours depend on each other, so blocks of tasks are what is counted."""
    blocks = np.array_split(ours - theirs, _BLOCKS)
    return t_interval([float(block.mean()) for block in blocks])
