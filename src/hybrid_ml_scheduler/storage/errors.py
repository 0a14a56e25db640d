"""What can go wrong with a store, in two kinds: it is away, or it refuses."""

from __future__ import annotations

from hybrid_ml_scheduler.core.errors import StorageError

__all__ = ["ReplayError", "StorageError", "StoreUnavailableError"]


class StoreUnavailableError(StorageError):
    """The database cannot be reached now; trying again later may help (HTTP 503)."""


class ReplayError(StorageError):
    """What was computed again is not what had been stored."""
