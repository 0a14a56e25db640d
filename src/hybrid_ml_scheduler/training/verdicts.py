"""Any model file, or a shipped agent by name, to verdicts: ratios on seeds that no training saw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core import FloatColumn
from hybrid_ml_scheduler.core.errors import ModelError
from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.learning.files import load_agent, load_forest
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.file_tasks import TaskSource
from hybrid_ml_scheduler.schedulers.agents.arrival_stats import PROFILE_LENGTH, is_arrival_stats
from hybrid_ml_scheduler.schedulers.agents.inputs import cluster_inputs
from hybrid_ml_scheduler.schedulers.agents.rl_agent import shipped_training_profile, shipped_weights
from hybrid_ml_scheduler.schedulers.agents.split_model import load_split
from hybrid_ml_scheduler.training import judging, strategy_of

__all__ = ["Judgement", "Verdict", "judge_model"]

Singles = npt.NDArray[np.float32]
FLOOD_TASKS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One measure of a model over that of a rival, one ratio a seed: below 1 the model is the better one."""

    measure: str
    rival: str
    ratios: tuple[float, ...]
    load: float | None = None

    @property
    def key(self) -> str:
        """Its name in JSON."""
        name = f"{self.measure}_vs_{self.rival}"
        return name if self.load is None else f"{name}_at_{self.load:g}"

    @property
    def label(self) -> str:
        """Its name for people."""
        name = f"{self.measure.replace('_', ' ')} ÷ {self.rival}"
        return name if self.load is None else f"{name}, load {100 * self.load:g} %"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What a model is judged on: workload, node, loads, test seeds, and tasks of each."""

    law: TaskSource
    node: Node
    loads: tuple[float, ...]
    seeds: Sequence[int]
    tasks: int


def judge_model(
    model: str, task: Judgement, step: Callable[[int, int], None] = lambda _done, _total: None
) -> list[Verdict]:
    """Judge a model by the measures of its kind; `step` hears after each seed how many are done of how many."""
    judges = {"hybrid_ml_share": _forest, "rl_split": _split, "rl_agent": _agent}
    parts = judges[strategy_of(model)](model, task)
    total, done = len(parts) * len(task.seeds), 0
    verdicts: list[Verdict] = []
    for part in parts:
        ratios = []
        for seed in task.seeds:
            ratios.append(part.ratios(seed))
            done += 1
            step(done, total)
        verdicts += [
            Verdict(measure=part.measure, rival=rival, load=part.load, ratios=tuple(column))
            for rival, column in zip(part.rivals, zip(*ratios, strict=True), strict=True)
        ]
    return verdicts


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One measure against one or more rivals: all their ratios on one seed."""

    measure: str
    rivals: tuple[str, ...]
    ratios: Callable[[int], tuple[float, ...]]
    load: float | None = None


def _forest(model: str, task: Judgement) -> list[_Part]:
    forest = load_forest(model)[0]

    def ratio(seed: int) -> tuple[float, ...]:
        return (judging.forest_ratio(forest, task.law, task.node, (seed,), task.tasks)[0],)

    return [_Part(measure="execution_time", rivals=("optimum",), ratios=ratio)]


def _agent(model: str, task: Judgement) -> list[_Part]:
    agent = _agent_weights(model, task.node)

    def at(load: float) -> Callable[[int], tuple[float, ...]]:
        def ratio(seed: int) -> tuple[float, ...]:
            return (judging.agent_ratio(agent, task.law, task.node, load, (seed,), task.tasks)[0],)

        return ratio

    return [_Part(measure="latency", rivals=("earliest_device",), load=load, ratios=at(load)) for load in task.loads]


def _split(model: str, task: Judgement) -> list[_Part]:
    split = load_split(None if model == "rl_split" else model)

    def at(load: float) -> Callable[[int], tuple[float, ...]]:
        def ratios(seed: int) -> tuple[float, ...]:
            plain, frugal = judging.split_ratios(split, task.law, task.node, load, (seed,), task.tasks)
            return plain[0], frugal[0]

        return ratios

    def bound(seed: int) -> tuple[float, ...]:
        count = min(task.tasks, FLOOD_TASKS)
        return (judging.split_bound_ratio(split, task.law, task.node, (seed,), count)[0],)

    rivals = ("earliest_finish", "frugal_finish")
    streams = [_Part(measure="latency", rivals=rivals, load=load, ratios=at(load)) for load in task.loads]
    return [*streams, _Part(measure="makespan", rivals=("bound",), ratios=bound)]


def _agent_weights(model: str, node: Node) -> judging.FrozenAgent:
    """The weights of an agent, and the training profile that it knows of."""
    weights: Singles | None
    training_profile: FloatColumn | None = None
    if model == "rl_agent":
        weights, training_profile = shipped_weights(node.num_gpus), shipped_training_profile()
    elif model.endswith(".npy"):
        weights = _bare(model)
    else:
        weights, training_profile = _stored(load_agent(model))
    inputs, actions = cluster_inputs(node.num_gpus), node.num_gpus + 1
    expected = (inputs + 1) * judging.HIDDEN + (judging.HIDDEN + 1) * (judging.HIDDEN + actions + 1)
    if weights is None or weights.shape != (expected,) or weights.dtype != np.float32:
        raise ModelError(f"{model} holds no weights for a node of {amount(node.num_gpus, 'GPU')}.")
    return judging.FrozenAgent(weights, training_profile)


def _bare(model: str) -> Singles:
    """The weights of a `.npy` file; of a file that is none, NumPy would speak of pickles."""
    try:
        found: Singles = np.load(model, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ModelError(f"{model} is corrupt or not a file of weights ({type(error).__name__}).") from error
    return found


def _stored(state: dict[str, Any]) -> tuple[Singles, FloatColumn | None]:
    dqn = state.get("dqn")
    weights = np.asarray(dqn.get("weights", ()) if isinstance(dqn, dict) else (), dtype=np.float32)
    arrival_stats = np.asarray(state.get("pace", ()), dtype=np.float64)
    return weights, arrival_stats[-PROFILE_LENGTH:] if is_arrival_stats(arrival_stats) and len(
        arrival_stats
    ) > PROFILE_LENGTH else None
