"""The same figures, asked for without the browser."""

from __future__ import annotations

import asyncio
import json
import threading
import time
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


def standings(live: LiveService, window: str = "run") -> dict[str, dict[str, Any]]:
    """Every strategy's row of the comparison over one window, once a race that stands is shown to its last task."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        found = live.get("/api/standings", window=window)
        if found["last_task_id"] == live.status()["last_task_id"]:
            return {row["name"]: row for row in found["comparison"]}
        assert time.monotonic() < deadline_s, "the last task is not shown"
        time.sleep(0.05)
