"""`/ws`: what a viewer gets, and what a vandal gets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import psutil
import pytest
import websockets
from pydantic import TypeAdapter

from hybrid_ml_scheduler.service.wire.live import ServerMessage
from tests.api.service import PATIENCE_S, LiveService, service
from tests.waiting import within

MESSAGE: TypeAdapter[Any] = TypeAdapter(ServerMessage)


def watching(live: LiveService) -> websockets.connect:
    """A viewer's connection, which no slowness ends."""
    address = live.url.replace("http", "ws") + "/ws"
    return websockets.connect(address, open_timeout=PATIENCE_S, ping_interval=None)


async def next_of(
    socket: websockets.ClientConnection, kind: str, wanted: Callable[[Any], bool] = lambda message: True
) -> Any:
    """Read until a message of this kind that is as wanted comes; every message must be one that OpenAPI knows."""
    async with within(PATIENCE_S):
        while True:
            text = await socket.recv()
            MESSAGE.validate_json(text)
            message = json.loads(text)
            if message["type"] == kind and wanted(message):
                return message


async def closing_code(socket: websockets.ClientConnection) -> int:
    """Read on until the connection is closed; returns the code it was closed with (1006 without one)."""
    try:
        async with within(PATIENCE_S):
            while True:
                await socket.recv()
    except websockets.ConnectionClosed as end:
        return 1006 if end.rcvd is None else end.rcvd.code


async def in_a_row(socket: websockets.ClientConnection, count: int) -> float:
    """Read until so many updates came without a gap; returns the seconds between the first and the last of them.

    A busy machine may make any one update late or lost; a service that left some out on purpose would never get here.
    """
    row: list[Any] = []
    async with within(PATIENCE_S):
        while len(row) < count:
            update = await next_of(socket, "simulation_update")
            row = [*row, update] if row and update["seq"] == row[-1]["seq"] + 1 else [update]
    begin, end = (datetime.fromisoformat(update["at"]) for update in (row[0], row[-1]))
    return (end - begin).total_seconds()


async def test_a_snapshot_comes_first_and_updates_follow_at_about_two_a_second(running: LiveService) -> None:
    async with watching(running) as socket:
        assert json.loads(await socket.recv())["type"] == "snapshot"
        async with within(PATIENCE_S):
            # One stretch at the right pace is enough: a wrong pace has none, a busy machine has some that are wrong.
            while not 1.8 <= await in_a_row(socket, 5) <= 2.5:
                pass


async def test_an_update_holds_what_the_api_says(running: LiveService) -> None:
    status = running.held()
    async with watching(running) as socket:
        update = await next_of(socket, "simulation_update", lambda one: one["status"]["state"] == "stopped")
    newest = running.get("/api/history/comparative", limit=1)[0]
    assert update["tasks_processed"] == status["tasks_processed"]
    assert update["task"]["id"] == newest["task"]["task_id"]
    for name, result in update["latest_results"].items():
        assert result == newest["results"][name]
    assert [row["name"] for row in update["comparison"]] == status["schedulers"]
    assert set(update["utilization"]) == {"average_utilization", "cpu", "gpu_0", "gpu_1", "gpu_2", "gpu_3"}
    assert update["utilization"] == update["clusters"]["hybrid_ml"]
    loads = [
        update["utilization"][name]["utilization"] for name in update["utilization"] if name != "average_utilization"
    ]
    assert update["utilization"]["average_utilization"] == pytest.approx(sum(loads) / len(loads))
    assert all(0 <= load <= 1 for load in loads)


async def test_a_client_may_ask_for_another_focus(running: LiveService) -> None:
    async with watching(running) as socket:
        assert (await next_of(socket, "simulation_update"))["focus"] == "hybrid_ml"
        await socket.send(json.dumps({"type": "focus", "scheduler": "greedy"}))
        update = await next_of(socket, "simulation_update", lambda one: one["focus"] == "greedy")
    assert update["utilization"] == update["clusters"]["greedy"]


@pytest.mark.parametrize("name", ["größe", "../../etc", "", "no_such_strategy", "n" * 1000])
async def test_a_focus_that_is_not_in_the_race_is_ignored(running: LiveService, name: str) -> None:
    async with watching(running) as socket:
        await socket.send(json.dumps({"type": "focus", "scheduler": name}))
        await socket.send(json.dumps({"type": "focus", "scheduler": "greedy"}))
        await next_of(socket, "simulation_update", lambda one: one["focus"] == "greedy")


