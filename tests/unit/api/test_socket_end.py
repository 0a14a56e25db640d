"""How a connection ends when the viewer leaves while it is being spoken to."""

from __future__ import annotations

import asyncio
import gc
from typing import Any, cast

from starlette.websockets import WebSocket

from hybrid_ml_scheduler.api import socket as sockets
from hybrid_ml_scheduler.api.dependencies import Services
from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.service.telemetry import Telemetry
from hybrid_ml_scheduler.service.viewers.latest_frame import LatestFrame


async def test_a_viewer_who_leaves_in_the_middle_of_a_message_leaves_no_complaint() -> None:
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    incoming = [{"type": "websocket.connect"}, {"type": "websocket.disconnect", "code": 1001}]

    async def receive() -> Any:
        return incoming.pop(0)

    async def send(message: Any) -> None:
        if message["type"] == "websocket.send":
            raise OSError("gone")

    hub, nothing = Hub(capacity=1), cast(Any, None)
    services = Services(
        race=nothing,
        archive=nothing,
        runs=nothing,
        devices=nothing,
        learning=nothing,
        uploads=nothing,
        recommendations=nothing,
        catalog=nothing,
        hub=hub,
        screen=LatestFrame(hub),
        telemetry=Telemetry(),
        origins=frozenset(),
    )
    browser = WebSocket({"type": "websocket", "headers": []}, receive, send)
    await browser.accept()
    with hub.connection("greedy") as connection:
        await sockets._attend(browser, connection, services)
    gc.collect()
    await asyncio.sleep(0)
    assert complaints == []
