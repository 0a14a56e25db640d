"""Reading text that may be gzip, and writing files whole or not at all."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

from hybrid_ml_scheduler.core.errors import WorkloadError

__all__ = ["read_text", "written"]

_GZIP_MAGIC = b"\x1f\x8b"


def read_text(path: Path) -> str:
    """Return the text of a file, unpacked if it is gzip; anything unreadable is refused in one sentence."""
    data = _bytes(path)
    if data.startswith(_GZIP_MAGIC):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise WorkloadError(f"{path}: the gzip data is damaged ({error}).") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise WorkloadError(f"{path}, line {line}: the text is not UTF-8.") from error
    if not text.strip():
        raise WorkloadError(f"{path}: the file is empty.")
    return text


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise WorkloadError(f"{path}: there is no such file.") from error
    except IsADirectoryError as error:
        raise WorkloadError(f"{path}: this is a directory, not a file.") from error
    except (OSError, ValueError) as error:
        raise WorkloadError(f"{path}: the file cannot be read ({_reason(error)}).") from error


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@contextmanager
def written(path: Path) -> Iterator[TextIO]:
    """Open a text file that takes its name only when it is complete; `.gz` is packed."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as raw:
            # No name and no time inside the gzip header: the same workload gives the same bytes.
            packed = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else None
            with TextIOWrapper(packed or raw, encoding="utf-8", newline="", write_through=True) as text:
                yield text
        os.replace(part, path)
    except (OSError, ValueError) as error:
        raise WorkloadError(f"{path}: the file cannot be written ({_reason(error)}).") from error
    finally:
        with suppress(OSError):  # there may be no folder to take it out of
            part.unlink(missing_ok=True)
