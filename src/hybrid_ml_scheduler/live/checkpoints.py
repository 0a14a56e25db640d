"""The state of a race as bytes, with a version and a check sum, so that a damaged one is refused."""

from __future__ import annotations

import hashlib
import pickle
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hybrid_ml_scheduler import __version__
from hybrid_ml_scheduler.core.errors import StorageError

__all__ = ["CHECKPOINT_EVERY_TASKS", "pack_state", "unpack_state"]

CHECKPOINT_EVERY_TASKS = 10_000

_MAGIC = b"HMS8"  # the number is that of the form of the state
_DIGEST_BYTES = 16
_HEAD_BYTES = len(_MAGIC) + _DIGEST_BYTES
_STEP_BYTES = 2**18


def pack_state(state: Mapping[str, Any]) -> bytearray:
    """Return the state as bytes: the lengths of its pieces, its structure, and the arrays as they lie in memory.

    It may be many megabytes, which are moved a little at a time: others want the interpreter's lock, too.
    """
    arrays: list[pickle.PickleBuffer] = []
    structure = pickle.dumps({"version": __version__, "state": state}, protocol=5, buffer_callback=arrays.append)
    pieces = [memoryview(structure), *(array.raw() for array in arrays)]
    pieces = [memoryview(_lengths(pieces)), *pieces]
    blob = bytearray(_HEAD_BYTES + sum(map(len, pieces)))
    digest = hashlib.blake2b(digest_size=_DIGEST_BYTES)
    place = _HEAD_BYTES
    for step in _steps(pieces):
        digest.update(step)
        blob[place : place + len(step)] = step
        place += len(step)
    blob[:_HEAD_BYTES] = _MAGIC + digest.digest()
    return blob


def _lengths(pieces: Sequence[memoryview]) -> bytes:
    return struct.pack(f"<{len(pieces) + 1}Q", len(pieces), *map(len, pieces))


def _steps(pieces: Sequence[memoryview]) -> Iterator[memoryview]:
    for piece in pieces:
        for begin in range(0, len(piece), _STEP_BYTES):
            yield piece[begin : begin + _STEP_BYTES]


def unpack_state(blob: bytes | bytearray) -> Mapping[str, Any]:
    """Return the state again; bytes that were not written by `pack_state` of this version are refused."""
    if blob.startswith(b"HMS") and not blob.startswith(_MAGIC):
        raise StorageError("The stored checkpoint is of another version of this program; start a new run.")
    body = memoryview(blob)[_HEAD_BYTES:]
    digest = hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()
    if not blob.startswith(_MAGIC) or blob[len(_MAGIC) : _HEAD_BYTES] != digest:
        raise StorageError("The stored checkpoint is damaged; start a new run.")
    structure, *arrays = _pieces(body)
    try:
        content = pickle.loads(structure, buffers=map(bytearray, arrays))  # copies, which may be written to
    except (AttributeError, ImportError) as error:  # a class that has another name today
        raise StorageError("The stored checkpoint is of another version of this program; start a new run.") from error
    if content["version"] != __version__:
        raise StorageError(
            f"The stored checkpoint is of version {content['version']}, this is {__version__}; start a new run."
        )
    state: Mapping[str, Any] = content["state"]
    return state


def _pieces(body: memoryview) -> list[memoryview]:
    (count,) = struct.unpack_from("<Q", body)
    lengths = struct.unpack_from(f"<{count}Q", body, 8)
    begin = 8 * (count + 1)
    pieces = []
    for length in lengths:
        pieces.append(body[begin : begin + length])
        begin += length
    return pieces
