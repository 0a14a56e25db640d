"""A row that the store refuses halts its run, and only that: the next run is stored again."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx

from hybrid_ml_scheduler.storage import integrity, open_store
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
