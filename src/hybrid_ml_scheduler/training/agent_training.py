"""Training of `rl_agent`: a demonstrator, true returns of every action, then Double DQN in the simulator.

1. For each workload a demonstrator is searched: `rl_split`'s rule with whole devices only.
2. Its runs at many loads and energy weights give states and the true discounted returns of every action. The first
   workload gets the most of them; the others teach what holds for shorter, longer and more even tasks.
3. The network is fitted to those returns.
4. On request (`online_tasks`) the agent goes on by itself: epsilon-greedy, Double DQN updates, one a task.
Seeds count up from the training seed; test seeds are apart from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.cluster import Simulation
from hybrid_ml_scheduler.core import FloatColumn, stream
from hybrid_ml_scheduler.learning.dqn import DoubleDqn, DqnSettings
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.file_tasks import TaskSource
from hybrid_ml_scheduler.plans.loads import LoadedTasks, at_load
from hybrid_ml_scheduler.plans.training_profile import AGENT_TOLERANCES, training_profile_of
from hybrid_ml_scheduler.schedulers.agents.arrival_stats import fresh_arrival_stats
from hybrid_ml_scheduler.schedulers.agents.inputs import cluster_inputs
from hybrid_ml_scheduler.schedulers.agents.options import AgentOptions
from hybrid_ml_scheduler.schedulers.agents.rl_agent import VALUE_UNIT, RlAgent
from hybrid_ml_scheduler.training.counterfactuals import returns_of_actions, whole_columns
from hybrid_ml_scheduler.training.gang_queues import crew_of, free_devices
from hybrid_ml_scheduler.training.judging import FrozenAgent, agent_ratio
from hybrid_ml_scheduler.training.rollouts import task_columns
from hybrid_ml_scheduler.training.split_search import SearchBudget, search_split
from hybrid_ml_scheduler.training.training_log import TrainingLog

__all__ = [
    "CHECKED_LOADS",
    "AgentBudget",
    "AgentCheck",
    "Experience",
    "TrainedAgent",
    "fit_returns",
    "gather",
    "train_agent",
]

Singles = npt.NDArray[np.float32]
LOADS = (0.03, 0.12, 0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.1)
ENERGY_WEIGHTS = (0.0, 0.0, 0.25, 0.5, 0.75)
OTHER_ENERGY_WEIGHTS = (0.0, 0.5)
ONLINE = ((0.8, 0.0), (0.95, 0.0), (0.5, 0.0), (0.8, 0.5))
WANDER = 0.02
KNEE_LOAD = 0.8
NO_TASK_AFTER = 1_500  # the last tasks have too little future to be judged by it
CHECKS = 10  # how often the agent is run while it is fitted
LOSS_STEPS = 50  # over which the loss is averaged


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentBudget:
    """How much training costs."""

    search_rounds: int = 24
    search_tasks: int = 10_000
    tasks: int = 6_000
    sampled: float = 0.08
    steps: int = 3_000
    batch: int = 256
    rate: float = 1e-3
    online_tasks: int = 0
    seed: int = 2_000_000

    def with_effort(self, effort: float, seed: int | None = None) -> AgentBudget:
        """A share of this budget, or a multiple, with another seed on request."""
        less = min(1.0, effort)
        return replace(
            self,
            search_rounds=max(1, round(self.search_rounds * effort)),
            search_tasks=max(500, round(self.search_tasks * less)),
            tasks=max(2_000, round(self.tasks * less)),
            sampled=self.sampled * less,
            steps=max(20, round(self.steps * effort)),
            seed=self.seed if seed is None else seed,
        )

    def record(self) -> dict[str, float]:
        """The budget as plain values, stored with the weights."""
        return asdict(self)


class Experience(NamedTuple):
    """States with the scale of each and the future return of every action."""

    states: Singles
    scales: Singles
    futures: Singles


class TrainedAgent(NamedTuple):
    """A network, and the training profile in which it can be trusted."""

    dqn: DoubleDqn
    training_profile: FloatColumn


def train_agent(
    laws: Sequence[TaskSource], node: Node, budget: AgentBudget, log: TrainingLog | None = None
) -> TrainedAgent:
    """Train a network for these workloads, above all the first, and this node."""
    log = log or TrainingLog()
    demonstrators = [_demonstrator(index, law, node, budget, log, len(laws)) for index, law in enumerate(laws)]
    experience = gather(laws, node, demonstrators, budget, log)
    dqn = DoubleDqn(
        cluster_inputs(node.num_gpus),
        node.num_gpus + 1,
        stream(budget.seed, "training", "rl_agent"),
        DqnSettings(value_unit=VALUE_UNIT),
    )
    training_profile = training_profile_of(laws, node, budget.seed, AGENT_TOLERANCES, KNEE_LOAD)
    fit_returns(
        dqn, experience, budget, log, AgentCheck(laws[0], node, training_profile, budget.seed + 900_000, budget.tasks)
    )
    for index, (load, energy_weight) in enumerate(ONLINE):
        if budget.online_tasks:
            _learn_online(dqn, laws[0], node, load, energy_weight, budget, budget.seed + 500_000 + index)
            log.stage("online", index + 1, len(ONLINE))
    return TrainedAgent(dqn, training_profile)


def _demonstrator(
    index: int, law: TaskSource, node: Node, budget: AgentBudget, log: TrainingLog, count: int
) -> FloatColumn:
    """Search the whole-device rule that shows how it is done on one workload."""
    search = SearchBudget(
        stream_rounds=budget.search_rounds,
        flood_rounds=0,
        calm=0,
        tasks=budget.search_tasks,
        seed=budget.seed + 1_000_000 * index,
    )
    curve = "demonstrator_vs_earliest_device" + (f"_{index + 1}" if index else "")

    def tell(_: str, done: int, ratio: float) -> None:
        log.stage("demonstrators", index * budget.search_rounds + done, count * budget.search_rounds)
        log.point(curve, done, ratio)

    return search_split(law, node, search, tell, step=1.0).weights


def gather(
    laws: Sequence[TaskSource],
    node: Node,
    demonstrators: Sequence[FloatColumn],
    budget: AgentBudget,
    log: TrainingLog,
) -> Experience:
    """Run the demonstrators at every load and energy weight, and try every action at sampled tasks."""
    plans = [(0, load, weight) for load in LOADS for weight in ENERGY_WEIGHTS]
    plans += [
        (which, load, weight) for which in range(1, len(laws)) for load in LOADS for weight in OTHER_ENERGY_WEIGHTS
    ]
    parts = []
    for index, (which, load, weight) in enumerate(plans):
        seed = budget.seed + 100_000 + index
        tasks = at_load(laws[which], node, load, seed, budget.tasks)
        share = budget.sampled if which == 0 else budget.sampled / 2.0
        rng = stream(seed, "training", "wander")
        parts.append(_returns(tasks, node, weight, demonstrators[which], share, rng))
        log.stage("returns", index + 1, len(plans))
    return Experience(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _returns(
    tasks: LoadedTasks,
    node: Node,
    energy_weight: float,
    demonstrator: FloatColumn,
    share: float,
    rng: np.random.Generator,
) -> Experience:
    count, actions, options = len(tasks.batch), node.num_gpus + 1, AgentOptions()
    sampled = rng.random(count) < share
    sampled[-NO_TASK_AFTER:] = False
    wander = np.where(rng.random(count) < WANDER, rng.random(count), 2.0)
    rows = int(sampled.sum())
    experience = Experience(
        np.empty((rows, cluster_inputs(node.num_gpus)), dtype=np.float32),
        np.empty(rows, dtype=np.float32),
        np.empty((rows, actions), dtype=np.float32),
    )
    power = np.array([node.cpu.power_w / node.cpu.slots, *node.gpu_column("power_w")])
    reward = (energy_weight, options.joule_unit, options.horizon_s, power, demonstrator)
    seconds, device = whole_columns(tasks, node)
    returns_of_actions(
        tasks.batch.arrival_time,
        task_columns(tasks),
        seconds,
        device,
        sampled,
        wander,
        reward,
        fresh_arrival_stats(),
        crew_of(tasks, node),
        free_devices(node),
        experience.states,
        experience.scales,
        experience.futures,
    )
    return experience


def fit_returns(
    dqn: DoubleDqn, experience: Experience, budget: AgentBudget, log: TrainingLog, check: AgentCheck | None = None
) -> None:
    """Fit value and advantages to the true returns, the rate falling to nothing; run the agent now and then."""
    level = experience.futures.mean(axis=1, keepdims=True)
    values = (level[:, 0] / dqn.settings.value_unit).astype(np.float32)
    advantages = ((experience.futures - level) / experience.scales[:, None]).astype(np.float32)
    check_every = max(1, budget.steps // CHECKS)
    losses = []
    if check is not None:
        check.run(dqn.weights, 0, log)
    for step in range(1, budget.steps + 1):
        rows = dqn.rng.integers(0, len(values), budget.batch)
        rate = budget.rate * (1.0 - (step - 1) / budget.steps)
        losses.append(dqn.regress(experience.states[rows], values[rows], advantages[rows], rate))
        if step % LOSS_STEPS == 0 or step == budget.steps:
            log.stage("fit", step, budget.steps)
            log.point("fit_loss", step, float(np.mean(losses)))
            losses.clear()
        if check is not None and (step % check_every == 0 or step == budget.steps):
            check.run(dqn.weights, step, log)
    dqn.adopt(dqn.weights.copy())


def _learn_online(
    dqn: DoubleDqn,
    law: TaskSource,
    node: Node,
    load: float,
    energy_weight: float,
    budget: AgentBudget,
    seed: int,
) -> None:
    """Let the agent run and learn on one stream; the network takes over what it has become."""
    tasks = at_load(law, node, load, seed, budget.online_tasks)
    agent = RlAgent(energy_weight=energy_weight, model=None)
    simulation = Simulation(node, agent, seed=seed)
    agent.adopt(dqn.weights)
    simulation.run((task, 1.0) for task in tasks.batch)
    dqn.adopt(agent.dqn.weights)


CHECKED_LOADS = (0.5, 0.8, 0.95)
SEEDS = 2
MOST_TASKS = 5_000


class AgentCheck:
    """Always the same tasks, so that only the weights make a difference; no test seed is touched."""

    def __init__(self, law: TaskSource, node: Node, training_profile: FloatColumn, seed: int, tasks: int) -> None:
        self._law, self._node, self._training_profile = law, node, training_profile
        self._seeds, self._tasks = range(seed, seed + SEEDS), min(tasks, MOST_TASKS)

    def run(self, weights: npt.NDArray[np.float32], step: int, log: TrainingLog) -> None:
        """Add the latency relative to `earliest_device` at each load to the curves."""
        for load in CHECKED_LOADS:
            agent = FrozenAgent(weights, self._training_profile)
            ratios = agent_ratio(agent, self._law, self._node, load, self._seeds, self._tasks)
            log.point(f"latency_vs_earliest_device_at_{load:g}", step, float(np.mean(ratios)))
