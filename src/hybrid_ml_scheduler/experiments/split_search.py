"""Training of `rl_split`: the weights of its value function by the cross-entropy method, in the simulator.

Each round draws fresh training workloads and a population of weights, runs them all on the same tasks, and
moves towards the best quarter. Streams train the first part of the weights (mean latency relative to
`earliest_finish`), floods the second (makespan relative to the proven bound), and low loads the last one: the
load below which the future counts less. Seeds count up from the training seed; test seeds are apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np

from hybrid_ml_scheduler.cluster import run_batch
from hybrid_ml_scheduler.cluster.bounds import area_bound_s
from hybrid_ml_scheduler.core import BatchRule, FloatColumn, RuleKind, stream
from hybrid_ml_scheduler.experiments.loads import LoadedTasks, at_load, at_once
from hybrid_ml_scheduler.experiments.rollouts import run_value_charge
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, split_grid
from hybrid_ml_scheduler.schedulers.value_charge import DEVICE_WEIGHTS, FLOOD_WEIGHTS, KNEE, STREAM_WEIGHTS
from hybrid_ml_scheduler.workload import WorkloadParameters

__all__ = ["SearchBudget", "search_weights"]

Progress = Callable[[int, int, float], None]
Score = Callable[[FloatColumn], float]
STREAM_LOADS = (0.5, 0.5, 0.7, 0.8, 0.8, 0.9, 0.95, 0.95)
KNEE_LOADS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
KNEES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)
WARM_UP = 0.1


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

    def record(self) -> dict[str, int]:
        """The budget as plain values, stored with the weights."""
        return asdict(self)


def search_weights(
    law: WorkloadParameters,
    node: Node,
    budget: SearchBudget,
    progress: Progress | None = None,
    step: float = DEFAULT_STEP,
) -> FloatColumn:
    """Search the weights of both regimes, one after the other; a step of 1 leaves whole devices only."""
    grid = np.array(split_grid(step))
    weights = _initial_weights()
    rng = stream(budget.seed, "training", "rl_split")
    total = budget.stream_rounds + budget.flood_rounds
    seeds = iter(range(budget.seed, budget.seed + 10_000_000))

    def tell(done: int, score: float) -> None:
        if progress is not None:
            progress(done, total, score)

    def stream_score() -> Callable[[FloatColumn], Score]:
        tasks = [at_load(law, node, load, next(seeds), budget.tasks) for load in STREAM_LOADS]
        plain = [_earliest_finish_latency(one, node, grid) for one in tasks]
        return lambda rest: lambda part: _stream_score(np.concatenate([part, rest, [0.0]]), tasks, plain, node, grid)

    def flood_score() -> Callable[[FloatColumn], Score]:
        tasks = [at_once(law, node, next(seeds), budget.tasks) for _ in range(budget.floods)]
        bounds = [area_bound_s(one.batch, node, one.seconds) for one in tasks]
        return lambda rest: lambda part: _flood_score(np.concatenate([rest, part, [0.0]]), tasks, bounds, node, grid)

    first, second = weights[:STREAM_WEIGHTS], np.log(weights[STREAM_WEIGHTS:])
    spread = _stream_spread()
    for done in range(budget.stream_rounds):
        score = stream_score()(np.exp(second))
        first, spread, best = _round(first, spread, score, rng, budget.population, least_spread=0.02)
        tell(done + 1, best)
    spread = np.array([1.0, 1.0, 1.0, 0.03, 1.5, 1.5])
    for done in range(budget.flood_rounds):
        plain_score = flood_score()(first)
        second, spread, best = _round(second, spread, _in_logs(plain_score), rng, budget.population, least_spread=0.01)
        tell(budget.stream_rounds + done + 1, best)
    found = np.concatenate([first, np.exp(second), [0.0]])
    if budget.calm:
        calm = [at_load(law, node, load, next(seeds), budget.tasks) for load in KNEE_LOADS for _ in range(budget.calm)]
        found[KNEE] = _best_knee(found, calm, node, grid)
    return found


def _best_knee(weights: FloatColumn, calm: list[LoadedTasks], node: Node, grid: FloatColumn) -> float:
    """The knee with the best score over workloads from calm to busy."""
    plain = [_earliest_finish_latency(one, node, grid) for one in calm]
    scores = [_stream_score(np.append(weights[:KNEE], knee), calm, plain, node, grid) for knee in KNEES]
    return KNEES[int(np.argmin(scores))]


def _in_logs(score: Score) -> Score:
    """The same score for logarithms of weights that must stay positive."""
    return lambda part: score(np.exp(part))


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
    scores = np.array([score(person) for person in people])
    elite = people[np.argsort(scores, kind="stable")[: population // 4]]
    moved = 0.3 * center + 0.7 * elite.mean(axis=0)
    narrowed = np.maximum(0.6 * spread + 0.4 * elite.std(axis=0), least_spread)
    return moved, narrowed, float(scores[0])


def _mean_latency(finish: FloatColumn, tasks: LoadedTasks) -> float:
    first = int(WARM_UP * len(finish))
    return float((finish - tasks.batch.arrival_time)[first:].mean())


def _earliest_finish_latency(tasks: LoadedTasks, node: Node, grid: FloatColumn) -> float:
    rule = BatchRule(kind=RuleKind.LEAST_CHARGE, grid=tuple(grid.tolist()))
    return _mean_latency(run_batch(tasks.batch, node, rule, seconds=tasks.seconds).finish_s, tasks)


def _stream_score(
    weights: FloatColumn, tasks: list[LoadedTasks], plain: list[float], node: Node, grid: FloatColumn
) -> float:
    """Mean logarithm of the latency relative to earliest finish."""
    latencies = [_mean_latency(run_value_charge(one, node, grid, weights)[0], one) for one in tasks]
    return float(np.mean(np.log(np.array(latencies) / np.array(plain))))


def _flood_score(
    weights: FloatColumn, tasks: list[LoadedTasks], bounds: list[float], node: Node, grid: FloatColumn
) -> float:
    """Mean makespan above the proven bound."""
    spans = [run_value_charge(one, node, grid, weights)[1].max() for one in tasks]
    return float(np.mean(np.array(spans) / np.array(bounds))) - 1.0
