"""The writer: takes batches from the race's thread and stores them, through outages, once each, in order."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from hybrid_ml_scheduler.storage.connect.store import Store, open_store, ping
from hybrid_ml_scheduler.storage.errors import StorageError, StoreUnavailableError, short_reason
from hybrid_ml_scheduler.storage.records import WriteReport, WriterHealth
from hybrid_ml_scheduler.storage.write.backlog import Backlog
from hybrid_ml_scheduler.storage.write.batches import RowBatch
from hybrid_ml_scheduler.storage.write.transaction import write_batch

__all__ = ["StoreWriter"]

_log = logging.getLogger(__name__)

_ROWS_PER_TRANSACTION = 20_000
_IDLE_CHECK_S = 1.0
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0
_OPEN_TIMEOUT_S = 1.0
_KEPT_DIFFERENCES = 20
_COMMAND_TIMEOUT_S = 30.0
_SILENCE_S = 1.5


class StoreWriter:
    """Stores batches in a thread of its own, with its own event loop and its own connections.

    `put` may be called from any thread and waits while the backlog is full: a slow database slows the race.
    While the database is away the backlog is kept and the write is tried again, with pauses of up to a second.
    It does not matter whether a commit whose answer got lost had happened: rows that are there are not repeated.
    """

    def __init__(self, url: str, *, capacity_rows: int = 100_000, owner: str | None = None) -> None:
        self._url = url
        self._owner = owner
        self._prepare(capacity_rows)
        self._lock = threading.Lock()
        self._waiting_since_s: float | None = None
        self._health = WriterHealth(
            state="ok",
            backlog_rows=0,
            capacity_rows=capacity_rows,
            written_rows=0,
            repeated_rows=0,
            down_since=None,
            last_error=None,
            last_write_s=None,
        )

    def _prepare(self, capacity_rows: int) -> None:
        self._backlog = Backlog(capacity_rows)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)

    def start(self) -> None:
        """Start the thread; harmless when it runs."""
        if not self._thread.is_alive():
            self._thread.start()

    def put(self, batch: RowBatch, timeout_s: float | None = None) -> None:
        """Hand over a batch, waiting for room; raises `StorageError` once closed or after a row that failed."""
        self._backlog.put(batch, timeout_s)

    def flush(self, timeout_s: float = 10.0) -> bool:
        """Wait until everything handed over is stored; say whether that came true in time."""
        return self._backlog.wait_empty(timeout_s)

    def renew(self) -> bool:
        """After a row that failed, forget it with all behind it and take rows again; say whether that was so.

        Whoever calls this must not hand over later rows of the same run: they would leave a gap.
        """
        if self.health().state != "failed":
            return False
        self._thread.join()
        self._prepare(self._backlog.capacity_rows)
        self._change(state="ok", last_error=None, down_since=None)
        self.start()
        return True

    def health(self) -> WriterHealth:
        """Say how the writer is."""
        with self._lock:
            known, since_s = self._health, self._waiting_since_s
        silence_s = 0.0 if since_s is None else time.monotonic() - since_s
        if known.state == "ok" and silence_s > _SILENCE_S:  # it hangs; the driver gives up much later
            sentence = f"The database has not answered for {silence_s:.1f} s."
            known = replace(known, state="down", down_since=time.time() - silence_s, last_error=sentence)
        return replace(known, backlog_rows=self._backlog.rows)

    def close(self, timeout_s: float = 10.0) -> bool:
        """Store what is left, for at most `timeout_s`, and end; say whether everything is stored."""
        self._backlog.close("The writer is closed.")
        whole = self._backlog.wait_empty(timeout_s) if self._thread.is_alive() else self._backlog.rows == 0
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s + _OPEN_TIMEOUT_S)
        return whole

    def _run(self) -> None:
        loop = asyncio.new_event_loop()
        try:
            self._work(loop)
        except StorageError as problem:
            self._fail(str(problem))
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - see below
            # A row may hold what no driver foresees; were the thread just gone, nobody would hear that nothing is kept.
            _log.exception("storing was halted")
            self._fail(f"Storing was halted by {type(error).__name__}: {short_reason(error).rstrip('.')}.")
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
            self._change(state="failed" if self.health().state == "failed" else "closed")

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        """Write batch after batch; the loop runs only while there is something to write."""
        link = _Link(self._url, self._owner)
        try:
            while not self._stopping.is_set():
                batches = self._backlog.take(_ROWS_PER_TRANSACTION, _IDLE_CHECK_S)
                if batches:
                    self._store(loop, link, batches)
                elif self._backlog.is_closed:
                    self._stopping.wait(_FIRST_PAUSE_S)
                else:
                    self._watch(loop, link)
        finally:
            loop.run_until_complete(link.close())

    def _store(self, loop: asyncio.AbstractEventLoop, link: _Link, batches: Sequence[RowBatch]) -> None:
        """Try until it is stored or the writer must end; anything but an absent database is raised."""
        batch, pause_s = RowBatch.merge(batches), _FIRST_PAUSE_S
        while not self._stopping.is_set():
            begin_s = self._waiting_since_s = time.monotonic()
            try:
                report = loop.run_until_complete(link.write(batch))
            except StoreUnavailableError as problem:
                self._mark_down(str(problem))
                self._stopping.wait(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                self._mark_written(report, time.monotonic() - begin_s)
                self._backlog.stored(sum(map(len, batches)))
                return

    def _watch(self, loop: asyncio.AbstractEventLoop, link: _Link) -> None:
        """With nothing to write, look whether the database is there: health tells the truth while idle, too."""
        self._waiting_since_s = time.monotonic()
        problem = loop.run_until_complete(link.problem())
        self._waiting_since_s = None
        if problem is None:
            self._change(state="ok", down_since=None)
        else:
            self._mark_down(problem)

    def _fail(self, sentence: str) -> None:
        """End without taking anything more, and let everybody who hands over rows know why."""
        self._waiting_since_s = None
        self._change(state="failed", last_error=sentence)
        self._backlog.give_up(sentence)
        self._stopping.set()

    def _mark_down(self, sentence: str) -> None:
        with self._lock:
            self._waiting_since_s = None
            since = self._health.down_since or time.time()
            self._health = replace(self._health, state="down", down_since=since, last_error=sentence)

    def _mark_written(self, report: WriteReport, seconds: float) -> None:
        with self._lock:
            self._waiting_since_s = None
            old = self._health
            self._health = replace(
                old,
                state="ok",
                down_since=None,
                written_rows=old.written_rows + report.inserted,
                repeated_rows=old.repeated_rows + report.repeated,
                last_write_s=seconds,
                differences=(*old.differences, *report.differences)[:_KEPT_DIFFERENCES],
            )

    def _change(self, **changes: object) -> None:
        with self._lock:
            self._health = replace(self._health, **changes)  # type: ignore[arg-type]


class _Link:
    """The writer's connection to the database, made when needed and made anew after an outage."""

    def __init__(self, url: str, owner: str | None = None) -> None:
        self._url = url
        self._owner = owner
        self._store: Store | None = None

    async def write(self, batch: RowBatch) -> WriteReport:
        store = await self._opened()
        try:
            return await write_batch(store, batch)
        except StorageError:
            await self.close()
            raise

    async def problem(self) -> str | None:
        try:
            store = await self._opened()
        except StorageError as problem:
            return str(problem)
        health = await ping(store)
        if not health.ok:
            await self.close()
        return None if health.ok else health.sentence

    async def _opened(self) -> Store:
        if self._store is None:
            self._store = await open_store(
                self._url, timeout_s=_OPEN_TIMEOUT_S, command_timeout_s=_COMMAND_TIMEOUT_S, owner=self._owner
            )
        return self._store

    async def close(self) -> None:
        if self._store is not None:
            store, self._store = self._store, None
            await store.close()
