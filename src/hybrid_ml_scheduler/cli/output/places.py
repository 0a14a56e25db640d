"""Where a command may write."""

from __future__ import annotations

from pathlib import Path

__all__ = ["check_place"]


def check_place(flag: str, place: Path) -> None:
    """Refuse a file that could not be written in the end: work must not be lost to a folder that does not exist."""
    from hybrid_ml_scheduler.core.errors import HmsError

    if place.is_dir() or not place.absolute().parent.is_dir():
        raise HmsError(f"{flag} {place} must name a file in a folder that exists.")