async def test_a_shift_is_announced_and_marked(running: LiveService) -> None:
    async with watching(running) as socket:
        await socket.recv()
        running.client.patch("/api/simulation", json={"workload": "light"})
        # A retrained forest may be announced between the two, so the wanted notice is waited for by name.
        notice = await next_of(socket, "notification", lambda one: one["event"] == "workload_shifted")
        assert "light" in notice["message"]
        await next_of(
            socket, "simulation_update", lambda one: [shift["workload"] for shift in one["shifts"][-1:]] == ["light"]
        )


async def test_the_log_speaks_while_the_race_runs(running: LiveService) -> None:
    async with watching(running) as socket:
        await next_of(socket, "log", lambda one: one["message"].startswith("Task "))


@pytest.mark.parametrize(
    "vandalism",
    [
        "not json",
        "{}",
        "[1,2,3]",
        '{"type": "focus"}',
        '{"type": "focus", "scheduler": "greedy", "more": 1}',
        '{"type": "focus", "scheduler": 7}',
        '{"type": "simulation_update"}',
        "\x00\x01\x02",
        b"\xff\xfe\xfd",
        b"x" * 3000,
        "x" * 100_000,
        "[" * 4000,
    ],
    ids=range(12),
)
async def test_garbage_closes_the_socket_and_nothing_else(running: LiveService, vandalism: str | bytes) -> None:
    async with watching(running) as vandal, watching(running) as witness:
        await vandal.recv()
        await vandal.send(vandalism)
        assert await closing_code(vandal) in (1007, 1008, 1009)
        await next_of(witness, "simulation_update")


async def test_a_flood_closes_the_socket_and_nothing_else(running: LiveService) -> None:
    wish = json.dumps({"type": "focus", "scheduler": "greedy"})
    async with watching(running) as vandal:
        with contextlib.suppress(websockets.ConnectionClosed):
            for _ in range(10_000):
                await vandal.send(wish)
                await asyncio.sleep(0)
        assert await closing_code(vandal) in (1006, 1008)
    assert running.status()["is_running"]


async def test_a_half_open_or_broken_handshake_does_no_harm(running: LiveService) -> None:
    for junk in (b"GET /ws HTTP/1.1\r\n", b"\x00" * 1000, os.urandom(5000), b"GET /ws HTTP/1.1\r\nHost: x\r\n\r\n"):
        _, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(junk)
        await writer.drain()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
    assert running.status()["is_running"]


async def test_one_viewer_too_many_is_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    with service(tmp_path_factory.mktemp("full"), {"HMS_MAX_VIEWERS": "2", "HMS_SCHEDULERS": "greedy"}) as live:
        async with watching(live), watching(live):
            with pytest.raises(websockets.InvalidStatus):
                async with watching(live):
                    pass
        async with within(PATIENCE_S):
            while True:
                try:
                    async with watching(live) as socket:
                        await socket.recv()
                        break
                except websockets.InvalidStatus:
                    await asyncio.sleep(0.05)


async def test_viewers_that_never_read_slow_nobody_and_cost_no_memory(running: LiveService) -> None:
    """The race is paused, for it would need memory of its own; updates come all the same."""
    process = psutil.Process(running.pid)
    running.held("pause")

    async def deaf() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port, limit=1024)
        writer.write(
            b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )
        return reader, writer

    async with watching(running) as watcher:
        connections = [await deaf() for _ in range(30)]
        await next_of(watcher, "simulation_update")
        before = process.memory_info().rss
        await in_a_row(watcher, 8)
        grown = process.memory_info().rss - before
        for _, writer in connections:
            writer.transport.abort()
    assert grown < 30 * 2**20


async def test_stored_notifications_are_those_that_viewers_got(running: LiveService) -> None:
    begin = datetime.now(tz=timezone.utc)
    running.client.patch("/api/simulation", json={"workload": "light", "speed": 400})
    running.client.patch("/api/simulation", json={"workload": "mixed"})
    before = running.status()["learning"]["hybrid_ml"]["updates"]
    running.wait(lambda now: now["learning"]["hybrid_ml"]["updates"] > before)
    running.held("pause")
    async with watching(running) as socket:
        told = (await next_of(socket, "snapshot"))["notifications"]
    fresh = [one for one in told if datetime.fromisoformat(one["at"]) >= begin]
    kept, few = (running.get("/api/events", limit=limit)["notifications"] for limit in (1000, 2))
    assert few == kept[:2], "what a notice is called does not depend on how many were asked for"
    stored = {(one["at"], one["key"]): one for one in kept}
    assert len(stored) == len(kept)
    assert {"workload_shifted", "model_retrained"} <= {one["event"] for one in fresh}
    for one in fresh:
        assert {**stored[one["at"], one["key"]], "id": one["id"]} == one
