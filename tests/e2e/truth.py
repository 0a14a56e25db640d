"""The same figures, asked for without the browser."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

from websockets.asyncio.client import connect

from tests.api.service import PATIENCE_S, LiveService


def snapshot(live: LiveService) -> dict[str, Any]:
    """The first message a viewer gets; asked for on a thread of its own, for the browser's loop owns this one."""

    async def ask() -> str | bytes:
        async with connect(live.url.replace("http", "ws") + "/ws", max_size=None, open_timeout=PATIENCE_S) as socket:
            return await socket.recv()

    heard: list[dict[str, Any]] = []
    thread = threading.Thread(target=lambda: heard.append(json.loads(asyncio.run(ask()))))
    thread.start()
    thread.join(PATIENCE_S)
    return heard[0]


def standings(live: LiveService) -> dict[str, dict[str, Any]]:
    """Every strategy's row of the comparison."""
    return {row["name"]: row for row in snapshot(live)["update"]["comparison"]}
