"""Where does a strategy do worst? A seeded search over workload laws and small instances.

The worth of a case is the strategy's mean latency over a rival's on the same tasks: the best of a portfolio, or the
proven bound. Laws are searched by drawing and then by narrowing around the worst found (the cross-entropy method);
small instances by changing one number of the worst one at a time. Every case found is a plan that can be raced.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybrid_ml_scheduler.cluster import capacity, certificate
from hybrid_ml_scheduler.core import FloatColumn, Scheduler, TaskBatch, stream
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.physics import Node, durations
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.race import run_scheduler
from hybrid_ml_scheduler.workload import generate, preset

__all__ = ["BOUND", "PORTFOLIO", "RIVALS", "Attack", "AttackResult", "Case", "Found", "attack", "runs_of"]

BOUND = "bound"
RIVALS = ("portfolio", BOUND)
PORTFOLIO = ("earliest_finish", "earliest_device", "frugal_finish", "sjf", "gpu_only", "greedy", "round_robin")
_KEPT_SHARE = 0.25
_ROUNDS = 4
_LEAST_SPREAD = 0.05
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """What is attacked, against whom, on which node, and how many tries may be spent on laws and on small instances."""

    strategy: str
    node: Node
    against: str = "portfolio"
    tasks: int = 400
    tries: int = 120
    small_tasks: int = 6
    seed: int = 0

    @property
    def portfolio(self) -> tuple[str, ...]:
        """The rivals; the attacked strategy itself is none."""
        return tuple(name for name in PORTFOLIO if name != self.strategy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Laws of a workload that can be raced (`laws`, `seed`), or the tasks of a small instance (`batch`)."""

    laws: Mapping[str, Any]
    seed: int
    batch: TaskBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A bad case: how many times the rival's mean latency the strategy had, and who the rival was."""

    ratio: float
    rival: str
    latency_s: float
    rival_latency_s: float
    case: Case


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackResult:
    """The worst workload and the worst small instance that were found, and the usual case beside them."""

    usual: Found
    worst: Found
    smallest: Found
    looked_at: int


# One number in [0, 1] for each law that is searched, and what it becomes.
_LAWS: tuple[tuple[str, Callable[[float], Any]], ...] = (
    ("load", lambda x: 0.3 + 1.2 * x),
    ("intensity_low", lambda x: x),
    ("intensity_high", lambda x: x),
    ("size_high", lambda x: 200.0 * 50.0**x),
    ("memory_high", lambda x: 50.0 * 400.0**x),
    ("size_law", lambda x: ("pareto", "lognormal", "uniform")[min(2, int(3 * x))]),
)


def attack(asked: Attack, progress: Progress | None = None) -> AttackResult:
    """Search; the same attack with the same seed finds the same cases."""
    if asked.against not in RIVALS:
        raise PlanError(f"An attack is against {' or '.join(RIVALS)}, not {asked.against!r}.")
    told, rng = progress or (lambda _: None), stream(asked.seed, "attack", asked.strategy)
    judge = _Judge(asked)
    usual = judge.of(_case(asked, {}, asked.seed))
    told(1)
    worst = _worst_laws(asked, judge, rng, told)
    small = _worst_instance(asked, judge, rng, told)
    return AttackResult(usual=usual, worst=worst, smallest=small, looked_at=judge.looked_at)


