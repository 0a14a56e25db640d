"""The cache: current statistics, counters and messages between processes; in process, or in Redis."""

from __future__ import annotations

from hybrid_ml_scheduler.storage.cache.contract import Cache, CacheHealth, Count, Subscription
from hybrid_ml_scheduler.storage.cache.local import LocalCache
from hybrid_ml_scheduler.storage.cache.redis import RedisCache

__all__ = ["Cache", "CacheHealth", "Count", "LocalCache", "RedisCache", "Subscription", "open_cache"]


def open_cache(url: str | None) -> Cache:
    """Return the cache at a Redis URL, or one in this process without a URL; nothing is connected yet."""
    return LocalCache() if url is None else RedisCache(url)
