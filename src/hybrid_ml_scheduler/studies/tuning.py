"""Tuning to one stream: settings are searched on its earlier part, and judged beside plain rules on its later part.

Settings are proposed by playing the earlier part again with the seconds that its tasks took: they have ended, so these
are known. Which of them is better, and everything that is advised, is decided by runs at the level of knowledge that
was asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import FloatColumn, RaceContext, Scheduler, TaskBatch
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.knowledge import EXACT, Level
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.physics.durations import batch_terms
from hybrid_ml_scheduler.physics.held_choices import fastest_seconds
from hybrid_ml_scheduler.physics.optimum import SHORTEST_S
from hybrid_ml_scheduler.plans.intervals import Interval, t_interval
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.schedulers.agents.hold_model import HoldModel
from hybrid_ml_scheduler.schedulers.agents.rl_hold import RlHold
from hybrid_ml_scheduler.schedulers.holding.settings import History, Setting, nested_limits
from hybrid_ml_scheduler.schedulers.tuned import TunedRule
from hybrid_ml_scheduler.studies.running import run_known
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
TRAINED = ("rl_hold", "hybrid_ml")

EARLIER = 0.6
FEWEST_TASKS = 200
_PERIODS = 5
_SLOWEST = (1.25, 1.5, 2.0, 4.0, 6.0, 10.0)
_PRICES = (0.3, 0.6, 1.0)
_CPU_LIMITS = (1.0, 3.0, 10.0, 30.0)
_CPU_PRICES = (0.0, 0.5, 1.0)
_MOST_TASKS = 20_000
_MOST_STEPPED, _LATEST_STEPPED = 4_000, 30_000  # gangs, and what is learned, are run step by step, which takes long
_BLOCKS = 20
_MUCH_WORSE = 0.1

Tell = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What came of it: the value of everything on the later part, and what to use."""

    objective: str
    level: Level
    values: Mapping[str, float]
    best_rule: str
    against_best_rule: Interval
    recommended: str
    tuned: TunedRule
    model: HoldModel
    judged_tasks: int

    @property
    def is_tuned(self) -> bool:
        """Whether the tuned file is what to use."""
        return self.recommended == "tuned"


def tune(
    known: KnownTasks,
    level: Level,
    *,
    objective: str = "latency",
    aging: float = 0.0,
    state: Path | None = None,
    tell: Tell = lambda label, done, total: None,
) -> Tuning:
    """Search on the first 60 % of a stream, judge on the rest, and recommend what a paired interval says is better.

    Strategies know of durations what the level says, in every run that decides anything. `aging` bounds the longest
    wait, as for `sjf`; settings are searched under that bound.
    """
    _check(known.batch)
    gangs = bool(known.batch.gpus_required.max() > 1)
    stepped = gangs or level != EXACT
    if stepped:
        latest = slice(max(0, len(known.batch) - _LATEST_STEPPED), None)
        known = replace(known, batch=known.batch.take(latest))
    cut = int(EARLIER * len(known.batch))
    first = max(0, cut - (_MOST_STEPPED if stepped else _MOST_TASKS))
    strategy = RlHold(objective=objective)
    strategy.prepare(RaceContext(estimator=PhysicsEstimator(known.node), seed=known.seed))
    tried = Tried(_history(known, aging).rows(max(0, cut - _MOST_TASKS), cut), objective, strategy.rates, state)
    settings = found_settings(tried, known.seed, tell)
    record = {"command": "hms tune", "objective": objective, "knowledge": level, "aging": aging, "tasks": cut}
    stream_of = _Stream(known, level, objective)
    # The search plays tasks again one GPU each: among gangs its settings are no advice.
    families = _candidates([] if gangs else settings, known.batch, known.node, aging)
    finalists = _finalists(families, stream_of, first, cut, record, tell)
    return _judged(finalists, stream_of, cut, aging, tuned_model(settings[0], PATIENCE, record, aging), tell)


