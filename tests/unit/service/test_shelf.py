"""Answers that are kept for a moment."""

from __future__ import annotations

import asyncio

import pytest

from hybrid_ml_scheduler.service.shelf import Shelf
from hybrid_ml_scheduler.storage import StoreUnavailableError, open_cache
from tests.waiting import within


class Kitchen:
    """Makes a numbered answer, slowly, and can be closed."""

    def __init__(self) -> None:
        self.made = 0
        self.is_closed = False

    async def make(self) -> bytes:
        await asyncio.sleep(0.01)
        if self.is_closed:
            raise StoreUnavailableError("The kitchen is closed.")
        self.made += 1
        return str(self.made).encode()


async def test_many_who_ask_at_once_get_one_answer() -> None:
    shelf, kitchen = Shelf(open_cache(None), fresh_s=600.0, usable_s=1200.0), Kitchen()
    answers = await asyncio.gather(*(shelf.get("a", kitchen.make) for _ in range(20)))
    assert set(answers) == {b"1"}
    assert kitchen.made == 1


async def test_an_answer_that_is_no_longer_fresh_is_given_at_once_and_renewed_behind() -> None:
    shelf, kitchen = Shelf(open_cache(None), fresh_s=0.02, usable_s=600.0), Kitchen()
    assert await shelf.get("a", kitchen.make) == b"1"
    await asyncio.sleep(0.05)
    assert await shelf.get("a", kitchen.make) == b"1"
    async with within(60.0):
        while await shelf.get("a", kitchen.make) == b"1":
            await asyncio.sleep(0.01)
    assert kitchen.made >= 2


async def test_an_answer_that_is_too_old_is_not_given() -> None:
    shelf, kitchen = Shelf(open_cache(None), fresh_s=0.01, usable_s=0.02), Kitchen()
    await shelf.get("a", kitchen.make)
    await asyncio.sleep(0.05)
    assert await shelf.get("a", kitchen.make) == b"2"


async def test_during_an_outage_a_usable_answer_is_given() -> None:
    shelf, kitchen = Shelf(open_cache(None), fresh_s=0.01, usable_s=600.0), Kitchen()
    await shelf.get("a", kitchen.make)
    kitchen.is_closed = True
    await asyncio.sleep(0.02)
    assert await shelf.get("a", kitchen.make) == b"1"


async def test_without_a_usable_answer_the_outage_is_told() -> None:
    shelf, kitchen = Shelf(open_cache(None), fresh_s=0.01, usable_s=0.05), Kitchen()
    await shelf.get("a", kitchen.make)
    kitchen.is_closed = True
    await asyncio.sleep(0.1)
    with pytest.raises(StoreUnavailableError, match="closed"):
        await shelf.get("a", kitchen.make)
