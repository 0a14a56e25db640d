"""How good the learners are on seeds they never saw: the figures of the learning strategies, with 95 % intervals.

Everything is frozen: `rl_agent` and `rl_split` with the shipped weights (training seeds from 1,000,000 on), `hybrid_ml`
with the forest it has after 1,000 tasks. Test seeds are 0 to 9.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import BatchRule, RuleKind
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.loads import at_once
from hybrid_ml_scheduler.schedulers.agents.rl_agent import shipped_home, shipped_weights
from hybrid_ml_scheduler.schedulers.agents.split_model import load_split
from hybrid_ml_scheduler.studies.shift import run_shift, shift_result
from hybrid_ml_scheduler.training import judging
from hybrid_ml_scheduler.workload import preset

__all__ = ["render", "run"]

SEEDS = tuple(range(10))
TASKS = 20_000
LOADS = (0.5, 0.8, 0.95)
ENERGY_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0)


def run() -> dict[str, Any]:
    """Judge every learner; takes some minutes."""
    node, law = Node(), preset("mixed")
    result: dict[str, Any] = {"seeds": len(SEEDS), "tasks": TASKS}
    _tell("hybrid_ml")
    forest = judging.trained_forest(law, node, seed=4_000_000, count=1_000)
    _put(result, "hybrid_ml_vs_optimum", judging.forest_ratio(forest, law, node, SEEDS, TASKS))
    noisy = law.with_values({"noise_sigma": 0.3})
    _put(result, "hybrid_ml_vs_optimum_noisy", judging.forest_ratio(forest, noisy, node, SEEDS, TASKS))
    _agent(result, law, node)
    _split(result, law, node)
    _tell("shift")
    shift = shift_result(run_shift(node, SEEDS))
    result["shift"] = {key: value for key, value in shift.items() if key not in ("seeds", "strategies")}
    return result


def _agent(result: dict[str, Any], law: Any, node: Node) -> None:
    weights, home = shipped_weights(node.num_gpus), shipped_home()
    if weights is None:
        raise SystemExit("the shipped weights of rl_agent are missing")
    agent = judging.FrozenAgent(weights, home)
    result["rl_agent_vs_earliest_device"] = {}
    for load in LOADS:
        _tell(f"rl_agent at {load:.0%}")
        ratios = judging.agent_ratio(agent, law, node, load, SEEDS, TASKS)
        _put(result["rl_agent_vs_earliest_device"], f"{load:g}", ratios)
    energy = np.array(judging.agent_energy(agent, law, node, ENERGY_WEIGHTS, SEEDS, TASKS))
    result["rl_agent_energy_j"] = {f"{w:g}": float(j) for w, j in zip(ENERGY_WEIGHTS, energy.mean(axis=0), strict=True)}
    result["rl_agent_energy_falls"] = bool(np.all(np.diff(energy.mean(axis=0)) < 0.0))
    for rival, rule in _rivals(law, node).items():
        ratios = [judging.agent_makespan_ratio(agent, law, node, rule(seed), (seed,), 10_000)[0] for seed in SEEDS]
        _put(result, f"rl_agent_makespan_vs_{rival}", ratios)


def _rivals(law: Any, node: Node) -> dict[str, Any]:
    """Greedy and round robin as rules for the very tasks of a seed."""

    def greedy(seed: int) -> BatchRule:
        return BatchRule(kind=RuleKind.PRESCRIBED, fractions=at_once(law, node, seed, 10_000).batch.compute_intensity)

    def round_robin(seed: int) -> BatchRule:
        from hybrid_ml_scheduler.core import RaceContext
        from hybrid_ml_scheduler.physics import PhysicsEstimator
        from hybrid_ml_scheduler.schedulers.rules.round_robin import RoundRobin

        strategy = RoundRobin()
        strategy.prepare(RaceContext(estimator=PhysicsEstimator(node), seed=seed))
        return strategy.rule(at_once(law, node, seed, 10_000).batch)

    return {"greedy": greedy, "round_robin": round_robin}


def _split(result: dict[str, Any], law: Any, node: Node) -> None:
    model = load_split()
    result["rl_split_vs_earliest_finish"], result["rl_split_vs_frugal_finish"] = {}, {}
    for load in LOADS:
        _tell(f"rl_split at {load:.0%}")
        plain, frugal = judging.split_ratios(model, law, node, load, SEEDS, TASKS)
        _put(result["rl_split_vs_earliest_finish"], f"{load:g}", plain)
        _put(result["rl_split_vs_frugal_finish"], f"{load:g}", frugal)
    _put(result, "rl_split_vs_bound", judging.split_bound_ratio(model, law, node, SEEDS, 10_000))


def _put(result: dict[str, Any], key: str, values: list[float]) -> None:
    result[key], result[f"{key}_ci"] = judging.summary(values)


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
