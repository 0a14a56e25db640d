"""Objects on their way between processes: a pickle without the arrays, and the arrays beside it.

Buffers of arrays are taken out of band (pickle protocol 5) and copied once, into a block of shared memory that the
other side maps. What pickle cannot send by name (a lambda, a function of `__main__`) is sent by value.
"""

from __future__ import annotations

import os
import pickle
import sys
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
    "decode",
    "encode",
    "has_main_file",
    "not_transferable",
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
    """A parcel ready for the wire: its block's number, the segment, and where in that each buffer lies."""

    payload: bytes
    block: int = 0
    spans: tuple[tuple[int, int], ...] = ()
    segment: int = 0
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
        raise not_transferable(what, first or second.error) from second.error
    parcel: Parcel = second.value
    return parcel


def not_transferable(what: str, error: BaseException) -> NotTransferable:
    """The sentence about an object that cannot be pickled."""
    return NotTransferable(f"{what} cannot be sent to another process: {type(error).__name__}: {error}.")


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


def has_main_file() -> bool:
    """Whether the main program is a file; one read from stdin or typed into a console has none, or names none."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    return path is not None and os.path.exists(path)


def pack(parcel: Parcel, pool: BlockPool) -> tuple[Packed, int | None]:
    """Copy the buffers into a block; also returns the descriptor if the other side does not have it yet."""
    if not parcel.buffers:
        return Packed(parcel.payload), None
    sizes = [-(-buffer.nbytes // _ALIGNMENT) * _ALIGNMENT for buffer in parcel.buffers]
    block = pool.take(sum(sizes))
    target, begin, spans = np.frombuffer(block.memory, dtype=np.uint8), block.offset, []
    for size, buffer in zip(sizes, parcel.buffers, strict=True):
        # Large copies release the interpreter lock this way.
        target[begin : begin + buffer.nbytes] = np.frombuffer(buffer, dtype=np.uint8)
        spans.append((begin, buffer.nbytes))
        begin += size
    packed = Packed(parcel.payload, block.number, tuple(spans), block.segment, block.descriptor is not None)
    return packed, block.descriptor


def unpack(item: Packed, maps: BlockMaps) -> Parcel:
    """The parcel as it was sent, over the mapped block."""
    if not item.spans:
        return Parcel(item.payload)
    first, end = item.spans[0][0], sum(item.spans[-1])
    view = maps.view(item.block, item.segment, first, end)
    return Parcel(item.payload, tuple(view[begin - first : begin - first + length] for begin, length in item.spans))


def decode(parcel: Parcel) -> Any:
    """The object of a parcel."""
    payload, buffers = parcel
    if not payload and buffers:
        return pickle.loads(buffers[0], buffers=buffers[1:])
    return pickle.loads(payload, buffers=buffers)
