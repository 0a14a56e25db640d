"""Work that goes on beside the requests."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine

from hybrid_ml_scheduler.service.logs import get_logger
from hybrid_ml_scheduler.storage.connect.ending import ended

__all__ = ["going_on"]

_log = get_logger("hms.background")


@contextlib.asynccontextmanager
async def going_on(*work: Coroutine[object, object, None]) -> AsyncIterator[None]:
    """Have work done until the end of the block; what breaks before is logged, and nothing else ends with it."""
    tasks = [asyncio.create_task(one) for one in work]
    for task in tasks:
        task.add_done_callback(_looked_at)
    try:
        yield
    finally:
        await ended(*tasks)


def _looked_at(task: asyncio.Task[None]) -> None:
    problem = None if task.cancelled() else task.exception()
    if problem is not None:
        _log.error("background work ended", exc_info=problem)
