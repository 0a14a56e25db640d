"""TOML on every Python that is promised: `tomllib` came with 3.11."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["read_toml"]


def read_toml(text: str) -> dict[str, Any]:
    """The sections and values of a TOML text."""
    found: dict[str, Any] = tomllib.loads(text)
    return found
