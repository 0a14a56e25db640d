"""Words as people write them, and text from elsewhere (a strategy's code, a file's name) fit for every outlet."""

from __future__ import annotations

__all__ = ["counted", "plain_text"]


def counted(number: int, noun: str, nouns: str | None = None) -> str:
    """A number with its noun, as people write it: `1 task`, `2,000 tasks`, `3 strategies`."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def plain_text(value: object) -> str:
    """Return something as text that every encoder and every database takes: half a surrogate pair is spelled out."""
    return str(value).replace("\0", " ").encode(errors="backslashreplace").decode()
