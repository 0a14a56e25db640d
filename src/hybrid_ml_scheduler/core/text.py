"""Text from elsewhere (a strategy's own code, a file's name) made fit for every outlet."""

from __future__ import annotations

__all__ = ["plain_text"]


def plain_text(value: object) -> str:
    """Return something as text that every encoder and database takes: half a surrogate pair becomes `?`, NUL goes."""
    return str(value).encode(errors="replace").decode().replace("\0", "")
