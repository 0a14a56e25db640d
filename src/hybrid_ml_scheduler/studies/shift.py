"""The shift experiment: learners trained on one workload meet another.

Forest and agent learn on `gpu_friendly`. Then `cpu_friendly` tasks come: the forest stays frozen, the agent goes on
learning with a constant epsilon, rewarded for execution time. The agent sees task and cluster but has no prior
here: what it does about the new tasks it must learn from outcomes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from hybrid_ml_scheduler.cluster import Simulation
from hybrid_ml_scheduler.core import (
    ClusterView,
    Decision,
    FloatColumn,
    Outcome,
    RaceContext,
    Scheduler,
    Task,
    TaskBatch,
)
from hybrid_ml_scheduler.physics import Node, best_execution_s, durations
from hybrid_ml_scheduler.plans.file_tasks import TaskSource, file_tasks, tasks_of
from hybrid_ml_scheduler.plans.intervals import Interval, bounded_interval
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.schedulers.agents.rl_agent import RlAgent
from hybrid_ml_scheduler.schedulers.forest.hybrid_ml_share import HybridMlShare
from hybrid_ml_scheduler.workload import preset

__all__ = [
    "STRATEGIES",
    "ShiftBudget",
    "ShiftRun",
    "adaptation",
    "figure_interval",
    "last_tasks",
    "measures",
    "meet_shift",
    "run_shift",
    "shift_result",
    "train_for_shift",
]

FROZEN = "hybrid_ml_share"
STRATEGIES = ("round_robin", "random", "greedy", FROZEN, "hybrid_ml", "rl_agent", "oracle")
BEST_DEVICE = "best_device"
ADAPTED = "agent_adapted_after"
LAST = 300
EPSILON = 0.1
NEAR = 1.10
BLOCK = 10
Progress = Callable[[str], None]

AGENT_OPTIONS: dict[str, Any] = {
    "energy_weight": 0.0,
    "time": "execution",
    "prior": False,
    "epsilon_start": EPSILON,
    "epsilon_end": EPSILON,
    "learning_rate": 1e-3,
    "updates_per_task": 4.0,
    "model": None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShiftBudget:
    """How much is learned before the shift, how long the test is, and from which seeds.

    `file` names a file instead of the two presets (`choice_text`): what was learned on its earlier part meets its later
    one.
    """

    forest_tasks: int = 1_000
    agent_tasks: int = 800
    test_tasks: int = 500
    training_seed: int = 3_000_000
    before: str = "gpu_friendly"
    after: str = "cpu_friendly"
    file: str = ""

    def source(self, node: Node, name: str) -> TaskSource:
        """The tasks of a preset; of a file its earlier part for training and its later part for tests."""
        return file_tasks(self.file, node) if self.file else preset(name)

    def test_batch(self, node: Node, seed: int) -> TaskBatch:
        """What is met after the shift; at most all of a file's later part."""
        return tasks_of(self.source(node, self.after), seed, self.test_tasks)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShiftRun:
    """One test seed: execution times and shares of every strategy, and where the agent explored.

    `best_s` is the least possible execution time of each task, over all splits.
    """

    seed: int
    execution_s: Mapping[str, FloatColumn]
    gpu_fraction: Mapping[str, FloatColumn]
    makespan_s: Mapping[str, float]
    best_s: FloatColumn
    exploring: np.ndarray

    def ratio(self, slower: str, faster: str, last: int | None = None) -> float:
        """How many times longer one strategy's tasks took in total, over all tasks or the last ones."""
        part = slice(-last, None) if last else slice(None)
        return float(self.execution_s[slower][part].sum() / self.execution_s[faster][part].sum())

    def adapted_after(self) -> int:
        """The first task from which on the agent's own decisions stay near the best whole device."""
        own, agent, best = ~self.exploring, self.execution_s["rl_agent"], self.execution_s[BEST_DEVICE]
        for first in range(0, len(agent) - BLOCK, BLOCK):
            chosen = own[first:]
            if agent[first:][chosen].sum() <= NEAR * best[first:][chosen].sum():
                return first
        return len(agent)


class _Watched:
    """The agent with a record of when it explored."""

    name = "rl_agent"

    def __init__(self, agent: RlAgent, state: Mapping[str, Any]) -> None:
        self._agent, self._state = agent, state
        self.exploring: list[bool] = []

    def prepare(self, context: RaceContext) -> None:
        """Take up what was learned before the shift, with randomness of the test seed."""
        self._agent.prepare(context)
        self._agent.dqn.restore({**self._state["dqn"], "rng": self._agent.dqn.rng.bit_generator.state})

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Decide, and note whether it was at random."""
        decision = self._agent.decide(task, cluster)
        self.exploring.append(self._agent.exploring)
        return decision

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Learn."""
        self._agent.observe(task, outcome)


def last_tasks(count: int) -> int:
    """How many of the last tasks show a strategy that has had time to adapt: 300, or three fifths of fewer."""
    return LAST if count > LAST else 3 * count // 5


