"""How good the learners are on seeds they never saw: the figures of the learning strategies, with 95 % intervals.

Everything is frozen: `rl_agent` and `rl_split` with the shipped weights (training seeds from 1,000,000 on), `hybrid_ml`
with the forest it has after 1,000 tasks. Test seeds are 0 to 9.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import BatchRule, RaceContext, RuleKind
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.plans.loads import at_once
from hybrid_ml_scheduler.schedulers.agents.rl_agent import shipped_training_profile, shipped_weights
from hybrid_ml_scheduler.schedulers.agents.split_model import load_split
from hybrid_ml_scheduler.schedulers.rules.round_robin import RoundRobin
from hybrid_ml_scheduler.studies.shift import ShiftBudget, run_shift, shift_result
from hybrid_ml_scheduler.training import judging
from hybrid_ml_scheduler.workload import WorkloadParameters, preset

__all__ = ["render", "run"]

LOADS = (0.5, 0.8, 0.95)
ENERGY_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is measured."""

    seeds: tuple[int, ...] = tuple(range(10))
    tasks: int = 20_000
    at_once: int = 10_000
    forest_tasks: int = 1_000
    shift: ShiftBudget | None = None


FULL = Effort()
QUICK = Effort(
    seeds=(0, 1),
    tasks=500,
    at_once=200,
    forest_tasks=100,
    shift=ShiftBudget(forest_tasks=100, agent_tasks=100, test_tasks=50),
)


def run(*, quick: bool) -> dict[str, Any]:
    """Judge every learner; takes some minutes unless it is to be quick."""
    node, law, effort = Node(), preset("mixed"), QUICK if quick else FULL
    result: dict[str, Any] = {"seeds": len(effort.seeds), "tasks": effort.tasks}
    _forest(result, law, node, effort)
    _agent(result, law, node, effort)
    _split(result, law, node, effort)
    _tell("shift")
    shift = shift_result(run_shift(node, effort.seeds, effort.shift))
    result["shift"] = {key: value for key, value in shift.items() if key not in ("seeds", "strategies")}
    return result


def _forest(result: dict[str, Any], law: WorkloadParameters, node: Node, effort: Effort) -> None:
    _tell("hybrid_ml")
    forest = judging.trained_forest(law, node, seed=4_000_000, count=effort.forest_tasks)
    for key, tasks in (("", law), ("_noisy", law.with_values({"noise_sigma": 0.3}))):
        ratios = judging.forest_ratio(forest, tasks, node, effort.seeds, effort.tasks)
        _put(result, f"hybrid_ml_vs_optimum{key}", ratios, "optimum")


def _agent(result: dict[str, Any], law: WorkloadParameters, node: Node, effort: Effort) -> None:
    weights, training_profile = shipped_weights(node.num_gpus), shipped_training_profile()
    if weights is None:
        raise SystemExit("the shipped weights of rl_agent are missing")
    agent = judging.FrozenAgent(weights, training_profile)
    result["rl_agent_vs_earliest_device"] = {}
    for load in LOADS:
        _tell(f"rl_agent at {load:.0%}")
        ratios = judging.agent_ratio(agent, law, node, load, effort.seeds, effort.tasks)
        _put(result["rl_agent_vs_earliest_device"], f"{load:g}", ratios, "earliest_device")
    energy = np.array(judging.agent_energy(agent, law, node, ENERGY_WEIGHTS, effort.seeds, effort.tasks))
    result["rl_agent_energy_j"] = {f"{w:g}": float(j) for w, j in zip(ENERGY_WEIGHTS, energy.mean(axis=0), strict=True)}
    result["rl_agent_energy_falls"] = bool(np.all(np.diff(energy.mean(axis=0)) < 0.0))
    count = effort.at_once
    for rival, rule in _rivals(law, node, count).items():
        ratios = [
            judging.agent_makespan_ratio(agent, law, node, rule(seed), (seed,), count)[0] for seed in effort.seeds
        ]
        _put(result, f"rl_agent_makespan_vs_{rival}", ratios, rival)


def _rivals(law: WorkloadParameters, node: Node, count: int) -> dict[str, Callable[[int], BatchRule]]:
    """Greedy and round robin as rules for the very tasks of a seed."""

    def greedy(seed: int) -> BatchRule:
        return BatchRule(kind=RuleKind.PRESCRIBED, fractions=at_once(law, node, seed, count).batch.compute_intensity)

    def round_robin(seed: int) -> BatchRule:
        strategy = RoundRobin()
        strategy.prepare(RaceContext(estimator=PhysicsEstimator(node), seed=seed))
        return strategy.rule(at_once(law, node, seed, count).batch)

    return {"greedy": greedy, "round_robin": round_robin}


def _split(result: dict[str, Any], law: WorkloadParameters, node: Node, effort: Effort) -> None:
    model = load_split()
    result["rl_split_vs_earliest_finish"], result["rl_split_vs_frugal_finish"] = {}, {}
    for load in LOADS:
        _tell(f"rl_split at {load:.0%}")
        plain, frugal = judging.split_ratios(model, law, node, load, effort.seeds, effort.tasks)
        _put(result["rl_split_vs_earliest_finish"], f"{load:g}", plain, "earliest_finish")
        _put(result["rl_split_vs_frugal_finish"], f"{load:g}", frugal, "frugal_finish")
    bounds = judging.split_bound_ratio(model, law, node, effort.seeds, effort.at_once)
    _put(result, "rl_split_vs_bound", bounds, "bound")


def _put(result: dict[str, Any], key: str, values: list[float], rival: str) -> None:
    result[key], result[f"{key}_ci"] = judging.summary(values, rival)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def render(result: dict[str, Any]) -> str:
    """The figures as lines, each with its interval."""
    lines = [f"{result['seeds']} test seeds, {result['tasks']:,} tasks each, first tenth discarded, learners frozen"]
    lines += _lines(result, "")
    energies = ", ".join(f"w={w}: {j:.3f}" for w, j in result["rl_agent_energy_j"].items())
    falls = "falls" if result["rl_agent_energy_falls"] else "does not fall"
    return "\n".join([*lines, f"rl_agent mean energy J ({falls}): {energies}"])


def _lines(values: dict[str, Any], prefix: str) -> list[str]:
    lines = []
    for key, value in values.items():
        interval = values.get(f"{key}_ci")
        if isinstance(value, dict) and key != "rl_agent_energy_j":
            lines += _lines(value, f"{prefix}{key}.")
        elif interval is not None:
            lines.append(f"{prefix + key:44} {value:8.4f}   [{interval[0]:.4f}, {interval[1]:.4f}]")
    return lines
