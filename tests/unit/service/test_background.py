"""Work beside the requests ends with the service, also where a cancellation gets lost on the way."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from hybrid_ml_scheduler.service.logs import going_on
from hybrid_ml_scheduler.storage.connect import store
from hybrid_ml_scheduler.storage.connect.store import cancel_and_wait
from tests.waiting import within

PATIENCE_S = 60.0


class Deaf:
    """Work that does not hear the first few cancellations, as when a driver's `wait_for` has swallowed them."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.has_ended = False

    async def work(self) -> None:
        for _ in range(self.times):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(PATIENCE_S)
        try:
            await asyncio.sleep(PATIENCE_S)
        finally:
            self.has_ended = True


@pytest.mark.parametrize("times", [0, 1, 3])
async def test_work_ends_however_often_it_must_be_asked(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    monkeypatch.setattr(store, "_ASK_AGAIN_S", 0.01)
    deaf, other = Deaf(times), Deaf(0)
    async with within(PATIENCE_S):
        async with going_on(deaf.work(), other.work()):
            await asyncio.sleep(0)
        assert (deaf.has_ended, other.has_ended) == (True, True)


async def test_what_has_ended_already_is_not_waited_for() -> None:
    async def breaks() -> None:
        raise ValueError("broken")

    task = asyncio.create_task(breaks())
    await asyncio.wait({task})
    await cancel_and_wait(task)
    await cancel_and_wait()
    assert isinstance(task.exception(), ValueError)
