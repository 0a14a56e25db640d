"""Blocks of shared memory without a name: a descriptor travels once, the memory dies with its last user.

The owner takes blocks from a pool, fills them and lends them by number. The borrower maps a block for each use;
when the last array over a mapping is gone, the block can be given back. Nothing is left behind by a crash, since
nothing was ever put into a file system.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from collections.abc import Callable

__all__ = ["BlockMaps", "BlockPool", "anonymous_file"]

_GRAIN = 1 << 16
# Blocks that are free are kept up to this many bytes a pool: their pages need not be made again.
KEPT_BYTES = 1 << 28


def anonymous_file(size: int) -> int:
    """A descriptor of that much memory, in no folder."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("hms", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return descriptor


class _Block:
    """One block as its owner sees it."""

    __slots__ = ("descriptor", "memory", "number", "size")

    def __init__(self, number: int, size: int) -> None:
        self.number, self.size = number, size
        self.descriptor = anonymous_file(size)
        self.memory = mmap.mmap(self.descriptor, size)

    def close(self) -> None:
        self.memory.close()
        os.close(self.descriptor)


class BlockPool:
    """The owner's side: blocks that are lent, and free ones to lend again."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._blocks: dict[int, _Block] = {}
        self._free: list[_Block] = []
        self._free_bytes = 0
        self._made = 0

    def take(self, size: int) -> tuple[int, mmap.mmap, int | None]:
        """A block of at least this size: its number, its memory, and its descriptor if it is a new one."""
        fitting = [block for block in self._free if size <= block.size <= 4 * size + _GRAIN]
        if fitting:
            block = min(fitting, key=lambda one: one.size)
            self._free.remove(block)
            self._free_bytes -= block.size
            return block.number, block.memory, None
        self._made += 1
        block = _Block(self._made, -(-size // _GRAIN) * _GRAIN)
        self._blocks[block.number] = block
        return block.number, block.memory, block.descriptor

    def free(self, number: int) -> bool:
        """A block came back; False if it was closed because enough free ones are kept."""
        block = self._blocks.get(number)
        if block is None:
            return False
        if self._free_bytes + block.size > self._kept_bytes:
            del self._blocks[number]
            block.close()
            return False
        self._free.append(block)
        self._free_bytes += block.size
        return True

    def close(self) -> None:
        """Close everything; what others have mapped stays theirs."""
        for block in self._blocks.values():
            block.close()
        self._blocks.clear()
        self._free.clear()
        self._free_bytes = 0


class BlockMaps:
    """The borrower's side: maps blocks by number, and says when one is used no more."""

    def __init__(self, unused: Callable[[int], None]) -> None:
        self._unused = unused
        self._descriptors: dict[int, tuple[int, int]] = {}

    def learn(self, number: int, descriptor: int) -> None:
        """Remember a block that is lent for the first time."""
        self._descriptors[number] = (descriptor, os.fstat(descriptor).st_size)

    def view(self, number: int) -> memoryview:
        """The memory of a block; whoever holds a part of it holds it all."""
        descriptor, size = self._descriptors[number]
        memory = mmap.mmap(descriptor, size)
        weakref.finalize(memory, self._unused, number).atexit = False
        return memoryview(memory)

    def forget(self, number: int) -> None:
        """The owner has closed the block."""
        descriptor, _ = self._descriptors.pop(number, (-1, 0))
        if descriptor >= 0:
            os.close(descriptor)

    def close(self) -> None:
        """Close the descriptors; mappings that are in use stay."""
        for descriptor, _ in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()
