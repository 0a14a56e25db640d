"""Named random streams: one seed, one independent generator for every name."""

from __future__ import annotations

import hashlib

import numpy as np

__all__ = ["stream"]


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return the generator that belongs to `seed` and this path of names.

    The names are hashed into the spawn key, so a new consumer with a new name
    changes no number that an older consumer draws.
    """
    path = "\x1f".join(str(name) for name in names)
    digest = hashlib.blake2b(path.encode("utf-8"), digest_size=16).digest()
    words = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=words)))
