"""How a command prints its result."""

from __future__ import annotations

from enum import Enum

__all__ = ["Format"]


class Format(str, Enum):
    """A table for people or JSON for programs."""

    TABLE = "table"
    JSON = "json"
