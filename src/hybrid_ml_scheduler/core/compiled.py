"""Compiled code on disk must not outlive the sources it was made from.

Numba keeps compiled functions beside their file and forgets them when that file changes; but what a function calls
in other files is compiled into it, and a change there goes unnoticed: after an update the kernel would go on with
the old physics. So each room remembers a digest of everything its compiled code is made from.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

__all__ = ["forget_stale_code"]

# What the compiled functions of a room are made from: the room itself and the rooms it calls.
_MADE_FROM = {
    "learning": ("core", "learning"),
    "physics": ("core", "physics"),
    "cluster": ("core", "physics", "cluster"),
    "schedulers": ("core", "learning", "physics", "schedulers"),
    "training": ("core", "learning", "physics", "cluster", "schedulers", "training"),
}
# Files without compiled functions whose constants are compiled in.
_CONSTANTS = ("protocols.py", "node.py")
_STAMP = "compiled.digest"


def forget_stale_code(package: Path) -> list[str]:
    """Delete compiled code whose sources have changed since; returns the rooms where there was some."""
    digests = {room: _digest(package / room) for room in ("core", *_MADE_FROM)}
    forgotten = []
    for room, sources in _MADE_FROM.items():
        cache = package / room / "__pycache__"
        wanted = "".join(digests[source] for source in sources)
        try:
            if _stamp(cache) != wanted:
                if _emptied(package / room):
                    forgotten.append(room)
                _write(cache, wanted)
        except OSError:
            # Nobody can write here, so Numba keeps its code elsewhere, by the date of files that an update renews.
            continue
    return forgotten


def _digest(room: Path) -> str:
    found = hashlib.blake2b(digest_size=16)
    for path in sorted(room.rglob("*.py")):
        text = path.read_bytes()
        if b"njit" in text or path.name in _CONSTANTS:
            found.update(path.name.encode() + b"\0" + text + b"\0")
    return found.hexdigest()


def _stamp(cache: Path) -> str:
    try:
        return (cache / _STAMP).read_text(encoding="ascii")
    except FileNotFoundError:
        return ""


def _emptied(room: Path) -> bool:
    compiled = [*room.rglob("*.nbi"), *room.rglob("*.nbc")]
    for path in compiled:
        path.unlink(missing_ok=True)
    return bool(compiled)


def _write(cache: Path, digest: str) -> None:
    cache.mkdir(exist_ok=True)
    beside = cache / f"{_STAMP}.{os.getpid()}"
    beside.write_text(digest, encoding="ascii")
    beside.replace(cache / _STAMP)
