"""How the parts of a service are, asked in a way that nobody waits longer than a client would."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from hybrid_ml_scheduler.service.wire.catalog import Component, Health
from hybrid_ml_scheduler.storage import Cache, CacheHealth, Store, StoreHealth, ping

__all__ = ["ANSWER_WITHIN_S", "cache_component", "milliseconds", "store_sign", "taken_together"]

# An answer about health takes at most two seconds, whatever is away or stuck.
_PING_WITHIN_S = 1.0
ANSWER_WITHIN_S = 1.5


async def store_sign(store: Store) -> StoreHealth | CacheHealth:
    """Ask the database for a sign of life."""
    return await _sign(ping(store, timeout_s=_PING_WITHIN_S), store.name)


async def cache_component(cache: Cache) -> Component:
    """Say how the cache is; without it the service goes on."""
    found = await _sign(cache.ping(timeout_s=_PING_WITHIN_S), "The cache")
    latency_ms = milliseconds(found.latency_s)
    return Component(status="ok" if found.ok else "degraded", latency_ms=latency_ms, detail=found.sentence)


def taken_together(database: Component, cache: Component, engine: Component) -> Health:
    """Say how the whole is: without its database it is down, without anything else degraded."""
    if database.status == "down":
        status = "down"
    else:
        status = "ok" if {database.status, cache.status, engine.status} == {"ok"} else "degraded"
    return Health.model_validate({"status": status, "database": database, "cache": cache, "engine": engine})


def milliseconds(seconds: float | None) -> float | None:
    """Return milliseconds, where there are any."""
    return None if seconds is None else 1000.0 * seconds


async def _sign(asked: Coroutine[Any, Any, StoreHealth | CacheHealth], name: str) -> StoreHealth | CacheHealth:
    """Return a sign of life; a driver that does not even let itself be interrupted is not waited for."""
    asking = asyncio.create_task(asked)
    done, _ = await asyncio.wait({asking}, timeout=ANSWER_WITHIN_S)
    if done:
        return asking.result()
    asking.cancel()
    return StoreHealth(ok=False, latency_s=None, sentence=f"{name} did not answer within {ANSWER_WITHIN_S:g} s.")
