"""Where the history lives: tables, batched writes, queries, export and the cache (see docs/storage.md)."""

from __future__ import annotations
