"""Blocks of shared memory without a name: parts of few large segments, whose descriptors travel once.

The owner takes blocks from its segments, fills them and lends them by number. The borrower maps each segment once; when
the last array over a block is gone, the block can be given back. A segment is at least twice as large as the largest
before, so that the number of descriptors grows with the logarithm of the bytes, however many blocks are lent. Nothing
is left behind by a crash, since nothing was ever put into a file system.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

__all__ = ["Block", "BlockMaps", "BlockPool", "anonymous_file"]

_GRAIN = 1 << 14
_LEAST_SEGMENT, _LARGEST_DOUBLING = 1 << 22, 1 << 32
# Free memory is kept up to this many bytes a pool: its pages need not be made again.
KEPT_BYTES = 1 << 28
_GIVE_BACK = getattr(mmap, "MADV_REMOVE", None)


def anonymous_file(size: int) -> int:
    """A descriptor of that much memory, in no folder."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("hms", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return descriptor


class Block(NamedTuple):
    """A block that was taken: its number, where it lies, and the segment's descriptor if the segment is a new one."""

    number: int
    segment: int
    offset: int
    memory: mmap.mmap
    descriptor: int | None


class _Segment:
    """One segment as its owner sees it: the free spans lie in order, and no two touch."""

    __slots__ = ("descriptor", "ends", "memory", "size", "starts")

    def __init__(self, size: int) -> None:
        self.size = size
        self.descriptor = anonymous_file(size)
        self.memory = mmap.mmap(self.descriptor, size)
        self.starts, self.ends = [0], [size]

    @property
    def is_free(self) -> bool:
        """Whether no block of it is lent."""
        return self.starts == [0] and self.ends == [self.size]

    def take(self, size: int) -> int | None:
        """Where the first free span of this size begins."""
        for index, (start, end) in enumerate(zip(self.starts, self.ends, strict=True)):
            if end - start >= size:
                self.starts[index] += size
                if self.starts[index] == end:
                    del self.starts[index], self.ends[index]
                return start
        return None

    def free(self, start: int, size: int) -> None:
        """A span is free again, and one with its free neighbours."""
        index, end = bisect_left(self.starts, start), start + size
        self.starts.insert(index, start)
        self.ends.insert(index, end)
        if index + 1 < len(self.starts) and self.starts[index + 1] == end:
            del self.starts[index + 1], self.ends[index]
        if index and self.ends[index - 1] == start:
            del self.starts[index], self.ends[index - 1]

    def close(self) -> None:
        """Let go of the memory; what others have mapped stays theirs."""
        self.memory.close()
        os.close(self.descriptor)


class BlockPool:
    """The owner's side: blocks that are lent, and free memory to lend again."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._segments: dict[int, _Segment] = {}
        self._lent: dict[int, tuple[int, int, int]] = {}
        self._free_bytes = 0
        self._made = self._taken = 0

    def take(self, size: int) -> Block:
        """A block of at least this size."""
        size = max(-(-size // _GRAIN), 1) * _GRAIN
        for number, segment in self._segments.items():
            offset = segment.take(size)
            if offset is not None:
                self._free_bytes = max(self._free_bytes - size, 0)
                return self._lend(number, segment, offset, size, None)
        largest = max((one.size for one in self._segments.values()), default=0)
        self._made += 1
        segment = self._segments[self._made] = _Segment(max(size, _LEAST_SEGMENT, min(2 * largest, _LARGEST_DOUBLING)))
        return self._lend(self._made, segment, segment.take(size) or 0, size, segment.descriptor)

    def _lend(self, number: int, segment: _Segment, offset: int, size: int, descriptor: int | None) -> Block:
        self._taken += 1
        self._lent[self._taken] = number, offset, size
        return Block(self._taken, number, offset, segment.memory, descriptor)

    def free(self, block: int) -> int | None:
        """A block came back; the number of its segment if that was closed, because enough free memory is kept."""
        if block not in self._lent:
            return None
        number, offset, size = self._lent.pop(block)
        segment = self._segments[number]
        segment.free(offset, size)
        self._free_bytes += size
        if self._free_bytes <= self._kept_bytes:
            return None
        self._free_bytes -= size
        if segment.is_free:
            del self._segments[number]
            segment.close()
            return number
        if _GIVE_BACK is not None:
            segment.memory.madvise(_GIVE_BACK, offset, size)
        return None

    def close(self) -> None:
        """Close everything."""
        for segment in self._segments.values():
            segment.close()
        self._segments.clear()
        self._lent.clear()
        self._free_bytes = 0


class BlockMaps:
    """The borrower's side: maps each segment once, and says when one of its blocks is used no more."""

    def __init__(self, unused: Callable[[int], None]) -> None:
        self._unused = unused
        self._segments: dict[int, mmap.mmap] = {}

    def learn(self, segment: int, descriptor: int) -> None:
        """Map a segment of which a block is lent for the first time; the descriptor is not needed any more."""
        try:
            self._segments[segment] = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
        finally:
            os.close(descriptor)

    def view(self, block: int, segment: int, begin: int, end: int) -> memoryview:
        """The memory of a block; whoever holds a part of it holds it all."""
        memory = np.frombuffer(self._segments[segment], dtype=np.uint8, count=end - begin, offset=begin)
        weakref.finalize(memory, self._unused, block).atexit = False
        return memory.data

    def forget(self, segment: int) -> None:
        """The owner has closed the segment."""
        self._segments.pop(segment, None)

    def close(self) -> None:
        """Forget all segments; arrays over them stay."""
        self._segments.clear()
