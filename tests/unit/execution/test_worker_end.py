"""The worker's end of the conversation: no result stays unheard, and no function is forgotten."""

from __future__ import annotations

import os
import pickle
import socket
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from hybrid_ml_scheduler.execution.workers.blocks import anonymous_file
from hybrid_ml_scheduler.execution.workers.codes import code_of
from hybrid_ml_scheduler.execution.workers.payloads import call_encoded
from hybrid_ml_scheduler.execution.workers.ring import RING_BYTES, Ring
from hybrid_ml_scheduler.execution.workers.wire import Link, PatientLink
from hybrid_ml_scheduler.execution.workers.worker import _Worker
from tests.unit.execution.samples import same


class _Ends:
    """A worker in this process, and the parent's ends of what it is connected by."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._controls = socket.socketpair()
        page = anonymous_file(RING_BYTES)
        self.ring = Ring(page)
        self.worker = _Worker(PatientLink(theirs), self._controls[1], Ring(page))
        os.close(page)
        self.link, self._theirs = Link(ours), theirs

    def send(self, *items: tuple[Any, ...]) -> None:
        self.link.send(pickle.dumps((items, [], [], [])), [])

    def results(self) -> list[tuple[int, bool]]:
        return [pickle.loads(message)[:2] for message in self.ring.take()]

    def close(self) -> None:
        for connection in (self.link.connection, self._theirs, *self._controls):
            connection.close()


@pytest.fixture
def ends() -> Iterator[_Ends]:
    made = _Ends()
    yield made
    made.close()


def task(number: int, code: bytes | None) -> tuple[Any, ...]:
    parcel = call_encoded((number,), {}, "same")
    return number, 1, code, (parcel.payload,), False


class _GivenBackMeanwhile(deque[tuple[Any, ...]]):
    """Has a second task while the first one runs; then the parent asks for it back, just before it is taken."""

    def popleft(self) -> tuple[Any, ...]:
        found = super().popleft()
        if found[0] == 2:
            raise IndexError
        return found


def test_a_result_is_told_although_the_task_behind_it_is_given_back_at_that_moment(ends: _Ends) -> None:
    ends.worker._waiting = _GivenBackMeanwhile()
    ends.send(task(1, code_of(same)[0]), task(2, None))
    served = threading.Thread(target=ends.worker.serve, daemon=True)
    served.start()
    ends.link.connection.settimeout(60.0)
    assert ends.link.connection.recv(1)  # a hint comes although no further task does
    assert ends.results() == [(1, True)]
    ends.link.connection.shutdown(socket.SHUT_WR)
    served.join()


_HEARD = threading.Event()


def _long_if_second(number: int) -> bool:
    """The second task runs until the first one's result was heard of."""
    return number == 1 or _HEARD.wait(60.0)


def test_a_result_is_told_while_the_task_behind_it_still_runs(ends: _Ends) -> None:
    ends.send(task(1, code_of(_long_if_second)[0]), task(2, None))
    served = threading.Thread(target=ends.worker.serve, daemon=True)
    served.start()
    ends.link.connection.settimeout(50.0)
    assert ends.link.connection.recv(1)
    assert ends.results() == [(1, True)]
    _HEARD.set()
    ends.link.connection.shutdown(socket.SHUT_WR)
    served.join()
    assert ends.results() == [(2, True)]


def test_a_function_is_known_although_the_task_that_brought_it_was_given_back(ends: _Ends) -> None:
    ends.send(task(1, code_of(same)[0]))
    assert ends.worker._given_back() == [1]
    ends.send(task(2, None))
    ends.link.connection.shutdown(socket.SHUT_WR)
    ends.worker.serve()
    assert ends.results() == [(2, True)]
