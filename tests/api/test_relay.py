"""Other processes can follow the race through Redis."""

from __future__ import annotations

import json
from pathlib import Path

from hybrid_ml_scheduler.service.viewers.mirror import UPDATES
from hybrid_ml_scheduler.storage import identity, open_cache, open_store, upgrade
from tests.api.conftest import Opener
from tests.api.service import PATIENCE_S
from tests.waiting import within


async def test_updates_are_published_for_other_processes(application: Opener, redis_url: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'history.db'}"
    listener = open_cache(redis_url)
    listener.belong_to(await named(url))
    try:
        async with (
            listener.subscribe(UPDATES) as subscription,
            application(redis_url=redis_url, database_url=url) as client,
        ):
            await client.post("/api/simulation/start", json={"speed": 50})
            async with within(PATIENCE_S):
                while True:
                    message = json.loads(await subscription.get())
                    if message["type"] == "simulation_update" and message["tasks_processed"] > 5:
                        break
            metrics = (await client.get("/api/metrics")).text
        assert "greedy" in message["clusters"]
        assert "hms_websocket_clients 0.0" in metrics
    finally:
        await listener.close()


async def test_services_with_one_redis_and_two_databases_answer_for_themselves(
    application: Opener, redis_url: str, tmp_path: Path
) -> None:
    """Both are at run 1 and running, and were asked within a second: only the database tells them apart."""
    one, two = (f"sqlite:///{tmp_path / name}" for name in ("one.db", "two.db"))
    async with application(redis_url=redis_url, database_url=one) as busy:
        await busy.post("/api/simulation/start", json={"speed": 0.001})
        task = {"size": 100, "compute_intensity": 0.5, "memory_required": 10}
        for _ in range(6):
            await busy.post("/api/tasks", json=task, params={"run": True})
        async with application(redis_url=redis_url, database_url=two) as empty:
            await empty.post("/api/simulation/start", json={"speed": 0.001})
            counts = [(await client.get("/api/stats")).json()["tasks"] for client in (busy, empty)]
    assert counts[0] >= 6
    assert counts[1] <= 1, "the first task of the stream at most"


async def named(url: str) -> str:
    """The name under which the service of a database keeps things."""
    await upgrade(url)
    store = await open_store(url)
    name = await identity(store)
    await store.close()
    return name
