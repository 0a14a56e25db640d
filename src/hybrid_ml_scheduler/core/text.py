"""Text from elsewhere (a strategy's own code, a file's name) made fit for every outlet."""

from __future__ import annotations

__all__ = ["plain_text"]


def plain_text(value: object) -> str:
    """Return something as text that every encoder and every database takes: half a surrogate pair is spelled out."""
    return str(value).replace("\0", " ").encode(errors="backslashreplace").decode()
