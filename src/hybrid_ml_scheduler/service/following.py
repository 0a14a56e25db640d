"""Following the race of another process: what is said about it is heard, and steering it is left to that one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NoReturn, TypeVar

from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.service.explain.audits import Reasons
from hybrid_ml_scheduler.service.problems import Conflict
from hybrid_ml_scheduler.service.viewers.mirror import ASKING, UPDATES, Mirror
from hybrid_ml_scheduler.service.viewers.screen import DEFAULT_FOCUS
from hybrid_ml_scheduler.service.wire.history import ModelVersion
from hybrid_ml_scheduler.service.wire.simulation import (
    BranchRequest,
    NewRunLoad,
    SimulationPatch,
    SimulationStatus,
    StartRequest,
)
from hybrid_ml_scheduler.service.wire.tasks import NewTask, TaskAdvice
from hybrid_ml_scheduler.storage import Cache

__all__ = ["FollowedRace", "follow"]

T = TypeVar("T")

_ASK_EVERY_S = 1.0
_WAITING = 256
_ELSEWHERE = "This service follows a race that another one runs; ask that one."
_NO_REASON = "Only the service that runs the race knows the reasons of decisions that are past."


async def follow(mirror: Mirror, cache: Cache) -> None:
    """Hear what is said, and ask for all of it at the beginning and whenever the thread is lost."""
    async with cache.subscribe(UPDATES, capacity=_WAITING) as messages:
        ask_s = 0.0
        while True:
            if not mirror.has_thread and time.monotonic() >= ask_s:
                ask_s = time.monotonic() + _ASK_EVERY_S
                await cache.publish(ASKING, b"all")
            try:
                message = await asyncio.wait_for(messages.get(), _ASK_EVERY_S)
            except asyncio.TimeoutError:
                mirror.miss()
            else:
                mirror.take(message)


class FollowedRace:
    """The race as it was last heard of; whoever wants to change it is sent to the service that runs it."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror

    def status(self) -> SimulationStatus:
        """Say where the race stood when it was last heard of."""
        return self._mirror.update(DEFAULT_FOCUS).status

    async def reasons(self, task: Task) -> Reasons:
        """Return the reasons that came with the newest update, where it was about this task."""
        audits = self._mirror.update(DEFAULT_FOCUS).audit
        told = {name: one.reason for name, one in audits.items() if one.task_id == task.task_id}
        return Reasons(recalled=told, otherwise=_NO_REASON)

    async def start(self, request: StartRequest) -> SimulationStatus:
        """Refuse: the race is elsewhere."""
        _refuse(request)

    async def preview(self, request: StartRequest) -> NewRunLoad:
        """Refuse: the race is elsewhere."""
        _refuse(request)

    async def stop(self) -> SimulationStatus:
        """Refuse: the race is elsewhere."""
        _refuse()

    async def pause(self) -> SimulationStatus:
        """Refuse: the race is elsewhere."""
        _refuse()

    async def resume(self) -> SimulationStatus:
        """Refuse: the race is elsewhere."""
        _refuse()

    async def change(self, patch: SimulationPatch) -> SimulationStatus:
        """Refuse: the race is elsewhere."""
        _refuse(patch)

    async def branch(self, run_id: int, request: BranchRequest) -> SimulationStatus:
        """Refuse: the race is elsewhere."""
        _refuse(run_id, request)

    async def call_back(self, scheduler: str) -> ModelVersion:
        """Refuse: the race is elsewhere."""
        _refuse(scheduler)

    async def advise(self, task: NewTask, run: bool) -> TaskAdvice:
        """Refuse: the strategies are elsewhere."""
        _refuse(task, run)

    async def clear(self, remove: Callable[[], Awaitable[T]]) -> T:
        """Refuse: what is stored belongs to the race."""
        _refuse(remove)


def _refuse(*_asked: object) -> NoReturn:
    raise Conflict(_ELSEWHERE)
