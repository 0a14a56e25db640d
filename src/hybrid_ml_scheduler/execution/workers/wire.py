"""Frames over a socket pair: a header, bytes, and descriptors beside them.

The worker's end waits; the parent's end never does, so that one slow worker holds up nobody.
"""

from __future__ import annotations

import array
import os
import select
import socket
import struct
from collections import deque

__all__ = ["Link", "PatientLink"]

_HEADER = struct.Struct("!QI")
_CHUNK = 1 << 18
_MOST_DESCRIPTORS = 64
_SPACE = socket.CMSG_SPACE(_MOST_DESCRIPTORS * array.array("i").itemsize)

Frame = tuple[bytes, list[int]]


def _ancillary(descriptors: list[int]) -> list[tuple[int, int, array.array[int]]]:
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []


class _Received:
    """Bytes and descriptors as they came, cut into frames."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._descriptors: deque[int] = deque()

    def read(self, connection: socket.socket) -> bool:
        """Read once; False at the end of the connection."""
        data, extra, _, _ = connection.recvmsg(_CHUNK, _SPACE)
        for level, kind, content in extra:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                numbers = array.array("i")
                numbers.frombytes(content[: len(content) - len(content) % numbers.itemsize])
                self._descriptors.extend(numbers)
        self._bytes += data
        return bool(data)

    def frames(self) -> list[Frame]:
        """Take all whole frames."""
        found: list[Frame] = []
        begin, have = 0, len(self._bytes)
        while have - begin >= _HEADER.size:
            length, count = _HEADER.unpack_from(self._bytes, begin)
            end = begin + _HEADER.size + length
            if end > have:
                break
            body = bytes(self._bytes[begin + _HEADER.size : end])
            found.append((body, [self._descriptors.popleft() for _ in range(count)]))
            begin = end
        if begin:
            del self._bytes[:begin]
        return found

    def close(self) -> None:
        """Close descriptors that nobody took."""
        while self._descriptors:
            os.close(self._descriptors.popleft())


class PatientLink:
    """The worker's end: waits for a frame, waits until a frame is sent."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self._received = _Received()
        self._frames: deque[Frame] = deque()

    def receive(self) -> Frame | None:
        """The next frame; None at the end."""
        while not self._frames:
            if not self._received.read(self.connection):
                return None
            self._frames.extend(self._received.frames())
        return self._frames.popleft()

    def receive_now(self) -> list[Frame]:
        """The frames that have come already; waits for none."""
        while select.select([self.connection], [], [], 0.0)[0] and self._received.read(self.connection):
            pass
        found = [*self._frames, *self._received.frames()]
        self._frames.clear()
        return found

    def send(self, body: bytes, descriptors: list[int]) -> None:
        """Send one frame with its descriptors."""
        frame = _HEADER.pack(len(body), len(descriptors)) + body
        sent = self.connection.sendmsg([frame], _ancillary(descriptors)) if descriptors else 0
        if sent < len(frame):
            self.connection.sendall(memoryview(frame)[sent:])


class Link:
    """The parent's end: sends what can be sent now, keeps the rest."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.connection = connection
        self._received = _Received()
        self._outgoing: deque[tuple[memoryview, list[int]]] = deque()
        self.has_ended = False

    @property
    def has_outgoing(self) -> bool:
        """Whether something still waits to be sent."""
        return bool(self._outgoing)

    def send(self, body: bytes, descriptors: list[int]) -> None:
        """Queue a frame and send what the socket takes."""
        header = _HEADER.pack(len(body), len(descriptors))
        self._outgoing.append((memoryview(header + body), descriptors))
        self.flush()

    def flush(self) -> None:
        """Send until the socket is full or nothing is left; a worker that is gone is noticed elsewhere."""
        while self._outgoing:
            rest, descriptors = self._outgoing[0]
            try:
                sent = self.connection.sendmsg([rest], _ancillary(descriptors))
            except BlockingIOError:
                return
            except OSError:
                self._outgoing.clear()
                return
            if sent == len(rest):
                self._outgoing.popleft()
            else:
                self._outgoing[0] = (rest[sent:], [])

    def receive(self) -> list[Frame]:
        """All whole frames that have come so far."""
        try:
            while self._received.read(self.connection):
                pass
            self.has_ended = True
        except BlockingIOError:
            pass
        except OSError:
            self.has_ended = True
        return self._received.frames()

    def close(self) -> None:
        """Close the socket and what came with it."""
        self._received.close()
        self._outgoing.clear()
        self.connection.close()