def _judged(
    finalists: Sequence[TunedRule], stream_of: _Stream, cut: int, aging: float, model: HoldModel, tell: Tell
) -> Tuning:
    """Run everything over the whole stream, compare on the later part, and say what to use."""
    objective, rules = stream_of.objective, _rules(aging)
    makers = _makers(rules, finalists, stream_of, aging)
    costs = {}
    for place, (name, make) in enumerate(makers.items()):
        tell("judging on the later part", place, len(makers))
        costs[name] = stream_of.costs(make())
    values = {name: _value(column[cut:], objective) for name, column in costs.items()}
    tuned = min(range(len(finalists)), key=lambda place: values[f"tuned {place}"])
    costs["tuned"], values["tuned"] = costs[f"tuned {tuned}"], values[f"tuned {tuned}"]
    best = _safest({name: costs[name] for name in rules}, objective)
    trained = [name for name in TRAINED if name in values]
    learned = min(("tuned", *trained), key=lambda name: values[name])
    interval = _paired(costs[learned][cut:], costs[best][cut:])
    beaten = interval.high < 0.0 and all(values[learned] < values[rule] for rule in rules)
    proven = beaten and _never_behind(costs[learned], costs[best], objective)
    return Tuning(
        objective=objective,
        level=stream_of.level,
        values={name: values[name] for name in (*rules, *trained, "tuned")},
        best_rule=best,
        against_best_rule=interval,
        recommended=learned if proven else best,
        tuned=finalists[tuned],
        model=model,
        judged_tasks=len(costs[best]) - cut,
    )


def _rules(aging: float) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
    """The untuned rules; where the longest wait is to be bounded, those that can hold by the bound or never hold."""
    if not aging:
        return RULES
    unbounded = ("c_mu", "hetero_prio")
    bounded = {name: (rule, options) for name, (rule, options) in RULES.items() if rule not in unbounded}
    return {
        name: (rule, {**options, "aging": aging} if rule == "sjf" else options)
        for name, (rule, options) in bounded.items()
    }


def _makers(
    rules: Mapping[str, tuple[str, Mapping[str, Any]]], finalists: Sequence[TunedRule], stream_of: _Stream, aging: float
) -> dict[str, Callable[[], Scheduler]]:
    """Everything that is judged: the rules, what is shipped trained or learns, and what was tuned."""
    makers: dict[str, Callable[[], Scheduler]] = {
        name: lambda spec=spec: create(*spec)  # type: ignore[misc]
        for name, spec in rules.items()
    }
    makers["rl_hold"] = lambda: RlHold(objective=stream_of.objective, aging=aging or -1.0)  # -1: as the model says
    if stream_of.level != EXACT:  # told the truth it has nothing to learn
        makers["hybrid_ml"] = lambda: create("hybrid_ml", {"aging": aging} if aging else {})
    for place, one in enumerate(finalists):
        makers[f"tuned {place}"] = lambda one=one: create(one.strategy, one.options)  # type: ignore[misc]
    return makers


def _check(batch: TaskBatch) -> None:
    if batch.has_dependencies:
        raise PlanError("hms tune is for streams; these tasks wait for one another (rl_hold plans graphs by itself).")
    if len(batch) < FEWEST_TASKS:
        raise PlanError(f"hms tune needs at least {FEWEST_TASKS} tasks; there are {len(batch)}.")
    if batch.arrival_time[0] == batch.arrival_time[-1]:
        raise PlanError("hms tune is for streams; all these tasks arrive at once.")


def _history(known: KnownTasks, aging: float) -> History:
    """The stream with the seconds that tasks took, to play its earlier part again."""
    batch, seconds = known.batch, known.true
    terms = batch_terms(batch, known.node, seconds)
    size_s = fastest_seconds(seconds.cpu_s, seconds.gpu_s, True)
    return History(batch.arrival_time, size_s, terms, aging or math.inf, PATIENCE)


class _Stream:
    """The tasks that are tuned for, run whole under any strategy that knows of durations what the level says."""

    def __init__(self, known: KnownTasks, level: Level, objective: str) -> None:
        self._parts: dict[tuple[int, int | None], KnownTasks] = {(0, None): known}
        self.objective, self.level = objective, level
        batch, seconds = known.batch, known.true
        size_s = np.maximum(fastest_seconds(seconds.cpu_s, seconds.gpu_s, True), SHORTEST_S)
        self._divisor = size_s if objective == "slowdown" else np.ones(len(batch))

    def costs(self, strategy: Scheduler, first: int = 0, last: int | None = None) -> FloatColumn:
        """What every task of a part costs when the strategy meets that part alone."""
        part = slice(first, last)
        if (first, last) not in self._parts:
            whole = self._parts[0, None]
            self._parts[first, last] = replace(whole, batch=whole.batch.take(part))
        return run_known(strategy, self._parts[first, last], self.level).latency_s / self._divisor[part]


