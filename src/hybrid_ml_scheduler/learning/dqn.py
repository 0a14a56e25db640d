"""The Double DQN learner: a dueling network, its target network, Adam and a replay ring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.learning import network
from hybrid_ml_scheduler.learning.replay import Replay

__all__ = ["DoubleDqn", "DqnSettings"]

Singles = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class DqnSettings:
    """The sizes and rates of the learner; the defaults are the product's."""

    hidden: int = 256
    replay: int = 50_000
    batch: int = 64
    sync_every: int = 50
    learning_rate: float = 1e-4
    value_unit: float = 1.0
    quiet_head: bool = True


class DoubleDqn:
    """Learns Q for every action; decisions are served from plain arrays in microseconds."""

    def __init__(
        self, inputs: int, actions: int, rng: np.random.Generator, settings: DqnSettings | None = None
    ) -> None:
        network.one_blas_thread()
        self.settings = settings or DqnSettings()
        self.shape: network.Shape = (inputs, self.settings.hidden, actions)
        self.rng = rng
        self.weights = network.initial_weights(self.shape, rng, quiet_head=self.settings.quiet_head)
        self.target = self.weights.copy()
        self.mean = np.zeros_like(self.weights)
        self.square = np.zeros_like(self.weights)
        self.shares = np.ones_like(self.weights)
        self.updates = 0
        self.loss = 0.0
        self.replay = Replay(self.settings.replay, inputs, actions)
        self._q = np.empty(actions, dtype=np.float32)
        self._head_only = False

    def q(self, state: Singles, scale: float = 1.0) -> Singles:
        """Q of every action in one state; the returned array is used again by the next call."""
        network.q_vector(self.weights, state, scale, self.settings.value_unit, self.settings.hidden, self._q)
        return self._q

    def update(self) -> float:
        """One Double DQN update from the replay ring; returns the loss."""
        batch = self.replay.sample(self.rng, self.settings.batch)
        self.updates += 1
        self.loss = network.td_step(
            self.weights,
            self.target,
            self.mean,
            self.square,
            self.updates,
            self.settings.learning_rate,
            self.shares,
            self.settings.value_unit,
            self.settings.hidden,
            self._head_only,
            batch,
        )
        if self.updates % self.settings.sync_every == 0:
            self.target[:] = self.weights
        return self.loss

    def regress(self, states: Singles, values: Singles, advantages: Singles, rate: float) -> float:
        """One step towards known values and advantages of every action (pre-training); returns the mean error."""
        self.updates += 1
        self._head_only = False
        self.loss = network.regression_step(
            self.weights,
            self.mean,
            self.square,
            self.updates,
            rate,
            np.ones_like(self.shares),
            self.settings.hidden,
            states,
            values,
            advantages,
        )
        return self.loss

    def settle(self, trunk: float, advantage: float) -> None:
        """Let the hidden layers and the advantages learn at these shares of the rate from now on."""
        self.shares[:] = network.rate_shares(self.shape, trunk, advantage)
        self._look_at_trunk()

    def adopt(self, weights: Singles) -> None:
        """Take over trained weights and start the optimiser afresh."""
        self.weights[:] = weights
        self.target[:] = weights
        self.mean[:] = 0.0
        self.square[:] = 0.0
        self.updates = 0
        self._look_at_trunk()

    def _look_at_trunk(self) -> None:
        """Leave out the hidden layers while they cannot change: it comes to the same, at less than half the work."""
        trunk = slice(network.head_begin(*self.shape[:2]))
        is_shared = np.array_equal(self.weights[trunk], self.target[trunk])
        self._head_only = is_shared and not self.shares[trunk].any()

    def capture(self) -> dict[str, Any]:
        """Network, target, optimiser, replay and random state, as plain values and arrays."""
        return {
            "shape": self.shape,
            "settings": asdict(self.settings),
            "weights": self.weights.copy(),
            "target": self.target.copy(),
            "mean": self.mean.copy(),
            "square": self.square.copy(),
            "shares": self.shares.copy(),
            "updates": self.updates,
            "loss": float(self.loss),
            "replay": self.replay.capture(),
            "rng": self.rng.bit_generator.state,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue exactly from a captured state of the same shape."""
        for name in ("weights", "target", "mean", "square", "shares"):
            getattr(self, name)[:] = np.asarray(state[name])
        self.updates, self.loss = int(state["updates"]), float(state["loss"])
        self.replay.restore(state["replay"])
        self.rng.bit_generator.state = state["rng"]
        self._look_at_trunk()
