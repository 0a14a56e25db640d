"""How good frozen learners are on seeds that no training saw: ratios over seeds, with 95 % intervals.

Streams: the first tenth of the tasks is discarded. Each ratio compares two strategies on the same tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.cluster import Simulation, certificate, run_batch
from hybrid_ml_scheduler.core import BatchRule, FloatColumn, RuleKind
from hybrid_ml_scheduler.learning.features import feature_matrix
from hybrid_ml_scheduler.learning.forest import ForestModel
from hybrid_ml_scheduler.physics import Node, durations
from hybrid_ml_scheduler.physics.optimum import best_execution_s
from hybrid_ml_scheduler.plans.file_tasks import TaskSource, tasks_of
from hybrid_ml_scheduler.plans.intervals import ratio_interval
from hybrid_ml_scheduler.plans.loads import LoadedTasks, at_load, at_once
from hybrid_ml_scheduler.schedulers.agents.inputs import cluster_inputs
from hybrid_ml_scheduler.schedulers.agents.options import AgentOptions
from hybrid_ml_scheduler.schedulers.agents.rl_agent import VALUE_UNIT
from hybrid_ml_scheduler.schedulers.agents.split_model import SplitModel
from hybrid_ml_scheduler.schedulers.forest.hybrid_ml_share import HybridMlShare
from hybrid_ml_scheduler.schedulers.grid import DEFAULT_STEP, split_grid
from hybrid_ml_scheduler.schedulers.rules.frugal_finish import PRICE
from hybrid_ml_scheduler.training.rollouts import AgentRun, mean_latency, run_agent, run_value_charge
from hybrid_ml_scheduler.workload import WorkloadParameters, generate

__all__ = [
    "FrozenAgent",
    "agent_energy",
    "agent_makespan_ratio",
    "agent_ratio",
    "forest_ratio",
    "split_bound_ratio",
    "split_ratios",
    "summary",
    "trained_forest",
]

Singles = npt.NDArray[np.float32]
HIDDEN = 256


def summary(ratios: Sequence[float], rival: str) -> tuple[float, list[float]]:
    """Mean ratio to a rival over seeds, and its 95 % interval."""
    interval = ratio_interval(ratios, rival)
    return interval.mean, [interval.low, interval.high]


def _by_rule(tasks: LoadedTasks, node: Node, rule: BatchRule) -> FloatColumn:
    return run_batch(tasks.batch, node, rule, seconds=tasks.seconds).finish_s


def _charge_rule(step: float, price: float = 0.0) -> BatchRule:
    return BatchRule(kind=RuleKind.LEAST_CHARGE, grid=split_grid(step), price=price)


class FrozenAgent(NamedTuple):
    """The weights of `rl_agent`, and the tasks on which they are trusted (all where unknown)."""

    weights: Singles
    training_profile: FloatColumn | None = None


def _agent_run(tasks: LoadedTasks, node: Node, agent: FrozenAgent, energy_weight: float = 0.0) -> AgentRun:
    shape = (cluster_inputs(node.num_gpus), HIDDEN, node.num_gpus + 1)
    unit = AgentOptions().joule_unit
    return run_agent(tasks, node, agent.weights, shape, VALUE_UNIT, energy_weight, unit, agent.training_profile)


def _split_finish(tasks: LoadedTasks, node: Node, model: SplitModel) -> FloatColumn:
    grid = np.array(split_grid(DEFAULT_STEP))
    return run_value_charge(tasks, node, grid, model.weights, model.training_profile_on(node.num_gpus))[0]


def agent_ratio(
    agent: FrozenAgent, law: TaskSource, node: Node, load: float, seeds: Sequence[int], count: int
) -> list[float]:
    """Mean latency of the frozen agent (w = 0) over that of `earliest_device`, one number a seed."""
    ratios = []
    for seed in seeds:
        tasks = at_load(law, node, load, seed, count)
        plain = mean_latency(_by_rule(tasks, node, _charge_rule(1.0)), tasks)
        own = mean_latency(_agent_run(tasks, node, agent).finish_s, tasks)
        ratios.append(own / plain)
    return ratios


def agent_energy(
    agent: FrozenAgent,
    law: TaskSource,
    node: Node,
    energy_weights: Sequence[float],
    seeds: Sequence[int],
    count: int,
) -> list[list[float]]:
    """Mean energy of a task at each energy weight, a list for each seed, at the workload's own rate."""
    found = []
    for seed in seeds:
        batch = tasks_of(law, seed, count)
        tasks = LoadedTasks(batch=batch, seconds=durations(batch, node), load=0.0)
        found.append([float(_agent_run(tasks, node, agent, w).energy_j.mean()) for w in energy_weights])
    return found


def agent_makespan_ratio(
    agent: FrozenAgent, law: TaskSource, node: Node, rival: BatchRule, seeds: Sequence[int], count: int
) -> list[float]:
    """Makespan of the agent over that of a rival when all tasks come at once."""
    ratios = []
    for seed in seeds:
        tasks = at_once(law, node, seed, count)
        own = _agent_run(tasks, node, agent).finish_s.max()
        ratios.append(float(own / _by_rule(tasks, node, rival).max()))
    return ratios


def split_ratios(
    model: SplitModel, law: TaskSource, node: Node, load: float, seeds: Sequence[int], count: int
) -> tuple[list[float], list[float]]:
    """Mean latency of `rl_split` over that of `earliest_finish`, and over that of `frugal_finish`."""
    plain, frugal = [], []
    for seed in seeds:
        tasks = at_load(law, node, load, seed, count)
        own = mean_latency(_split_finish(tasks, node, model), tasks)
        plain.append(own / mean_latency(_by_rule(tasks, node, _charge_rule(DEFAULT_STEP)), tasks))
        frugal.append(own / mean_latency(_by_rule(tasks, node, _charge_rule(DEFAULT_STEP, PRICE)), tasks))
    return plain, frugal


def split_bound_ratio(model: SplitModel, law: TaskSource, node: Node, seeds: Sequence[int], count: int) -> list[float]:
    """Makespan of `rl_split` over the proven bound when all tasks come at once."""
    ratios = []
    for seed in seeds:
        tasks = at_once(law, node, seed, count)
        bound_s = certificate(tasks.batch, node, tasks.seconds).makespan_s
        ratios.append(float(_split_finish(tasks, node, model).max() / bound_s))
    return ratios


def trained_forest(law: WorkloadParameters, node: Node, seed: int, count: int) -> ForestModel:
    """The forest that `hybrid_ml_share` has after its first `count` tasks of a stream."""
    batch = generate(law.with_values({"num_tasks": count + 1, "noise_sigma": 0.0}), seed)
    strategy = HybridMlShare()
    Simulation(node, strategy, seed=seed).run((task, 1.0) for task in batch)
    return strategy.model


def forest_ratio(model: ForestModel, law: TaskSource, node: Node, seeds: Sequence[int], count: int) -> list[float]:
    """Mean execution time of the frozen forest's shares over the continuous optimum, noise included in both."""
    ratios = []
    for seed in seeds:
        batch = tasks_of(law, seed, count)
        seconds = durations(batch, node)
        shares = model.predict(feature_matrix(batch.size, batch.compute_intensity, batch.memory_required))
        rule = BatchRule(kind=RuleKind.PRESCRIBED, fractions=np.clip(shares, 0.0, 1.0))
        run = run_batch(batch, node, rule, seconds=seconds)
        best = best_execution_s(batch, node, seconds) * batch.duration_factor
        ratios.append(float(np.maximum(run.cpu_s, run.gpu_s).mean() / best.mean()))
    return ratios
