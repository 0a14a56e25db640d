"""Ending the tasks of an event loop for certain."""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["ended"]

_ASK_AGAIN_S = 0.5


async def ended(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait until they have ended; what they raise is for others to look at.

    They are asked again: up to Python 3.11 `asyncio.wait_for`, which drivers use too, forgets a cancellation that comes
    together with what it waits for, and the task goes on as if nothing had been said.
    """
    going_on = {task for task in tasks if not task.done()}
    while going_on:
        for task in going_on:
            task.cancel()
        _, going_on = await asyncio.wait(going_on, timeout=_ASK_AGAIN_S)
