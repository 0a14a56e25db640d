"""How an executor works, apart from where and by which strategy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hybrid_ml_scheduler.core.errors import PlanError

__all__ = ["ExecutorOptions"]

MEMORY_RULES = ("cpu", "fail")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorOptions:
    """Retries, time-outs, limits and memory of an executor.

    `retries`: how often a task is started again after its worker died (a task's own exception is never retried).
    `timeout_s`: how long a task may run. `queue_limit`: `submit` waits while so many tasks are unfinished.
    `memory_rule`: a device that runs out of memory hands the task to the CPU (`cpu`) or fails it (`fail`).
    `pin_cores`: give every worker its own cores where there are enough. `store`: folder of the performance store;
    `None` takes the usual one, "" keeps nothing. `history`: how many finished tasks are remembered.
    """

    retries: int = 0
    timeout_s: float | None = None
    queue_limit: int = 10_000
    memory_rule: str = "cpu"
    pin_cores: bool = True
    store: str | None = None
    history: int = 10_000
    seed: int = 0
    initializer: Callable[..., Any] | None = None
    initargs: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if self.retries < 0:
            raise PlanError(f"retries = {self.retries} must be at least 0.")
        if self.timeout_s is not None and not 0.0 < self.timeout_s < math.inf:
            raise PlanError(f"timeout_s = {self.timeout_s:g} must be a finite number above 0.")
        if self.queue_limit < 1 or self.history < 0:
            raise PlanError(f"queue_limit = {self.queue_limit} must be at least 1 and history = {self.history} 0.")
        if self.memory_rule not in MEMORY_RULES:
            raise PlanError(f"memory_rule = {self.memory_rule!r} must be 'cpu' or 'fail'.")
