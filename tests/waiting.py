"""Waiting with an end, on every Python that is promised: `asyncio.timeout` came with 3.11."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

__all__ = ["within"]


@asynccontextmanager
async def within(seconds: float) -> AsyncIterator[None]:
    """Whatever is awaited here ends in this time, or the test fails."""
    task, late = asyncio.current_task(), False
    assert task is not None, "only a task can be waited for"

    def interrupt() -> None:
        nonlocal late
        late = True
        task.cancel()

    alarm = asyncio.get_running_loop().call_later(seconds, interrupt)
    try:
        yield
    except asyncio.CancelledError:
        if late:
            raise TimeoutError(f"it did not end within {seconds:g} s") from None
        raise
    finally:
        alarm.cancel()
