"""A row that the store refuses halts its run, and only that: the next run is stored again."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from hybrid_ml_scheduler.storage import StoreWriter, WriterHealth, integrity, open_store
from hybrid_ml_scheduler.storage import writer as writing
from tests.api.conftest import Opener
from tests.api.service import PATIENCE_S


def rename(path: Path, old: str, new: str) -> None:
    """Take a table away from under the writer, or give it back."""
    with closing(sqlite3.connect(path, timeout=PATIENCE_S)) as connection, connection:
        connection.execute(f"ALTER TABLE {old} RENAME TO {new}")


async def status(client: httpx.AsyncClient) -> dict[str, object]:
    return dict((await client.get("/api/simulation/status")).json())


async def test_a_new_run_is_stored_after_one_that_was_refused(application: Opener, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    async with application(database_url=f"sqlite:///{path}") as client:
        await client.post("/api/simulation/start", json={"speed": 200})
        rename(path, "training_data", "hidden")
        async with asyncio.timeout(PATIENCE_S):
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
        async with asyncio.timeout(PATIENCE_S):
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
        async with asyncio.timeout(PATIENCE_S):
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
            async with asyncio.timeout(PATIENCE_S):
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
