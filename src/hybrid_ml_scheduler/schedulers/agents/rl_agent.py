"""RL agent: a Double DQN with a dueling head picks the CPU or one GPU for the whole task.

Q(s, a) = expected reward of the action now (from the estimates and the backlogs, the *prior*) + what the network has
learned about the future. A network that knows nothing yet therefore decides like `earliest_device` (with
energy at its weight), on any node, from the first task on. The shipped weights were trained in the
simulator on `mixed` at many loads (`hms train agent`); they serve nodes of four GPUs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.core import CPU_ONLY, ClusterView, Decision, FloatColumn, Outcome, RaceContext, Task, stream
from hybrid_ml_scheduler.core.errors import ModelError, PlanError, SchedulerError
from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.learning.dqn import DoubleDqn, DqnSettings
from hybrid_ml_scheduler.learning.files import load_agent, save_agent
from hybrid_ml_scheduler.schedulers.agents.arrival_stats import fresh_arrival_stats, is_arrival_stats
from hybrid_ml_scheduler.schedulers.agents.memory import AgentMemory
from hybrid_ml_scheduler.schedulers.agents.options import AgentOptions
from hybrid_ml_scheduler.schedulers.agents.sight import AgentSight, Demonstration, demonstrated_action

__all__ = ["VALUE_UNIT", "RlAgent", "shipped_training_profile", "shipped_weights"]

VALUE_UNIT = 50.0
SHIPPED = "default"
GENTLE = 1e-3


def shipped_weights(num_gpus: int) -> npt.NDArray[np.float32] | None:
    """The trained weights that come with the package, where they fit the node."""
    place = files("hybrid_ml_scheduler.schedulers") / "weights" / "rl_agent.npy"
    if num_gpus != 4 or not place.is_file():
        return None
    with place.open("rb") as source:
        weights: npt.NDArray[np.float32] = np.load(source, allow_pickle=False)
    return weights


def shipped_training_profile() -> FloatColumn:
    """The tasks that the shipped weights were trained on, and the load from which on they are trusted."""
    place = files("hybrid_ml_scheduler.schedulers") / "weights" / "rl_agent.json"
    return np.array(json.loads(place.read_text(encoding="utf-8"))["home"], dtype=np.float64)


class RlAgent:
    """Learns online which whole device serves a task best, now and for those that follow."""

    name = "rl_agent"

    def __init__(
        self,
        online: bool = True,
        model: str | None = SHIPPED,
        tensorboard: str | None = None,
        **options: Any,
    ) -> None:
        known = AgentOptions.__dataclass_fields__
        for key in options:
            if key not in known:
                raise PlanError(f"rl_agent has no option {key!r}; it knows: online, model, {', '.join(known)}.")
        self.options = AgentOptions(**options)
        self._updates_per_task = self.options.updates_per_task
        self.online = online
        self.learning = "online" if online else "frozen"
        self._model, self._tensorboard = model, tensorboard
        self._stored = load_agent(model) if model not in (None, SHIPPED) else None
        self._board: Any = None

    def prepare(self, context: RaceContext) -> None:
        """Start afresh, with the shipped weights where they fit, a stored model, or an open mind."""
        options = self.options
        gpus = range(context.num_gpus)
        self._placements = [CPU_ONLY, *(Decision(gpu_fraction=1.0, gpu=gpu) for gpu in gpus)]
        self.sight = AgentSight(context.estimator, options)
        settings = DqnSettings(
            learning_rate=options.learning_rate,
            value_unit=VALUE_UNIT if options.has_prior else 1.0,
            quiet_head=options.has_prior,
        )
        rng = stream(context.seed, "scheduler", self.name, "learning")
        self.dqn = DoubleDqn(self.sight.inputs, self.sight.actions, rng, settings)
        self._explore = stream(context.seed, "scheduler", self.name, "exploration")
        self._memory = AgentMemory(options, self.dqn.replay)
        self._decisions, self._owed = 0, 0.0
        self.exploring = False
        if self._stored is not None:
            self._load(self._stored)
        elif self._model == SHIPPED and options.has_prior and options.time == "latency":
            weights = shipped_weights(context.num_gpus)
            if weights is not None:
                self.adopt(weights, shipped_training_profile())

    def adopt(self, weights: npt.NDArray[np.float32], training_profile: FloatColumn | None = None) -> None:
        """Take over trained weights, and from then on learn gently; `training_profile` says where they can be trusted.

        Whatever the chance of the arrivals does to one return would otherwise pass into the far smaller
        differences between devices: the hidden layers stay, the advantages move at a thousandth of the rate.
        """
        self.dqn.adopt(weights)
        self.dqn.settle(trunk=0.0, advantage=GENTLE)
        self.sight.arrival_stats = fresh_arrival_stats(training_profile)

    @property
    def epsilon(self) -> float:
        """The chance that the next action is random."""
        return self.options.epsilon(self._decisions) if self.online else 0.0

    @property
    def updates(self) -> int:
        """How many updates the network has had."""
        return int(self.dqn.updates)

    def limit_updates(self, per_task: float | None) -> None:
        """Update at most so often; never oftener than was asked for."""
        asked = self._updates_per_task
        self.options = replace(self.options, updates_per_task=asked if per_task is None else min(asked, per_task))

    @property
    def loss(self) -> float:
        """The loss of the latest update."""
        return float(self.dqn.loss)

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        """Take the action with the highest Q, or now and then a random one while learning."""
        sight = self.sight
        action = sight.look(task, cluster, self.dqn)
        if self.online:
            self.exploring = self._explore.random() < self.epsilon
            if self.exploring:
                action = int(self._explore.integers(sight.actions))
            self._decisions += 1
            self._memory.decided(task.task_id, cluster.now_s, sight, action)
        return self._decision(action)

    def preview(self, task: Task, cluster: ClusterView) -> Decision:
        """The decision that `decide` would take now; nothing is remembered and no draw is used up."""
        action = self.sight.look(task, cluster, self.dqn, remember=False)
        before = self._explore.bit_generator.state
        if self.online and self._explore.random() < self.epsilon:
            action = int(self._explore.integers(self.sight.actions))
        self._explore.bit_generator.state = before
        return self._decision(action)

    def _decision(self, action: int) -> Decision:
        return self._placements[int(self.sight.order[action])]

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Turn a finished task into experience and learn from the store of it."""
        if not self.online:
            return
        self._memory.finished(task.task_id, self.sight.reward(outcome))
        self._owed += self.options.updates_per_task
        while self._owed >= 1.0:
            self._owed -= 1.0
            if self.dqn.replay.size >= self.dqn.settings.batch:
                self.dqn.update()
                self._log()

    def pretrain(self, demonstrations: Iterable[Demonstration], updates: int) -> None:
        """Learn from what another strategy did, with the rewards it really earned (after `prepare`).

        `experiments.demonstrations` lets a heuristic or a whole-device oracle give them.
        """
        self._memory.break_off()
        for lesson in demonstrations:
            self.sight.look(lesson.task, lesson.cluster, self.dqn)
            action = demonstrated_action(lesson, self.sight.order)
            self._memory.decided(lesson.task.task_id, lesson.cluster.now_s, self.sight, action)
            if not lesson.outcome.failed:
                self._memory.finished(lesson.task.task_id, self.sight.reward(lesson.outcome))
        self._memory.break_off()
        if self.dqn.replay.size < self.dqn.settings.batch:
            raise SchedulerError(f"rl_agent: {self.dqn.replay.size} demonstrations are fewer than one batch.")
        for _ in range(updates):
            self.dqn.update()
            self._log()

    def explain(self, task: Task, cluster: ClusterView) -> Mapping[str, Any]:
        """Q of every action, what of it is expected at once, and whether the agent was exploring."""
        best = self.sight.look(task, cluster, self.dqn, remember=False)
        names = ["cpu" if gpu == 0 else f"gpu_{gpu - 1}" for gpu in self.sight.order.tolist()]
        return {
            "reason": "highest Q-value: expected reward now plus what was learned about the future",
            "action": names[best],
            "q_values": dict(zip(names, self.sight.q.tolist(), strict=True)),
            "expected_now": dict(zip(names, self.sight.prior.tolist(), strict=True)),
            "exploring": self.exploring,
            "epsilon": self.epsilon,
            "loss": self.loss,
            "updates": self.dqn.updates,
        }

    def save_model(self, path: str | Path) -> None:
        """Write network, optimiser, replay and random state (`.pth`)."""
        save_agent(self.capture(), path)

    def load_model(self, path: str | Path) -> None:
        """Continue from a stored agent; a file that is refused leaves this one as it is."""
        self._load(load_agent(path))

    def capture(self) -> Mapping[str, Any]:
        """Everything that a later decision or update depends on."""
        return {
            "dqn": self.dqn.capture(),
            "explore": self._explore.bit_generator.state,
            "memory": self._memory.capture(),
            "pace": self.sight.arrival_stats.copy(),
            "decisions": self._decisions,
            "owed": self._owed,
            "exploring": self.exploring,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state."""
        arrival_stats = np.array(state["pace"], dtype=np.float64)
        if not is_arrival_stats(arrival_stats):
            raise ModelError("rl_agent: the stored arrival statistics are of another version.")
        self.dqn.restore(state["dqn"])
        self._explore.bit_generator.state = state["explore"]
        self._memory.restore(state["memory"])
        self.sight.arrival_stats = arrival_stats
        self._decisions, self._owed = int(state["decisions"]), float(state["owed"])
        self.exploring = bool(state["exploring"])

    def _load(self, state: Mapping[str, Any]) -> None:
        """Take over a stored state; whatever is wrong with it, this agent stays as it was."""
        before = self.capture()
        try:
            shape = tuple(state["dqn"]["shape"])
            if shape != self.dqn.shape:
                raise ModelError(_other_shape(shape, self.dqn.shape))
            if len(state["dqn"]["weights"]) != len(self.dqn.weights):
                raise ModelError("The stored agent has another number of weights than its shape says.")
            self.restore(state)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            self.restore(before)
            raise ModelError(f"The stored agent lacks a part or holds a wrong one: {error}.") from error

    def _log(self) -> None:
        if self._tensorboard is None or self.dqn.updates % 100:
            return
        if self._board is None:
            from hybrid_ml_scheduler.learning.files import open_board

            self._board = open_board(self._tensorboard)
        if math.isfinite(self.loss):
            self._board.add_scalar("rl_agent/loss", self.loss, self.dqn.updates)
        self._board.add_scalar("rl_agent/epsilon", self.epsilon, self.dqn.updates)
        self._board.add_scalar("rl_agent/reward", self._memory.mean_reward, self.dqn.updates)
        self._board.flush()


def _other_shape(stored: tuple[int, ...], wanted: tuple[int, ...]) -> str:
    """Why stored weights do not fit: the network has an answer for each GPU and one for the CPU."""
    if stored[-1] != wanted[-1]:
        return f"The agent was trained for {amount(int(stored[-1]) - 1, 'GPU')}, and this node has {wanted[-1] - 1}."
    return f"The stored agent is of another version: its network has the layers {stored}, this one's {wanted}."
