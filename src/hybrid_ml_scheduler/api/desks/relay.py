"""What viewers of this process see, published for other processes."""

from __future__ import annotations

from hybrid_ml_scheduler.api.board import DEFAULT_FOCUS, Board
from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.storage import Cache

__all__ = ["CHANNEL", "relay_updates"]

CHANNEL = "updates"


async def relay_updates(hub: Hub, board: Board, cache: Cache) -> None:
    """Publish every update and line; the cache never waits for whoever listens."""
    with hub.seat(DEFAULT_FOCUS, is_viewer=False) as seat:
        while True:
            lines, fresh = await seat.news()
            for message in [*lines, board.encoded_update(seat.focus)] if fresh else lines:
                await cache.publish(CHANNEL, message.encode())
