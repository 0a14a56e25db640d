"""The page that a worker shares with its parent: which task has begun, and results that need no call to the system.

One side writes, the other reads: the writer moves `head`, the reader `tail`, each after the bytes they stand for. What
the writer has put down survives its death. Python's steps are far apart compared with a processor's reordering.
"""

from __future__ import annotations

import mmap
import struct

__all__ = ["RING_BYTES", "Ring"]

_BEGUN = struct.Struct("<qd")
_COUNT = struct.Struct("<q")
_LENGTH = struct.Struct("<I")
_HEAD, _TAIL, _DATA = 16, 24, 64
_CAPACITY = 1 << 18
RING_BYTES = _DATA + _CAPACITY
# A message longer than this goes by the socket.
LONGEST = 1 << 14


class Ring:
    """Both ends of the page; each process uses its own."""

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, RING_BYTES)
        self._position = 0

    def begin(self, number: int, moment: float) -> None:
        """The worker: this task begins."""
        _BEGUN.pack_into(self._memory, 0, number, moment)

    def begun(self) -> tuple[int, float]:
        """The number of the last task that has begun, and the moment."""
        number, moment = _BEGUN.unpack_from(self._memory, 0)
        return number, moment

    def put(self, message: bytes) -> bool:
        """The worker: write a message; False if there is no room for it."""
        need = _LENGTH.size + len(message)
        head, memory = self._position, self._memory
        (tail,) = _COUNT.unpack_from(memory, _TAIL)
        offset = head % _CAPACITY
        skipped = 0
        if offset + need > _CAPACITY:
            skipped = _CAPACITY - offset
            offset = 0
        if len(message) > LONGEST or head + skipped + need - tail > _CAPACITY - _LENGTH.size:
            return False
        if skipped >= _LENGTH.size:
            _LENGTH.pack_into(memory, _DATA + head % _CAPACITY, 0)
        begin = _DATA + offset
        _LENGTH.pack_into(memory, begin, len(message))
        memory[begin + _LENGTH.size : begin + need] = message
        self._position = head + skipped + need
        _COUNT.pack_into(memory, _HEAD, self._position)
        return True

    def take(self) -> list[bytes]:
        """The parent: all messages that were written since it last looked."""
        memory, tail = self._memory, self._position
        (head,) = _COUNT.unpack_from(memory, _HEAD)
        if head == tail:
            return []
        found = []
        while tail < head:
            offset = tail % _CAPACITY
            left = _CAPACITY - offset
            length = _LENGTH.unpack_from(memory, _DATA + offset)[0] if left >= _LENGTH.size else 0
            if length == 0:
                tail += left
                continue
            begin = _DATA + offset + _LENGTH.size
            found.append(memory[begin : begin + length])
            tail += _LENGTH.size + length
        self._position = tail
        _COUNT.pack_into(memory, _TAIL, tail)
        return found

    def close(self) -> None:
        """Unmap the page."""
        self._memory.close()