Candidates = list[tuple[str, dict[str, Any]]]


def _candidates(settings: Sequence[Setting], batch: TaskBatch, node: Node, aging: float) -> list[Candidates]:
    """By family, what may be tuned: options of `sjf`, and unless waits are to be bounded those of `c_mu`."""
    grids = (True, False) if batch.divisible.any() else (False,)
    found: list[dict[str, Any]] = []
    for one in settings:
        limits = list(nested_limits(one, node.num_gpus + 1))
        options = {"price": one.price, "longest": limits, "patience": PATIENCE}
        found += [{"splits": splits, **options} for splits in (one.splits, False) if splits in grids]
    found += [{"splits": False, "price": price} for price in _PRICES]
    found += [
        {"splits": splits, "price": price, "longest": [limit, math.inf]}
        for splits in grids
        for price in _CPU_PRICES
        for limit in _CPU_LIMITS
    ]
    bound = {"aging": aging} if aging else {}
    shortest: Candidates = [("sjf", {**one, **bound}) for place, one in enumerate(found) if one not in found[:place]]
    return [shortest] if aging else [shortest, [("c_mu", {"slowest": slowest}) for slowest in _SLOWEST]]


def _finalists(
    families: Sequence[Candidates], stream_of: _Stream, first: int, cut: int, record: Mapping[str, Any], tell: Tell
) -> list[TunedRule]:
    """Of each family the candidate that was never far behind the best of all, in any period of the earlier part."""
    every = [one for family in families for one in family]
    periods = []
    for place, one in enumerate(every):
        tell("comparing the best on the earlier part", place, len(every))
        periods.append(_period_values(stream_of.costs(create(*one), first, cut), str(record["objective"])))
    least = np.min(periods, axis=0)
    found, begin = [], 0
    for family in families:
        regrets = [_regret(values, least) for values in periods[begin : begin + len(family)]]
        strategy, options = family[int(np.argmin(regrets))]
        found.append(TunedRule(strategy=strategy, options=options, record=record))
        begin += len(family)
    return found


def _regret(values: FloatColumn, least: FloatColumn) -> float:
    """How far behind the least values: in the mean of the periods and in the worst of them."""
    behind = np.log(values / least)
    return float(behind.mean() + behind.max())


def _period_values(costs: FloatColumn, objective: str) -> FloatColumn:
    """The objective in each of some periods of equally many tasks; the first tasks find an empty node."""
    return np.array([_value(part, objective) for part in np.array_split(costs[len(costs) // 10 :], _PERIODS)])


def _safest(costs: Mapping[str, FloatColumn], objective: str) -> str:
    """The plain rule that was never far behind the best of them, in any period of all that is known.

    One that is a little ahead now and many times behind at the next burst is no rule to keep.
    """
    periods = {name: _period_values(column, objective) for name, column in costs.items()}
    least = np.min(list(periods.values()), axis=0)
    return min(periods, key=lambda name: _regret(periods[name], least))


def _never_behind(ours: FloatColumn, theirs: FloatColumn, objective: str) -> bool:
    """Whether the one is the better one over all that is known as well, and much worse in none of its periods."""
    mine, rule = _period_values(ours, objective), _period_values(theirs, objective)
    return bool(mine.mean() < rule.mean() and np.all(mine < (1.0 + _MUCH_WORSE) * rule))


def _value(column: FloatColumn, objective: str) -> float:
    return float(np.quantile(column, 0.99) if objective == "p99" else column.mean())


def _paired(ours: FloatColumn, theirs: FloatColumn) -> Interval:
    """The interval of the mean difference; neighbours depend on each other, so blocks of tasks are what is counted."""
    blocks = np.array_split(ours - theirs, _BLOCKS)
    return t_interval([float(block.mean()) for block in blocks])