def _worst_laws(asked: Attack, judge: _Judge, rng: np.random.Generator, told: Progress) -> Found:
    """Draw laws, keep the worst quarter, narrow the draws around them, and so on."""
    middle, spread = np.full(len(_LAWS), 0.5), np.full(len(_LAWS), 0.5)
    each, worst = max(2, asked.tries // _ROUNDS), []
    for turn in range(_ROUNDS):
        points = np.clip(rng.normal(middle, spread, (each, len(_LAWS))), 0.0, 1.0)
        found = []
        for place, point in enumerate(points):
            found.append(judge.of(_case(asked, _laws_of(point), asked.seed + turn * each + place)))
            told(1)
        order = sorted(range(each), key=lambda place: -found[place].ratio)
        worst.append(found[order[0]])
        kept = points[order[: max(2, int(_KEPT_SHARE * each))]]
        middle, spread = kept.mean(axis=0), np.maximum(kept.std(axis=0), _LEAST_SPREAD)
    return max(worst, key=lambda one: one.ratio)


def _laws_of(point: FloatColumn) -> dict[str, Any]:
    values = {name: make(float(x)) for (name, make), x in zip(_LAWS, point, strict=True)}
    low, high = sorted((values.pop("intensity_low"), values.pop("intensity_high")))
    return {
        "load": values["load"],
        "intensity_law": "uniform",
        "intensity_range": (low, max(high, min(1.0, low + 0.01))),
        "size_law": values["size_law"],
        "size_range": (100.0, values["size_high"]),
        "memory_range": (0.0, values["memory_high"]),
    }


def _case(asked: Attack, laws: Mapping[str, Any], seed: int) -> Case:
    """The tasks of laws; their arrival rate is the load times what the node could sustain of them."""
    values = {**{key: value for key, value in laws.items() if key != "load"}, "num_tasks": asked.tasks}
    plain = preset("mixed").with_values(values)
    if "load" in laws:
        values["arrival_rate"] = float(laws["load"]) * capacity(generate(plain, seed), asked.node)
        plain = preset("mixed").with_values(values)
    return Case(laws=values, seed=seed, batch=generate(plain, seed))


def _worst_instance(asked: Attack, judge: _Judge, rng: np.random.Generator, told: Progress) -> Found:
    """A handful of tasks: change one number of the worst at a time, keep what is worse."""
    numbers = rng.random((asked.small_tasks, 4))
    best = judge.of(_instance(numbers))
    for _ in range(asked.tries):
        other = numbers.copy()
        other[rng.integers(asked.small_tasks), rng.integers(4)] = rng.random()
        found = judge.of(_instance(other))
        if found.ratio >= best.ratio:
            numbers, best = other, found
        told(1)
    return best


def _instance(numbers: FloatColumn) -> Case:
    """Tasks of a tenth of a second to ten, that arrive within two seconds."""
    order = np.argsort(numbers[:, 3], kind="stable")
    size, intensity, memory, arrival = numbers[order].T
    batch = TaskBatch.from_columns(
        size=200.0 * 20.0**size,
        compute_intensity=intensity,
        memory_required=500.0 * memory,
        arrival_time=2.0 * arrival,
    )
    return Case(laws={}, seed=0, batch=batch)


class _Judge:
    """Runs the strategy and its rivals on a case; a case on which tasks fail is worth nothing."""

    def __init__(self, asked: Attack) -> None:
        self._asked = asked
        self.looked_at = 0

    def of(self, case: Case) -> Found:
        """How many times the rival's latency the strategy has."""
        self.looked_at += 1
        own = self._latency_s(create(self._asked.strategy), case)
        rival, least = self._rival(case)
        ratio = own / least if math.isfinite(own) and least > 0.0 else 0.0
        return Found(ratio=ratio, rival=rival, latency_s=own, rival_latency_s=least, case=case)

    def _rival(self, case: Case) -> tuple[str, float]:
        if self._asked.against == BOUND:
            return BOUND, certificate(case.batch, self._asked.node).mean_latency_s
        found = {name: self._latency_s(create(name), case) for name in self._asked.portfolio}
        best = min(found, key=lambda name: found[name])
        return best, found[best]

    def _latency_s(self, scheduler: Scheduler, case: Case) -> float:
        columns = run_scheduler(
            scheduler, case.batch, self._asked.node, seed=case.seed, seconds=durations(case.batch, self._asked.node)
        )
        return float(columns.latency_s.mean()) if columns.completed.all() else math.inf


def runs_of(asked: Attack) -> int:
    """How many cases are looked at."""
    return 1 + _ROUNDS * max(2, asked.tries // _ROUNDS) + asked.tries
