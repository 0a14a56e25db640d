"""What viewers of this process see, published for the processes that follow it."""

from __future__ import annotations

import asyncio
import secrets

from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.service.ports import Catalog
from hybrid_ml_scheduler.service.viewers.screen import DEFAULT_FOCUS, Screen
from hybrid_ml_scheduler.service.wire.relay import Handout
from hybrid_ml_scheduler.storage import Cache

__all__ = ["ASKING", "UPDATES", "hand_out", "relay_updates"]

UPDATES = "updates"
ASKING = "asking"

_BETWEEN_HANDOUTS_S = 0.1


async def relay_updates(hub: Hub, screen: Screen, cache: Cache) -> None:
    """Publish every update and line; the cache never waits for whoever listens."""
    with hub.connection(DEFAULT_FOCUS, is_viewer=False) as connection:
        while True:
            lines, fresh = await connection.news()
            for message in [*lines, screen.encoded_update(connection.focus)] if fresh else lines:
                await cache.publish(UPDATES, message.encode())


async def hand_out(screen: Screen, catalog: Catalog, cache: Cache) -> None:
    """Answer whoever asks to follow with all that there is to know; those who ask together get one answer."""
    service = secrets.token_hex(8)
    async with cache.subscribe(ASKING, capacity=1) as questions:
        async for _ in questions:
            whole, cards = screen.whole(DEFAULT_FOCUS), catalog.strategies()
            handout = Handout(service=service, snapshot=whole, strategies=cards)
            await cache.publish(UPDATES, handout.model_dump_json().encode())
            await asyncio.sleep(_BETWEEN_HANDOUTS_S)
