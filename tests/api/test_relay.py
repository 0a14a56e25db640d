"""Other processes can follow the race through Redis."""

from __future__ import annotations

import asyncio
import json

from hybrid_ml_scheduler.api.desks.relay import CHANNEL
from hybrid_ml_scheduler.storage import open_cache
from tests.api.conftest import Opener
from tests.api.service import PATIENCE_S


async def test_updates_are_published_for_other_processes(application: Opener, redis_url: str) -> None:
    listener = open_cache(redis_url)
    try:
        async with listener.subscribe(CHANNEL) as subscription, application(redis_url=redis_url) as client:
            await client.post("/api/simulation/start", json={"speed": 50})
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    message = json.loads(await subscription.get())
                    if message["type"] == "simulation_update" and message["tasks_processed"] > 5:
                        break
            metrics = (await client.get("/api/metrics")).text
        assert "greedy" in message["clusters"]
        assert "hms_websocket_clients 0.0" in metrics
    finally:
        await listener.close()
