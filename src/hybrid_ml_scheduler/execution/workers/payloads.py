"""Objects on their way between processes: a pickle without the arrays, and the arrays beside it.

Buffers of arrays are taken out of band (pickle protocol 5) and copied once, into a block of shared memory that the
other side maps. What pickle cannot send by name (a lambda, a function of `__main__`) is sent by value.
"""

from __future__ import annotations

import os
import pickle
import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from hybrid_ml_scheduler.execution.errors import NotTransferable, attempt
from hybrid_ml_scheduler.execution.workers.blocks import BlockMaps, BlockPool

__all__ = [
    "PLAIN",
    "Packed",
    "Parcel",
    "call_encoded",
    "call_encoded_by_value",
    "code_by_value",
    "code_of",
    "decode",
    "encode",
    "has_main_file",
    "pack",
    "unpack",
]

# Below this a buffer travels inside the message: a block would cost more than the copy.
LEAST_BUFFER = 1 << 18
# Types without buffers or code of their own: the plain pickle will do.
PLAIN = frozenset({int, float, bool, type(None), complex})
_ALIGNMENT = 64


class Parcel(NamedTuple):
    """A pickle and the memory of its large buffers, which still belongs to the objects."""

    payload: bytes
    buffers: tuple[memoryview, ...] = ()


class Packed(NamedTuple):
    """A parcel ready for the wire: the block's number and where in it each buffer lies."""

    payload: bytes
    block: int = 0
    spans: tuple[tuple[int, int], ...] = ()
    is_new: bool = False


def encode(value: Any, what: str) -> Parcel:
    """Pickle an object with its large buffers apart; refuse with a sentence what cannot be sent."""
    if not has_main_file():  # a worker could not import the classes of a console or a notebook
        return _by_value(value, what)
    first = attempt(_pickled, value, pickle.dumps)
    if first.error is None:
        parcel: Parcel = first.value
        return parcel
    return _by_value(value, what, first.error)


def call_encoded(args: tuple[Any, ...], kwargs: Any, kind: str) -> Parcel:
    """The arguments of a call; those without buffers take the short way."""
    for value in args:
        if type(value) not in PLAIN:
            return encode((args, kwargs), f"An argument of {kind}")
    if kwargs:
        return encode((args, kwargs), f"An argument of {kind}")
    return Parcel(pickle.dumps((args, kwargs), protocol=5))


def call_encoded_by_value(args: tuple[Any, ...], kwargs: Any, kind: str) -> Parcel:
    """The arguments of a call for another machine, which has no copy of the main program to take classes from."""
    if not kwargs and all(type(value) in PLAIN for value in args):
        return Parcel(pickle.dumps((args, kwargs), protocol=5))
    return _by_value((args, kwargs), f"An argument of {kind}")


def _by_value(value: Any, what: str, first: BaseException | None = None) -> Parcel:
    from numba import cloudpickle

    second = attempt(_pickled, value, cloudpickle.dumps)
    if second.error is not None:
        error = second.error if first is None else first
        reason = f"{type(error).__name__}: {error}"
        raise NotTransferable(f"{what} cannot be sent to another process: {reason}.") from second.error
    parcel: Parcel = second.value
    return parcel


def _pickled(value: Any, dumps: Any) -> Parcel:
    buffers: list[memoryview] = []

    def keep_inside(buffer: pickle.PickleBuffer) -> bool:
        try:
            raw = buffer.raw()
        except BufferError:
            return True
        if raw.nbytes < LEAST_BUFFER:
            return True
        buffers.append(raw)
        return False

    payload: bytes = dumps(value, protocol=5, buffer_callback=keep_inside)
    if len(payload) >= LEAST_BUFFER:
        return Parcel(b"", (memoryview(payload), *buffers))
    return Parcel(payload, tuple(buffers))


def code_of(function: Any) -> tuple[bytes, bool]:
    """A function as bytes, and whether they only name it (so that they stay true)."""
    if not _lives_in_console(function):
        named = attempt(pickle.dumps, function, protocol=5)
        if named.error is None:
            return named.value, True
    parcel = _by_value(function, "The function", TypeError("it has no name that a worker could import"))
    return b"".join(bytes(buffer) for buffer in parcel.buffers) or parcel.payload, False


def code_by_value(function: Any) -> tuple[bytes, bool]:
    """A function for another machine: by name where that can be imported, by value where it is of the main program."""
    implementations = getattr(function, "implementations", None)
    if getattr(function, "__module__", "") == "__main__" and isinstance(implementations, dict):
        function = SimpleNamespace(implementations=implementations)
    parcel = _by_value(function, "The function")
    return b"".join(bytes(buffer) for buffer in parcel.buffers) or parcel.payload, True


def _lives_in_console(function: Any) -> bool:
    """Whether it was defined where a worker cannot import it from: a console, `python -c` or a script on stdin."""
    return getattr(function, "__module__", "") == "__main__" and not has_main_file()


def has_main_file() -> bool:
    """Whether the main program is a file; one read from stdin or typed into a console has none, or names none."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    return path is not None and os.path.exists(path)


def pack(parcel: Parcel, pool: BlockPool) -> tuple[Packed, int | None]:
    """Copy the buffers into a block; also returns the descriptor if the other side does not have it yet."""
    if not parcel.buffers:
        return Packed(parcel.payload), None
    spans, end = [], 0
    for buffer in parcel.buffers:
        spans.append((end, buffer.nbytes))
        end += -(-buffer.nbytes // _ALIGNMENT) * _ALIGNMENT
    number, memory, descriptor = pool.take(end)
    target = np.frombuffer(memory, dtype=np.uint8)
    for (begin, length), buffer in zip(spans, parcel.buffers, strict=True):
        # Large copies release the interpreter lock this way.
        target[begin : begin + length] = np.frombuffer(buffer, dtype=np.uint8)
    return Packed(parcel.payload, number, tuple(spans), descriptor is not None), descriptor


def unpack(item: Packed, maps: BlockMaps, copy: bool = False) -> Parcel:
    """The parcel as it was sent, over the mapped block; with `copy`, over memory of its own."""
    if not item.spans:
        return Parcel(item.payload)
    view = maps.view(item.block)
    parts = [view[begin : begin + length] for begin, length in item.spans]
    if copy:
        parts = [memoryview(bytearray(part)) for part in parts]
    return Parcel(item.payload, tuple(parts))


def decode(parcel: Parcel) -> Any:
    """The object of a parcel."""
    payload, buffers = parcel
    if not payload and buffers:
        return pickle.loads(buffers[0], buffers=buffers[1:])
    return pickle.loads(payload, buffers=buffers)
