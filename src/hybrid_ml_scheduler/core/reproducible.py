"""What makes a run repeatable: random streams by name, and a short text that only equal values have."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np

__all__ = ["fingerprint_of", "stream"]

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def fingerprint_of(value: Any) -> str:
    """Return a fingerprint of plain values, arrays, collections of them and objects that hold them.

    An object that can tell all it holds as plain values (`payload`) is taken at its word.
    """
    total = hashlib.blake2b(digest_size=16)
    for piece in _pieces(value):
        total.update(len(piece).to_bytes(8, "little"))
        total.update(piece)
    return total.hexdigest()


def _pieces(value: Any) -> Iterator[bytes | memoryview]:
    """The parts of a value in a fixed order, each kind of part under its own name."""
    if isinstance(value, _PLAIN):
        yield f"{type(value).__name__}:{value!r}".encode()
    elif isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        yield f"array:{value.dtype.str}:{value.shape}".encode()
        yield np.ascontiguousarray(value).reshape(-1).view(np.uint8).data
    elif isinstance(value, Mapping):
        yield f"mapping:{len(value)}".encode()
        for key, item in sorted(value.items(), key=lambda pair: repr(pair[0])):
            yield from _pieces(key)
            yield from _pieces(item)
    elif isinstance(value, list | tuple):
        yield f"sequence:{len(value)}".encode()
        for item in value:
            yield from _pieces(item)
    elif isinstance(value, Set):
        yield from _pieces(sorted(value, key=repr))
    else:
        yield f"object:{type(value).__qualname__}".encode()
        yield from _object_pieces(value)


def _object_pieces(value: Any) -> Iterator[bytes | memoryview]:
    payload = getattr(value, "payload", None)
    if callable(payload):
        yield from _pieces(payload())
        return
    slots = [name for one in type(value).__mro__ for name in getattr(one, "__slots__", ())]
    held = {**{name: getattr(value, name) for name in slots if hasattr(value, name)}, **getattr(value, "__dict__", {})}
    if held:
        yield from _pieces(held)
    else:
        yield pickle.dumps(value, protocol=5)


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """Return the generator that belongs to `seed` and this path of names.

    The names are hashed into the spawn key, so a new consumer with a new name
    changes no number that an older consumer draws.
    """
    path = "\x1f".join(str(name) for name in names)
    digest = hashlib.blake2b(path.encode("utf-8"), digest_size=16).digest()
    words = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=words)))
