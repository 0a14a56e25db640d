"""The cache: current statistics, counters and messages between processes; in process, or in Redis."""

from __future__ import annotations

from hybrid_ml_scheduler.storage.cache.contract import Cache, CacheHealth, Count, Subscription
from hybrid_ml_scheduler.storage.cache.local import LocalCache

__all__ = ["Cache", "CacheHealth", "Count", "LocalCache", "Subscription", "open_cache"]


def open_cache(url: str | None) -> Cache:
    """Return the cache at a Redis URL, or one in this process without a URL; nothing is connected yet."""
    if url is None:
        return LocalCache()
    from hybrid_ml_scheduler.storage.cache.redis import RedisCache  # the client takes a while to load

    return RedisCache(url)
