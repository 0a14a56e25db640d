"""The page between a worker and its parent loses nothing and invents nothing."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from hybrid_ml_scheduler.execution.workers.blocks import BlockMaps, BlockPool, anonymous_file
from hybrid_ml_scheduler.execution.workers.ring import LONGEST, RING_BYTES, Ring


@given(st.lists(st.tuples(st.integers(1, LONGEST + 10), st.booleans()), min_size=1, max_size=200))
def test_messages_come_out_as_they_went_in_whatever_their_lengths(steps: list[tuple[int, bool]]) -> None:
    descriptor = anonymous_file(RING_BYTES)
    writer, reader = Ring(descriptor), Ring(descriptor)
    os.close(descriptor)
    sent: list[bytes] = []
    got: list[bytes] = []
    for number, (length, looks) in enumerate(steps):
        message = bytes([number % 255 + 1]) * length
        if writer.put(message):
            sent.append(message)
        else:
            assert length > LONGEST or sum(map(len, sent)) - sum(map(len, got)) > RING_BYTES // 2
        if looks:
            got += reader.take()
    writer.begin(7, 1.5)
    assert reader.begun() == (7, 1.5)
    assert got + reader.take() == sent
    assert reader.take() == []
    writer.close()
    reader.close()


def test_a_block_is_lent_again_when_its_last_view_is_gone_and_closed_when_too_many_are_free() -> None:
    pool = BlockPool(kept_bytes=200_000)
    back: list[int] = []
    maps = BlockMaps(back.append)
    number, memory, descriptor = pool.take(100_000)
    assert descriptor is not None
    memory[:3] = b"abc"
    maps.learn(number, os.dup(descriptor))
    view = maps.view(number)
    part = view[:3]
    del view
    assert bytes(part) == b"abc"
    assert back == []
    del part
    assert back == [number]
    assert pool.free(number)
    assert pool.take(90_000)[0] == number
    other, _, _ = pool.take(150_000)
    assert pool.free(number)
    assert not pool.free(other)
    maps.forget(number)
    pool.close()
