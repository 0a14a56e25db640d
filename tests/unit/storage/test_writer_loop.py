"""The writer's loop on a clock that only its own waiting moves: how late it may notice is then exact."""

from __future__ import annotations

import asyncio
import threading

import pytest

from hybrid_ml_scheduler.storage import RowBatch, StorageError, StoreUnavailableError, StoreWriter
from hybrid_ml_scheduler.storage.records import WriteReport
from hybrid_ml_scheduler.storage.write import writer as writing
from hybrid_ml_scheduler.storage.write.backlog import Backlog
from tests.contracts.storage import samples


class Clock:
    """Stands in for the module `time` of the writer."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s

    def time(self) -> float:
        return self.now_s


class Quiet(Backlog):
    """Nothing ever comes: waiting for rows passes the whole time on the clock."""

    clock: Clock

    def take(self, most_rows: int, timeout_s: float) -> list[RowBatch]:
        self.clock.now_s += timeout_s
        return []


class Pauses(threading.Event):
    """Waits on paper."""

    def __init__(self) -> None:
        super().__init__()
        self.waited_s: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waited_s.append(timeout or 0.0)
        return self.is_set()


class Gone(writing._Link):
    """A database that does not answer the first questions; then the writer is told to end."""

    def __init__(self, writer: StoreWriter, failures: int) -> None:
        super().__init__("sqlite://")
        self.writer, self.failures, self.asked = writer, failures, 0

    async def write(self, batch: RowBatch) -> WriteReport:
        self.asked += 1
        if self.asked <= self.failures:
            raise StoreUnavailableError("The database is away.")
        return WriteReport(inserted=len(batch), repeated=0, differences=())

    async def problem(self) -> str | None:
        self.asked += 1
        self.writer._stopping.set()
        return "The database is away."


def test_an_idle_writer_looks_within_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, writer = Clock(), StoreWriter("sqlite://")
    writer._backlog = quiet = Quiet(100)
    quiet.clock = clock
    link = Gone(writer, 0)
    monkeypatch.setattr(writing, "time", clock)
    monkeypatch.setattr(writing, "_Link", lambda url, owner: link)
    loop = asyncio.new_event_loop()
    writer._work(loop)
    loop.close()
    assert (link.asked, writer.health().state) == (1, "down")
    assert clock.now_s - 1000.0 <= 1.0, "the other second is for the answer"


def test_a_writer_tries_again_after_growing_pauses_of_a_second_at_most() -> None:
    writer = StoreWriter("sqlite://")
    writer._stopping = pauses = Pauses()
    loop = asyncio.new_event_loop()
    writer.put(samples.batch(1, 0, 2))
    writer._store(loop, Gone(writer, 7), writer._backlog.take(100, 0.0))
    loop.close()
    assert pauses.waited_s == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert (writer.health().state, writer.health().backlog_rows) == ("ok", 0)


def test_a_question_without_an_answer_counts_as_down_within_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, writer = Clock(), StoreWriter("sqlite://")
    monkeypatch.setattr(writing, "time", clock)
    seen: list[str] = []

    class Silent(Gone):
        async def problem(self) -> str | None:
            for _ in range(3):
                clock.now_s += 0.75
                seen.append(writer.health().state)
            return None

    loop = asyncio.new_event_loop()
    writer._watch(loop, Silent(writer, 0))
    loop.close()
    assert seen == ["ok", "ok", "down"]
    assert writer.health().state == "ok", "it answered in the end"


class Astonished(writing._Link):
    """Raises what no driver should while something is broken; then it stores."""

    def __init__(self, error: BaseException, *, idle: bool) -> None:
        super().__init__("sqlite://")
        self.error: BaseException | None = error
        self.idle = idle

    async def write(self, batch: RowBatch) -> WriteReport:
        if self.error is not None:
            raise self.error
        return WriteReport(inserted=len(batch), repeated=0, differences=())

    async def problem(self) -> str | None:
        if self.idle and self.error is not None:
            raise self.error
        return None


@pytest.mark.parametrize("idle", [False, True], ids=["while it writes", "while it looks"])
@pytest.mark.parametrize(
    "error",
    [ValueError("odd \ud800\0 text"), KeyError("row"), asyncio.CancelledError()],
    ids=lambda one: type(one).__name__,
)
def test_whatever_happens_to_the_writer_is_said_and_can_be_mended(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, idle: bool
) -> None:
    link = Astonished(error, idle=idle)
    monkeypatch.setattr(writing, "_Link", lambda url, owner: link)
    monkeypatch.setattr(writing, "_IDLE_CHECK_S", 0.01)
    writer = StoreWriter("sqlite://")
    if not idle:
        writer.put(samples.batch(1, 0, 2))
    writer.start()
    writer._thread.join(60.0)
    health = writer.health()
    assert health.state == "failed"
    assert type(error).__name__ in str(health.last_error)
    assert str(health.last_error).encode().count(b"\0") == 0
    with pytest.raises(StorageError, match="Storing was halted by"):
        writer.put(samples.batch(1, 2, 2))
    link.error = None
    assert writer.renew()
    assert (writer.health().state, writer.health().last_error) == ("ok", None)
    writer.put(samples.batch(1, 4, 2))
    assert writer.close(60.0)


def test_a_writer_that_was_mended_is_not_blamed_for_its_silence_before(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, writer = Clock(), StoreWriter("sqlite://")
    monkeypatch.setattr(writing, "time", clock)
    monkeypatch.setattr(writer, "start", lambda: None)
    loop = asyncio.new_event_loop()
    writer.put(samples.batch(1, 0, 2))
    with pytest.raises(ValueError, match="row"):
        writer._store(loop, Astonished(ValueError("row"), idle=False), writer._backlog.take(100, 0.0))
    loop.close()
    writer._fail("The row was refused.")
    writer._thread = threading.Thread(target=lambda: None)
    writer._thread.start()
    clock.now_s += 100.0
    assert writer.renew()
    assert writer.health().state == "ok"
