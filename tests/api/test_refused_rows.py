"""A row that the store refuses halts its run, and only that: the next run is stored again."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.service.control import run_entry
from hybrid_ml_scheduler.service.problems import Unavailable
from hybrid_ml_scheduler.storage import StoreWriter, WriterHealth, create_run, integrity, open_store
from hybrid_ml_scheduler.storage.write import writer as writing
from tests.api.conftest import Opener
from tests.api.service import PATIENCE_S
from tests.api.test_new_runs import desk_of
from tests.waiting import within


def rename(path: Path, old: str, new: str) -> None:
    """Take a table away from under the writer, or give it back."""
    with closing(sqlite3.connect(path, timeout=PATIENCE_S)) as connection, connection:
        connection.execute(f"ALTER TABLE {old} RENAME TO {new}")


async def status(client: httpx.AsyncClient) -> dict[str, object]:
    return dict((await client.get("/api/simulation/status")).json())


async def test_a_new_run_is_stored_after_one_that_was_refused(
    application: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "_SILENCE_S", PATIENCE_S)  # a slow machine is no absent database
    path = tmp_path / "history.db"
    async with application(database_url=f"sqlite:///{path}") as client:
        await client.post("/api/simulation/start", json={"speed": 200})
        rename(path, "training_data", "hidden")
        async with within(PATIENCE_S):
            while (await status(client))["state"] != "stopped":
                await asyncio.sleep(0.01)
        halted = await status(client)
        assert (halted["storage"], "refused: no such table" in str(halted["problem"])) == ("refused", True)
        refused = await client.post("/api/simulation/start", json={})
        assert refused.status_code == 409, refused.text
        stopped = await client.post("/api/simulation/stop")
        assert stopped.status_code == 200, "harmless, whatever the store refuses"
        rename(path, "hidden", "training_data")
        begun = await client.post("/api/simulation/start", json={"new_run": True, "speed": 200})
        assert begun.status_code == 200, begun.text
        async with within(PATIENCE_S):
            while int(str((await status(client))["tasks_processed"])) < 20:
                await asyncio.sleep(0.01)
        ended = (await client.post("/api/simulation/stop")).json()
        health = (await client.get("/api/health")).json()
        assert (health["status"], ended["run_id"]) == ("ok", 2), health
        store = await open_store(f"sqlite:///{path}")
        found = await integrity(store)
        await store.close()
        assert found.whole, found
        assert found.tasks >= ended["tasks_processed"]
        assert ended["storage"] == "ok"
        told = (await client.get("/api/events")).json()["notifications"]
        assert "store_down" not in {one["event"] for one in told}, "it was never away"


async def test_a_race_that_stands_still_is_halted_when_its_last_rows_are_refused(
    application: Opener, tmp_path: Path
) -> None:
    path = tmp_path / "history.db"
    async with application(database_url=f"sqlite:///{path}") as client:
        await client.post("/api/simulation/start", json={"speed": 200})
        await client.post("/api/simulation/pause")
        rename(path, "events", "hidden")
        await client.patch("/api/simulation", json={"workload": "light"})
        async with within(PATIENCE_S):
            while (halted := await status(client))["problem"] is None:
                await asyncio.sleep(0.01)
        assert (halted["state"], halted["storage"]) == ("stopped", "refused")
        rename(path, "hidden", "events")
        begun = await client.post("/api/simulation/start", json={"new_run": True, "speed": 200})
        assert (begun.status_code, begun.json()["run_id"]) == (200, 2), begun.text


async def test_a_row_that_no_driver_can_take_halts_its_run_and_is_said(
    application: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise ValueError("odd \ud800 row")

    async with application(database_url=f"sqlite:///{tmp_path / 'history.db'}") as client:
        await client.post("/api/simulation/start", json={"speed": 200})
        with monkeypatch.context() as patch:
            patch.setattr(writing, "write_batch", broken)
            async with within(PATIENCE_S):
                while (halted := await status(client))["problem"] is None:
                    await asyncio.sleep(0.01)
        health = (await client.get("/api/health")).json()
        assert "Storing was halted by ValueError: odd \\ud800 row." in str(halted["problem"])
        assert health["database"]["status"] == "degraded"
        assert "Nothing more is stored: Storing was halted" in health["database"]["detail"]
        begun = await client.post("/api/simulation/start", json={"new_run": True, "speed": 200})
        assert begun.status_code == 200, begun.text
        assert (await client.get("/api/health")).json()["database"]["status"] == "ok"


async def test_a_writer_that_has_ended_is_a_fault_while_the_service_is_up(
    application: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    healthy = StoreWriter.health

    def ended(self: StoreWriter) -> WriterHealth:
        return replace(healthy(self), state="closed")

    async with application() as client:
        with monkeypatch.context() as patch:
            patch.setattr(StoreWriter, "health", ended)
            health = (await client.get("/api/health")).json()
    assert (health["status"], health["database"]["status"]) == ("degraded", "degraded")
    assert "the writer has ended" in health["database"]["detail"]


async def racing(client: httpx.AsyncClient, tasks: int = 20) -> dict[str, object]:
    """Wait until the present run has so many tasks."""
    async with within(PATIENCE_S):
        while int(str((found := await status(client))["tasks_processed"])) < tasks:
            await asyncio.sleep(0.01)
    return found


async def test_late_notices_that_are_refused_do_not_keep_an_ended_run_racing(
    application: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with application() as client:
        await client.post("/api/simulation/start", json={"speed": 200})
        await racing(client)
        arena, writer = desk_of(client)._arena, desk_of(client)._writer

        async def spoiled(*given: object, **named: object) -> int:
            run_id = await create_run(*given, **named)  # type: ignore[arg-type]
            writer._fail("The store refused: no such table.")
            await asyncio.wrap_future(arena.ask(lambda: arena.tell("info", "Late.", key="late", event="message")))
            return run_id

        with monkeypatch.context() as patch:
            patch.setattr(run_entry, "create_run", spoiled)
            await client.post("/api/simulation/start", json={"new_run": True, "speed": 200})
        async with within(PATIENCE_S):
            while (found := await status(client))["problem"] is None:
                await asyncio.sleep(0.01)
        assert (found["run_id"], found["state"]) == (2, "stopped"), found
        begun = await client.post("/api/simulation/start", json={"new_run": True, "speed": 200})
        assert (begun.status_code, begun.json()["run_id"]) == (200, 3), begun.text
        await racing(client)


async def test_a_run_that_could_not_be_entered_leaves_none_racing_that_has_ended(
    application: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise Unavailable("Not today.")

    async with application() as client:
        await client.post("/api/simulation/start", json={"speed": 200})
        await racing(client)
        with monkeypatch.context() as patch:
            patch.setattr(Arena, "enter", refuse)
            answer = await client.post("/api/simulation/start", json={"new_run": True})
        assert (answer.status_code, answer.json()["detail"]) == (503, "Not today.")
        found = await status(client)
        assert (found["state"], found["problem"]) == ("stopped", "Run 2 was begun and could not be entered.")
        assert (await client.post("/api/simulation/start", json={})).status_code == 409
        begun = await client.post("/api/simulation/start", json={"new_run": True, "speed": 200})
        assert (begun.status_code, begun.json()["run_id"]) == (200, 3), begun.text
        assert (await racing(client))["problem"] is None
