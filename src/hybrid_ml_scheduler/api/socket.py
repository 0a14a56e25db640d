"""`/ws`: a snapshot first, then the newest state about twice a second, for as long as the viewer behaves."""

from __future__ import annotations

import asyncio
import time

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from starlette.websockets import WebSocketState

from hybrid_ml_scheduler.api.dependencies import Services
from hybrid_ml_scheduler.api.origins import is_welcome
from hybrid_ml_scheduler.live.hub import Connection
from hybrid_ml_scheduler.service.viewers.screen import DEFAULT_FOCUS, Screen
from hybrid_ml_scheduler.service.wire.live import Focus

__all__ = ["router"]

router = APIRouter()

_POLICY_VIOLATION = 1008
_TRY_LATER = 1013
_MESSAGES_PER_S = 10.0
_BURST = 20.0


class _Flood(Exception):
    """The viewer sends more than a person could."""


@router.websocket("/ws")
async def watch(socket: WebSocket) -> None:
    """Serve a viewer, unless its origin is foreign or there are too many."""
    services: Services = socket.app.state.services
    if not is_welcome(socket.headers, services.origins):
        services.telemetry.refused("origin")
        await socket.close(_POLICY_VIOLATION)
        return
    if services.hub.is_full:
        services.telemetry.refused("capacity")
        await socket.close(_TRY_LATER)
        return
    with services.hub.connection(DEFAULT_FOCUS) as connection:
        await socket.accept()
        await _attend(socket, connection, services)


async def _attend(socket: WebSocket, connection: Connection, services: Services) -> None:
    """Speak and listen until either ends; whatever happens to one socket stays with it."""
    speaking = asyncio.create_task(_speak(socket, connection, services))
    listening = asyncio.create_task(_listen(socket, connection, services.screen))
    done, rest = await asyncio.wait((speaking, listening), return_when=asyncio.FIRST_COMPLETED)
    for task in rest:
        task.cancel()
    await asyncio.gather(*rest, return_exceptions=True)
    # Both may end together, when a viewer leaves while it is being spoken to: each is looked at, or the log complains.
    problems = [task.exception() for task in done]
    is_gone = any(isinstance(problem, WebSocketDisconnect) for problem in problems)
    if socket.application_state is WebSocketState.CONNECTED and not is_gone:
        await socket.close(_POLICY_VIOLATION if any(problems) else 1000)


async def _speak(socket: WebSocket, connection: Connection, services: Services) -> None:
    screen = services.screen
    shown = (screen.seq, connection.focus)
    await socket.send_text(screen.snapshot(connection.focus))
    while True:
        lines, fresh = await connection.news()
        for line in lines:
            await socket.send_text(line)
            services.telemetry.sent()
        if fresh and shown != (screen.seq, connection.focus):  # who was woken late has the newest update already
            shown = (screen.seq, connection.focus)
            await socket.send_text(screen.encoded_update(connection.focus))
            services.telemetry.sent()


async def _listen(socket: WebSocket, connection: Connection, screen: Screen) -> None:
    """Take wishes, also for what is not there; anything else, and more than ten a second, ends the connection."""
    allowance, last_s = _BURST, time.monotonic()
    while True:
        text = await socket.receive_text()
        now_s = time.monotonic()
        allowance, last_s = min(_BURST, allowance + (now_s - last_s) * _MESSAGES_PER_S), now_s
        allowance -= 1.0
        if allowance < 0.0:
            raise _Flood
        wish = Focus.model_validate_json(text)
        if wish.scheduler in screen.strategies:
            connection.focus = wish.scheduler
            connection.refresh()
