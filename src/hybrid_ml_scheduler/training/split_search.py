"""Training of `rl_split`: the weights of its value function by the cross-entropy method, in the simulator.

Each round draws fresh training workloads and a population of weights, runs them all on the same tasks, and
moves towards the best quarter. Streams train the first part of the weights (mean latency relative to
`earliest_finish`), floods the second (makespan relative to the proven bound), and low loads give the knee: the
load below which the future counts less. Seeds count up from the training seed; test seeds are apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace

import numpy as np

from hybrid_ml_scheduler.cluster import run_batch
from hybrid_ml_scheduler.cluster.bounds import area_bound_s
from hybrid_ml_scheduler.core import BatchRule, FloatColumn, RuleKind, stream
from hybrid_ml_scheduler.hardware.machine import usable_cores
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.file_tasks import TaskSource
from hybrid_ml_scheduler.plans.loads import LoadedTasks, at_load, at_once
from hybrid_ml_scheduler.plans.training_profile import SPLIT_TOLERANCES, training_profile_of
from hybrid_ml_scheduler.schedulers.agents.split_model import SplitModel
from hybrid_ml_scheduler.schedulers.agents.value_charge import DEVICE_WEIGHTS, FLOOD_WEIGHTS, STREAM_WEIGHTS
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, split_grid
from hybrid_ml_scheduler.training.rollouts import mean_latency, run_value_charge
from hybrid_ml_scheduler.training.training_log import TrainingLog

__all__ = ["SearchBudget", "search_split", "train_split"]

Progress = Callable[[str, int, float], None]
"""Told after each round: the curve (latency, makespan, knee), the round (or the knee in percent), the ratio there."""

Score = Callable[[FloatColumn], float]
STREAM_LOADS = (0.5, 0.5, 0.7, 0.8, 0.8, 0.9, 0.95, 0.95)
KNEE_LOADS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
KNEES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchBudget:
    """How much training costs: rounds, population and tasks in each workload."""

    stream_rounds: int = 60
    flood_rounds: int = 16
    population: int = 32
    floods: int = 12
    calm: int = 2
    tasks: int = 10_000
    seed: int = 1_000_000

    def with_effort(self, effort: float, seed: int | None = None) -> SearchBudget:
        """A share of this budget, or a multiple, with another seed on request."""
        less = min(1.0, effort)
        return replace(
            self,
            stream_rounds=max(1, round(self.stream_rounds * effort)),
            flood_rounds=max(1, round(self.flood_rounds * effort)),
            floods=max(1, round(self.floods * less)),
            tasks=max(500, round(self.tasks * less)),
            seed=self.seed if seed is None else seed,
        )

    def record(self) -> dict[str, int]:
        """The budget as plain values, stored with the weights."""
        return asdict(self)


CURVES = {
    "latency": "latency_vs_earliest_finish",
    "makespan": "makespan_vs_bound",
    "knee": "latency_vs_earliest_finish_by_knee",
}


def train_split(law: TaskSource, node: Node, budget: SearchBudget, log: TrainingLog) -> SplitModel:
    """Search, and tell the log of every round."""
    rounds = {"latency": budget.stream_rounds, "makespan": budget.flood_rounds}

    def tell(curve: str, step: int, ratio: float) -> None:
        log.point(CURVES[curve], step, ratio)
        if curve in rounds:
            log.stage(f"search by {curve}", step, rounds[curve])

    return search_split(law, node, budget, tell)


def search_split(
    law: TaskSource,
    node: Node,
    budget: SearchBudget,
    progress: Progress | None = None,
    step: float = DEFAULT_STEP,
) -> SplitModel:
    """Search the weights of both regimes, one after the other, then the knee; a step of 1 leaves whole devices only."""
    search = _Search(law, node, budget, np.array(split_grid(step)))
    tell = progress or (lambda _curve, _step, _score: None)
    weights = _initial_weights()
    first, second = weights[:STREAM_WEIGHTS], np.log(weights[STREAM_WEIGHTS:])
    spread = _stream_spread()
    for done in range(1, budget.stream_rounds + 1):
        score = search.stream_score(np.exp(second))
        first, spread, best = _round(first, spread, score, search.rng, budget.population, least_spread=0.02)
        tell("latency", done, math.exp(best))
    spread = np.array([1.0, 1.0, 1.0, 0.03, 1.5, 1.5])
    for done in range(1, budget.flood_rounds + 1):
        score = search.flood_score(first)
        second, spread, best = _round(second, spread, score, search.rng, budget.population, least_spread=0.01)
        tell("makespan", done, 1.0 + best)
    found = np.concatenate([first, np.exp(second)])
    training_profile = training_profile_of([law], node, budget.seed, SPLIT_TOLERANCES, 0.0)
    if budget.calm:
        scores = search.knee_scores(found, training_profile)
        for knee, score_there in zip(KNEES, scores, strict=True):
            tell("knee", round(100 * knee), math.exp(score_there))
        training_profile[-1] = KNEES[int(np.argmin(scores))]
    return SplitModel(
        weights=found, training_profile=training_profile, num_gpus=node.num_gpus, record={"budget": budget.record()}
    )


class _Search:
    """The workloads of a search: every call draws fresh ones from the next training seeds."""

    def __init__(self, law: TaskSource, node: Node, budget: SearchBudget, grid: FloatColumn) -> None:
        self._law, self._node, self._budget, self._grid = law, node, budget, grid
        self._seeds = iter(range(budget.seed, budget.seed + 10_000_000))
        self.rng = stream(budget.seed, "training", "rl_split")

    def _at(self, load: float) -> LoadedTasks:
        return at_load(self._law, self._node, load, next(self._seeds), self._budget.tasks)

    def _plain(self, tasks: list[LoadedTasks]) -> list[float]:
        return [_earliest_finish_latency(one, self._node, self._grid) for one in tasks]

    def stream_score(self, flood: FloatColumn) -> Score:
        """How good stream weights are on new streams, beside these weights of floods."""
        tasks = [self._at(load) for load in STREAM_LOADS]
        plain = self._plain(tasks)
        return lambda part: _stream_score(np.concatenate([part, flood]), None, tasks, plain, self._node, self._grid)

    def flood_score(self, streams: FloatColumn) -> Score:
        """How good the logarithms of flood weights (they must stay positive) are on new floods."""
        seeds = [next(self._seeds) for _ in range(self._budget.floods)]
        tasks = [at_once(self._law, self._node, seed, self._budget.tasks) for seed in seeds]
        bounds = [area_bound_s(one.batch, self._node, one.seconds) for one in tasks]
        return lambda part: _flood_score(np.concatenate([streams, np.exp(part)]), tasks, bounds, self._node, self._grid)

    def knee_scores(self, weights: FloatColumn, training_profile: FloatColumn) -> list[float]:
        """The score of every knee over workloads from calm to busy."""
        calm = [self._at(load) for load in KNEE_LOADS for _ in range(self._budget.calm)]
        plain = self._plain(calm)
        profiles = [np.append(training_profile[:-1], knee) for knee in KNEES]
        return [_stream_score(weights, one, calm, plain, self._node, self._grid) for one in profiles]


def _initial_weights() -> FloatColumn:
    """A GPU-second dearer than a CPU-second, no other opinion; floods: weighted seconds, gently balanced."""
    weights = np.zeros(STREAM_WEIGHTS + FLOOD_WEIGHTS)
    weights[0], weights[DEVICE_WEIGHTS], weights[STREAM_WEIGHTS - 1] = 1.0, 3.0, 1.3
    weights[STREAM_WEIGHTS:] = (0.01, 0.02, 0.02, 1.32, 0.1, 0.01)
    return weights


def _stream_spread() -> FloatColumn:
    spread = np.full(STREAM_WEIGHTS, 0.5)
    spread[[1, DEVICE_WEIGHTS + 1, STREAM_WEIGHTS - 2, STREAM_WEIGHTS - 1]] = 0.2
    return spread


def _round(
    center: FloatColumn,
    spread: FloatColumn,
    score: Score,
    rng: np.random.Generator,
    population: int,
    least_spread: float,
) -> tuple[FloatColumn, FloatColumn, float]:
    """One generation of the cross-entropy method."""
    people = center + spread * rng.standard_normal((population, len(center)))
    people[0] = center
    with ThreadPoolExecutor(usable_cores()) as threads:  # the runs are compiled and need no lock
        scores = np.array(list(threads.map(score, people)))
    elite = people[np.argsort(scores, kind="stable")[: population // 4]]
    moved = 0.3 * center + 0.7 * elite.mean(axis=0)
    narrowed = np.maximum(0.6 * spread + 0.4 * elite.std(axis=0), least_spread)
    return moved, narrowed, float(scores[0])


def _earliest_finish_latency(tasks: LoadedTasks, node: Node, grid: FloatColumn) -> float:
    rule = BatchRule(kind=RuleKind.LEAST_CHARGE, grid=tuple(grid.tolist()))
    return mean_latency(run_batch(tasks.batch, node, rule, seconds=tasks.seconds).finish_s, tasks)


def _stream_score(
    weights: FloatColumn,
    training_profile: FloatColumn | None,
    tasks: list[LoadedTasks],
    plain: list[float],
    node: Node,
    grid: FloatColumn,
) -> float:
    """Mean logarithm of the latency relative to earliest finish."""
    latencies = [mean_latency(run_value_charge(one, node, grid, weights, training_profile)[0], one) for one in tasks]
    return float(np.mean(np.log(np.array(latencies) / np.array(plain))))


def _flood_score(
    weights: FloatColumn, tasks: list[LoadedTasks], bounds: list[float], node: Node, grid: FloatColumn
) -> float:
    """Mean makespan above the proven bound."""
    spans = [run_value_charge(one, node, grid, weights)[1].max() for one in tasks]
    return float(np.mean(np.array(spans) / np.array(bounds))) - 1.0