def train_for_shift(node: Node, budget: ShiftBudget) -> tuple[HybridMlShare, Mapping[str, Any]]:
    """Train the forest and the agent on the first workload; returns the frozen forest and the agent's state."""
    source = budget.source(node, budget.before)
    tasks = tasks_of(source, budget.training_seed, budget.forest_tasks + 1)
    learned_from = min(budget.forest_tasks, len(tasks) - 1)
    forest = HybridMlShare(retrain_every=learned_from, window=budget.forest_tasks)
    _run(node, forest, tasks, budget.training_seed)
    agent = RlAgent(**AGENT_OPTIONS)
    tasks = tasks_of(source, budget.training_seed + 1, budget.agent_tasks)
    _run(node, agent, tasks, budget.training_seed + 1)
    return forest, agent.capture()


def run_shift(
    node: Node, seeds: Sequence[int], budget: ShiftBudget | None = None, progress: Progress | None = None
) -> list[ShiftRun]:
    """Train once, then meet the second workload on every test seed."""
    budget, tell = budget or ShiftBudget(), progress or (lambda _: None)
    _trained(node, budget)
    tell("trained")
    runs = []
    for seed in seeds:
        runs.append(meet_shift((node, budget, seed)))
        tell(f"seed {seed}")
    return runs


def meet_shift(job: tuple[Node, ShiftBudget, int]) -> ShiftRun:
    """Meet the second workload on one test seed: a job that any process can do; each trains once for all its seeds."""
    node, budget, seed = job
    forest, learned = _trained(node, budget)
    return _met(node, budget.test_batch(node, seed), seed, forest, learned)


# Training is the same every time, so a process needs it once.
_trained = lru_cache(maxsize=1)(train_for_shift)


def _met(node: Node, tasks: TaskBatch, seed: int, forest: HybridMlShare, learned: Mapping[str, Any]) -> ShiftRun:
    frozen = HybridMlShare(online=False)
    agent = _Watched(RlAgent(**AGENT_OPTIONS), learned)
    own: dict[str, Scheduler] = {FROZEN: frozen, "rl_agent": agent}
    places = {identity: place for place, identity in enumerate(tasks.task_id.tolist())}
    execution: dict[str, FloatColumn] = {}
    fraction: dict[str, FloatColumn] = {}
    makespan: dict[str, float] = {}
    for name in STRATEGIES:
        scheduler = own.get(name) or create(name)
        simulation = Simulation(node, scheduler, seed=seed)
        if scheduler is frozen:
            frozen.use(forest.model)
        outcomes = sorted(simulation.run((task, 1.0) for task in tasks), key=lambda one: places[one.task_id])
        execution[name] = np.array([outcome.execution_s for outcome in outcomes])
        fraction[name] = np.array([outcome.gpu_fraction for outcome in outcomes])
        makespan[name] = max(outcome.finish_s for outcome in outcomes)
    seconds = durations(tasks, node)
    on_gpu = np.where(tasks.gpus_required > 0, seconds.gpu_s.min(axis=1), math.inf)
    execution[BEST_DEVICE] = np.minimum(seconds.cpu_s, on_gpu)
    return ShiftRun(
        seed=seed,
        execution_s=execution,
        gpu_fraction=fraction,
        makespan_s=makespan,
        best_s=best_execution_s(tasks, node, seconds),
        exploring=np.array(agent.exploring),
    )


def _run(node: Node, scheduler: Scheduler, tasks: TaskBatch, seed: int) -> None:
    Simulation(node, scheduler, seed=seed).run((task, 1.0) for task in tasks)


def measures(run: ShiftRun) -> dict[str, dict[str, float]]:
    """Sum of execution times, mean time and makespan of every strategy on one seed."""
    return {
        name: {
            "total_time_s": float(run.execution_s[name].sum()),
            "mean_time_s": float(run.execution_s[name].mean()),
            "makespan_s": run.makespan_s[name],
        }
        for name in STRATEGIES
    }


def adaptation(run: ShiftRun) -> dict[str, float]:
    """How the agent did against the frozen forest on one seed, over all tasks and over the last ones, and how soon."""
    last = last_tasks(len(run.exploring))
    return {
        "frozen_forest_vs_agent": run.ratio(FROZEN, "rl_agent"),
        f"frozen_forest_vs_agent_last_{last}": run.ratio(FROZEN, "rl_agent", last),
        ADAPTED: float(run.adapted_after()),
    }


def figure_interval(name: str, values: Sequence[float] | FloatColumn, tasks: int) -> Interval:
    """A figure's mean over seeds; no agent adapts after more tasks than there are, so that interval ends there."""
    return bounded_interval(values, most=tasks if name == ADAPTED else math.inf)


def shift_result(runs: Sequence[ShiftRun]) -> dict[str, Any]:
    """The table of all strategies and the three figures, each a mean over seeds with its 95 % interval."""
    tables = [measures(run) for run in runs]
    tasks = len(runs[0].exploring)
    strategies = {name: _averaged([table[name] for table in tables], tasks) for name in STRATEGIES}
    return {
        "seeds": [run.seed for run in runs],
        "tasks": tasks,
        "strategies": strategies,
        **_averaged([adaptation(run) for run in runs], tasks),
    }


def _averaged(rows: Sequence[Mapping[str, float]], tasks: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in rows[0]:
        interval = figure_interval(name, [row[name] for row in rows], tasks)
        found[name] = interval.mean
        found[f"{name}_ci"] = [interval.low, interval.high] if interval.is_known else None
    return found
