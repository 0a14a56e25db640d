"""The state of a race as bytes, with a version and a check sum, so that a damaged one is refused."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Mapping
from typing import Any

from hybrid_ml_scheduler import __version__
from hybrid_ml_scheduler.core.errors import StorageError

__all__ = ["CHECKPOINT_EVERY_TASKS", "packed", "unpacked"]

CHECKPOINT_EVERY_TASKS = 10_000

_MAGIC = b"HMS2"  # the number is that of the form of the state
_DIGEST_BYTES = 16


def packed(state: Mapping[str, Any]) -> bytes:
    """Return the state as bytes."""
    file = io.BytesIO(_MAGIC + bytes(_DIGEST_BYTES))  # one buffer: the state may be many megabytes
    file.seek(0, io.SEEK_END)
    pickle.dump({"version": __version__, "state": state}, file, protocol=5)
    with file.getbuffer() as whole:
        body = whole[len(_MAGIC) + _DIGEST_BYTES :]
        digest = hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()
        body.release()
        whole[len(_MAGIC) : len(_MAGIC) + _DIGEST_BYTES] = digest
    return file.getvalue()


def unpacked(blob: bytes) -> Mapping[str, Any]:
    """Return the state again; bytes that were not written by `packed` of this version are refused."""
    digest, body = blob[4 : 4 + _DIGEST_BYTES], blob[4 + _DIGEST_BYTES :]
    if blob.startswith(b"HMS") and not blob.startswith(_MAGIC):
        raise StorageError("The stored checkpoint is of another version of this program; start a new run.")
    if not blob.startswith(_MAGIC) or hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest() != digest:
        raise StorageError("The stored checkpoint is damaged; start a new run.")
    content = pickle.loads(body)
    if content["version"] != __version__:
        raise StorageError(
            f"The stored checkpoint is of version {content['version']}, this is {__version__}; start a new run."
        )
    state: Mapping[str, Any] = content["state"]
    return state
