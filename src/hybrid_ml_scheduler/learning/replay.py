"""What the agent remembers: transitions as columns in a ring of fixed size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Replay", "Transition", "Transitions"]

Singles = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


class Transitions(NamedTuple):
    """A batch of transitions; `discounts` is what the value of the next state counts."""

    states: Singles
    scales: Singles
    actions: Ints
    rewards: Singles
    discounts: Singles
    next_states: Singles
    next_scales: Singles
    next_priors: Singles


class Transition(NamedTuple):
    """One step: state, action, reward, and where it led after what discount."""

    state: Singles
    scale: float
    action: int
    reward: float
    discount: float
    next_state: Singles
    next_scale: float
    next_prior: Singles


class Replay:
    """A ring of the latest transitions, sampled uniformly with replacement."""

    def __init__(self, capacity: int, inputs: int, actions: int) -> None:
        self.capacity = capacity
        self.size = 0
        self._next = 0
        self.columns = Transitions(
            states=np.zeros((capacity, inputs), dtype=np.float32),
            scales=np.zeros(capacity, dtype=np.float32),
            actions=np.zeros(capacity, dtype=np.int64),
            rewards=np.zeros(capacity, dtype=np.float32),
            discounts=np.zeros(capacity, dtype=np.float32),
            next_states=np.zeros((capacity, inputs), dtype=np.float32),
            next_scales=np.zeros(capacity, dtype=np.float32),
            next_priors=np.zeros((capacity, actions), dtype=np.float32),
        )

    def add(self, transition: Transition) -> None:
        """Remember one transition; the oldest one gives way when the ring is full."""
        place, columns = self._next, self.columns
        columns.states[place], columns.scales[place] = transition.state, transition.scale
        columns.actions[place], columns.rewards[place] = transition.action, transition.reward
        columns.discounts[place] = transition.discount
        columns.next_states[place], columns.next_scales[place] = transition.next_state, transition.next_scale
        columns.next_priors[place] = transition.next_prior
        self._next = (self._next + 1) % self.capacity
        self.size = min(self.size + 1, self.capacity)

    def sample(self, rng: np.random.Generator, count: int) -> Transitions:
        """Draw transitions at random."""
        rows = rng.integers(0, self.size, count)
        return Transitions._make(column[rows] for column in self.columns)

    def capture(self) -> dict[str, Any]:
        """The filled part of the ring, and where it goes on."""
        filled = {name: column[: self.size].copy() for name, column in self.columns._asdict().items()}
        return {"next": self._next, "size": self.size, "columns": filled}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a captured ring of the same shape."""
        following, size = int(state["next"]), int(state["size"])
        if not (0 <= following < self.capacity and 0 <= size <= self.capacity):
            raise ValueError(f"a ring of {self.capacity} holds no {size} transitions that go on at {following}")
        self._next, self.size = following, size
        for name, column in self.columns._asdict().items():
            column[: self.size] = np.asarray(state["columns"][name])
