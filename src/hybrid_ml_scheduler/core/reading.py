"""Reading a file that somebody names: a device or a pipe may never end."""

from __future__ import annotations

import errno
from pathlib import Path

__all__ = ["bounded_bytes"]


def bounded_bytes(path: Path, most: int) -> bytes:
    """All bytes of a file; an OSError where there are more than it may have."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it is longer than {most // 2**20:,} MiB")
    return data
