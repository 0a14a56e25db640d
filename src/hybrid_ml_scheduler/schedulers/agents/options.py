"""What can be chosen about the agent, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from hybrid_ml_scheduler.core.errors import PlanError

__all__ = ["AgentOptions", "StateKind", "TimeKind"]

StateKind = Literal["cluster", "task"]
TimeKind = Literal["latency", "execution"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """Reward, state, exploration and learning of `rl_agent`; the defaults are the product's."""

    energy_weight: float = 0.5
    time: TimeKind = "latency"
    state: StateKind = "cluster"
    horizon_s: float = 8.0
    joule_unit: float = 50.0
    epsilon_start: float = 0.02
    epsilon_end: float = 0.001
    epsilon_decay: float = 2_000.0
    learning_rate: float = 1e-5
    updates_per_task: float = 1.0
    prior: bool = True

    def __post_init__(self) -> None:
        for name in ("energy_weight", "epsilon_start", "epsilon_end"):
            value = getattr(self, name)
            if not 0.0 <= value <= 1.0:
                raise PlanError(f"rl_agent: {name} = {value:g} is outside [0, 1].")
        for name in ("joule_unit", "epsilon_decay", "learning_rate"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise PlanError(f"rl_agent: {name} = {value:g} must be a finite number above 0.")
        for name in ("horizon_s", "updates_per_task"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise PlanError(f"rl_agent: {name} = {value:g} must be a finite number of at least 0.")
        if self.time not in get_args(TimeKind) or self.state not in get_args(StateKind):
            raise PlanError(f"rl_agent: time = {self.time!r} or state = {self.state!r} is unknown.")

    @property
    def has_prior(self) -> bool:
        """Whether the agent starts from what the estimates promise; the bare state has none."""
        return self.prior and self.state == "cluster"

    def epsilon(self, decisions: int) -> float:
        """The chance of a random action after so many decisions."""
        gone = math.exp(-decisions / self.epsilon_decay)
        return self.epsilon_end + (self.epsilon_start - self.epsilon_end) * gone
