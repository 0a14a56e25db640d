"""From decisions and finishes to transitions: complete when the task has finished and the next one was decided."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hybrid_ml_scheduler.learning.replay import Replay, Transition
from hybrid_ml_scheduler.schedulers.agents.options import AgentOptions
from hybrid_ml_scheduler.schedulers.agents.sight import AgentSight

__all__ = ["AgentMemory"]

Singles = npt.NDArray[np.float32]
REWARD_MEMORY = 0.99
MOST_OPEN = 100_000  # a task that fails never finishes; the oldest open steps give way


@dataclass(slots=True)
class _Step:
    """A decision on its way to becoming experience."""

    state: Singles
    scale: float
    action: int
    expected: float
    decided_s: float
    reward: float | None = None
    discount: float = 0.0
    next_state: Singles | None = None
    next_scale: float = 1.0
    next_prior: Singles | None = None


class AgentMemory:
    """Pairs rewards with the states that followed and hands complete transitions to the replay ring."""

    def __init__(self, options: AgentOptions, replay: Replay) -> None:
        self._options, self._replay = options, replay
        self._open: dict[int, _Step] = {}
        self._latest = -1
        self.mean_reward = 0.0

    def decided(self, task_id: int, now_s: float, sight: AgentSight, action: int) -> None:
        """A decision was taken in what `sight` shows; it is the next state of the decision before."""
        state, prior = sight.state.copy(), sight.prior.copy()
        before = self._open.get(self._latest)
        if before is not None:
            horizon = self._options.horizon_s if self._options.time == "latency" else 0.0
            before.discount = math.exp((before.decided_s - now_s) / horizon) if horizon > 0.0 else 0.0
            before.next_state, before.next_scale, before.next_prior = state, sight.scale, prior
            self._settle(self._latest)
        self._open[task_id] = _Step(state, sight.scale, action, float(prior[action]), now_s)
        self._latest = task_id
        if len(self._open) > MOST_OPEN:
            del self._open[next(iter(self._open))]

    def finished(self, task_id: int, reward: float) -> None:
        """The task of a decision has finished."""
        step = self._open.get(task_id)
        if step is None:
            return
        step.reward = reward
        self.mean_reward = REWARD_MEMORY * self.mean_reward + (1.0 - REWARD_MEMORY) * reward
        self._settle(task_id)

    def break_off(self) -> None:
        """Forget the open steps: the next decision belongs to another run and follows none of them."""
        self._open.clear()
        self._latest = -1

    def capture(self) -> dict[str, Any]:
        """The open steps as columns, the latest decision and the running mean."""
        steps = self._open.items()
        return {
            "ids": list(self._open),
            "steps": [
                {name: getattr(step, name) for name in _Step.__slots__ if getattr(step, name) is not None}
                for _, step in steps
            ],
            "latest": self._latest,
            "mean_reward": self.mean_reward,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from captured steps."""
        self._open = {
            int(task_id): _Step(**{name: _plain(value) for name, value in step.items()})
            for task_id, step in zip(state["ids"], state["steps"], strict=True)
        }
        self._latest, self.mean_reward = int(state["latest"]), float(state["mean_reward"])

    def _settle(self, task_id: int) -> None:
        """Move a complete step into the ring; what the estimates promised is not learned again."""
        step = self._open[task_id]
        if step.reward is None or step.next_state is None or step.next_prior is None:
            return
        del self._open[task_id]
        self._replay.add(
            Transition(
                state=step.state,
                scale=step.scale,
                action=step.action,
                reward=step.reward - step.expected,
                discount=step.discount,
                next_state=step.next_state,
                next_scale=step.next_scale,
                next_prior=step.next_prior,
            )
        )


def _plain(value: Any) -> Any:
    """A tensor from a model file as an array; everything else as it is."""
    return np.asarray(value) if hasattr(value, "shape") else value
