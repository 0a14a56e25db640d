"""Reading text that may be gzip, and writing files whole or not at all."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TextIO

from hybrid_ml_scheduler.core.errors import HmsError, WorkloadError

__all__ = ["MOST_BYTES", "open_for_writing", "read_text"]

_GZIP_MAGIC = b"\x1f\x8b"
# Some ten million tasks; what is read grows to several times its size while it is taken apart.
MOST_BYTES = 512 * 2**20
_LOOKED_AT = 4096
_PIPED: dict[Path, bytes] = {}


def read_text(path: Path) -> str:
    """Return the text of a file, unpacked if it is gzip; anything unreadable is refused in one sentence."""
    data = _bytes(path)
    if data.startswith(_GZIP_MAGIC):
        try:
            with gzip.GzipFile(fileobj=BytesIO(data)) as packed:
                data = _whole(path, packed.read(MOST_BYTES + 1))
        except (OSError, EOFError, zlib.error) as error:
            raise WorkloadError(f"{path}: the gzip data is damaged ({error}).") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise WorkloadError(f"{path}, line {line}: the text is not UTF-8; save it as UTF-8.") from error
    if not text.strip():
        raise WorkloadError(f"{path}: the file is empty.")
    return text


def _bytes(path: Path) -> bytes:
    """The file's bytes; a pipe gives them once, and a race asks more often."""
    if path in _PIPED:
        return _PIPED[path]
    data = _read(path)
    if data and not path.is_file():
        _PIPED[path] = data
    return data


def _read(path: Path) -> bytes:
    """The file's bytes, of which no more are ever read than a file may have: a pipe or device has no end."""
    try:
        with open(path, "rb") as file:
            begin = file.read(_LOOKED_AT)
            if b"\0" in begin and not begin.startswith(_GZIP_MAGIC):
                if begin.startswith((b"\xff\xfe", b"\xfe\xff")):
                    raise WorkloadError(f"{path}: the text is UTF-16; save it as UTF-8.")
                raise WorkloadError(f"{path}: this is not text: it holds zero bytes.")
            return _whole(path, begin + file.read(max(0, MOST_BYTES + 1 - len(begin))))
    except FileNotFoundError as error:
        raise WorkloadError(f"{path}: there is no such file.") from error
    except IsADirectoryError as error:
        raise WorkloadError(f"{path}: this is a directory, not a file.") from error
    except (OSError, ValueError) as error:
        raise WorkloadError(f"{path}: the file cannot be read ({_reason(error)}).") from error


def _whole(path: Path, data: bytes) -> bytes:
    if len(data) > MOST_BYTES:
        raise WorkloadError(f"{path}: the file holds more than {MOST_BYTES // 2**20:,} MB of text, unpacked.")
    return data


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@contextmanager
def open_for_writing(path: Path) -> Iterator[TextIO]:
    """Open a text file that takes its name only when it is complete; `.gz` is packed."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as raw:
            # No name and no time inside the gzip header: the same workload gives the same bytes.
            packed = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) if path.suffix == ".gz" else None
            with TextIOWrapper(packed or raw, encoding="utf-8", newline="", write_through=True) as text:
                yield text
        os.replace(part, path)
    except HmsError:
        raise  # some are values that whoever writes here refuses
    except (OSError, ValueError) as error:
        raise WorkloadError(f"{path}: the file cannot be written ({_reason(error)}).") from error
    finally:
        with suppress(OSError):  # there may be no folder to take it out of
            part.unlink(missing_ok=True)
