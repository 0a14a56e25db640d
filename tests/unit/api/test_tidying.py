"""The collector looks at what came to stay a few times, once the race has begun."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from hybrid_ml_scheduler.api.tidying import Tidying


@pytest.fixture
def unfrozen() -> Iterator[None]:
    yield
    gc.unfreeze()


async def frozen_by(tidying: Tidying) -> int:
    """How many objects one look took out of the collector's sight."""
    before = gc.get_freeze_count()
    await tidying()
    return gc.get_freeze_count() - before


async def test_nothing_is_tidied_before_the_race_begins(unfrozen: None) -> None:
    tidying = Tidying(lambda: 7)
    assert [await frozen_by(tidying) for _ in range(3)] == [0, 0, 0]


async def test_a_race_that_goes_on_is_tidied_up_after_a_few_times(unfrozen: None) -> None:
    tasks = iter(range(100))
    tidying = Tidying(lambda: next(tasks))
    await tidying()
    came = []
    for _ in range(5):
        kept = [[] for _ in range(100)]  # type: list[list[int]]
        came.append(await frozen_by(tidying) >= len(kept))
    assert came == [True, True, True, False, False]
