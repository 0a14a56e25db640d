"""Where a command may write."""

from __future__ import annotations

from pathlib import Path

__all__ = ["check_place"]


def check_place(flag: str, place: Path) -> None:
    """Refuse a file that could not be written in the end, before any work is done for it.

    A device such as /dev/null is refused too: files are written apart and then take their name, which would
    replace the device by a file.
    """
    import tempfile

    from hybrid_ml_scheduler.core.errors import HmsError

    folder = place.absolute().parent
    try:
        if place.is_dir() or not folder.is_dir():
            raise HmsError(f"{flag} {place} must name a file in a folder that exists.")
        if place.exists() and not place.is_file():
            raise HmsError(f"{flag} {place} must name a plain file, which a device or a pipe is not.")
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise HmsError(f"{flag} {place} cannot be written: {reason}.") from error
