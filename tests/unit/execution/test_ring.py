"""The page between a worker and its parent loses nothing and invents nothing."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from hybrid_ml_scheduler.core.reproducible import stream
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


def test_a_block_is_lent_again_when_its_last_view_is_gone_and_closed_when_too_much_is_free() -> None:
    pool = BlockPool(kept_bytes=200_000)
    back: list[int] = []
    maps = BlockMaps(back.append)
    block = pool.take(100_000)
    assert block.descriptor is not None
    block.memory[block.offset : block.offset + 3] = b"abc"
    maps.learn(block.segment, os.dup(block.descriptor))
    view = maps.view(block.number, block.segment, block.offset, block.offset + 100_000)
    part = view[:3]
    del view
    assert bytes(part) == b"abc"
    assert back == []
    del part
    assert back == [block.number]
    assert pool.free(block.number) is None
    again, other = pool.take(90_000), pool.take(250_000)
    assert (again.segment, again.offset, other.segment) == (block.segment, block.offset, block.segment)
    assert pool.free(again.number) is None
    assert pool.free(other.number) == block.segment
    maps.forget(block.segment)
    pool.close()


def test_blocks_never_overlap_and_lie_in_few_segments() -> None:
    rng, pool = stream(1, "execution", "blocks"), BlockPool(kept_bytes=1 << 20)
    lent: dict[int, tuple[int, int, int]] = {}
    segments = set()
    for size in rng.integers(1, 2_000_000, 400).tolist():
        block = pool.take(size)
        segments.add(block.segment)
        end = block.offset + size
        assert all(end <= begin or block.offset >= stop for seg, begin, stop in lent.values() if seg == block.segment)
        lent[block.number] = block.segment, block.offset, end
        if rng.random() < 0.4:
            number = list(lent)[int(rng.integers(len(lent)))]
            del lent[number]
            pool.free(number)
    assert len(segments) <= 9
    pool.close()
