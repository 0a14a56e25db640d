"""What has been stored, as wire messages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from hybrid_ml_scheduler import storage
from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.service.control.courses import stored_plan
from hybrid_ml_scheduler.service.explain.audits import REAL, Reasons, audit_of
from hybrid_ml_scheduler.service.ports import Download, StatsWindow
from hybrid_ml_scheduler.service.problems import NotFound
from hybrid_ml_scheduler.service.shelf import Shelf
from hybrid_ml_scheduler.service.views.statistics import stats_view
from hybrid_ml_scheduler.service.views.stored import (
    load_history,
    model_version,
    result_view,
    stored_notifications,
    stored_shift,
)
from hybrid_ml_scheduler.service.wire.history import (
    Collection,
    ComparativeTask,
    Events,
    Models,
    TrainingRecord,
    Trend,
)
from hybrid_ml_scheduler.service.wire.simulation import SimulationStatus
from hybrid_ml_scheduler.service.wire.statistics import Stats
from hybrid_ml_scheduler.service.wire.tasks import TaskAudit
from hybrid_ml_scheduler.storage import (
    Cache,
    EventRow,
    ExportFormat,
    ExportTable,
    HistoryCleared,
    LedgerPage,
    LedgerQuery,
    ModelRow,
    Store,
)

__all__ = ["RecordedRace", "StoredHistory"]

T = TypeVar("T")
R = TypeVar("R", EventRow, ModelRow)

_FRESH_S = 1.0
_USABLE_S = 3.0
_MOST_TASKS = 10_000
_MEDIA_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def _by(rows: Sequence[R], last_task: int | None) -> list[R]:
    """Return what had happened when a task arrived."""
    return [row for row in rows if last_task is None or row.boundary <= last_task]


async def _again(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield a piece that has been taken, then the others."""
    yield first
    async for piece in rest:
        yield piece


class RecordedRace(Protocol):
    """The race whose history this is, here or in another process."""

    def status(self) -> SimulationStatus:
        """Say where the race stands."""

    async def reasons(self, task: Task) -> Reasons:
        """Say why the strategies decided a task as they did."""

    async def clear(self, remove: Callable[[], Awaitable[T]]) -> T:
        """Have the stored rows removed and begin a new run."""


class StoredHistory:
    """Reads the store; keeps expensive answers in the cache for a second."""

    def __init__(self, store: Store, cache: Cache, race: RecordedRace) -> None:
        self._store = store
        self._shelf = Shelf(cache, fresh_s=_FRESH_S, usable_s=_USABLE_S)
        self._race = race

    async def full_history(self, limit: int) -> list[TrainingRecord]:
        """Return the latest training records, newest first."""
        return await storage.training_records(self._store, limit=limit)

    async def comparative(self, limit: int) -> list[ComparativeTask]:
        """Return the latest tasks with every strategy's result, newest first."""
        found = await storage.comparative_history(self._store, limit=limit)
        return [
            ComparativeTask(task=one.task, results={name: result_view(row) for name, row in one.results.items()})
            for one in found
        ]

    async def clear(self) -> HistoryCleared:
        """Remove every stored row and begin a new run."""
        return await self._race.clear(lambda: storage.clear_history(self._store))

    async def export(self, table: ExportTable, file_format: ExportFormat) -> Download:
        """Return a whole table as a file; the first piece is made here, so that a missing store is an error."""
        pieces = storage.export_bytes(self._store, format=file_format, table=table)
        chunks = _again(await anext(pieces), pieces)
        return Download(filename=f"{table}.{file_format}", media_type=_MEDIA_TYPES[file_format], chunks=chunks)

    async def ledger(self, query: LedgerQuery) -> LedgerPage:
        """Return a page of the ledger."""
        return await storage.ledger(self._store, query)

    async def audit(self, task_id: int) -> TaskAudit:
        """Return a task from every side."""
        found = await storage.task_history(self._store, task_id)
        if found is None:
            raise NotFound(f"There is no task {task_id} in the history.")
        run = await storage.get_run(self._store, found.task.run_id)
        if run is None:
            raise NotFound(f"The run of task {task_id} has been removed from the history.")
        task = storage.stored_task(found.task)
        reasons = REAL if run.state == storage.MEASURED else await self._race.reasons(task)
        return await audit_of(self._store, run, found, task, reasons)

    async def trend(self, points: int, run_id: int | None, latest: int | None, last_task: int | None = None) -> bytes:
        """Return the trend with its markers as JSON, in a race a second or two old."""
        wanted = self._race.status().run_id if run_id is None else run_id

        async def made() -> bytes:
            found = await storage.trend(self._store, points=points, run_id=wanted, latest=latest, last_task=last_task)
            shifts = await storage.event_history(self._store, kind="shift", run_id=wanted)
            models = await storage.model_history(self._store, run_id=wanted)
            whole = Trend(
                points=list(found.points),
                tasks_per_point=found.tasks_per_point,
                shifts=[stored_shift(row) for row in reversed(_by(shifts, last_task))],
                models=[model_version(row) for row in reversed(_by(models, last_task))],
                collection=await self._collection(),
            )
            return whole.model_dump_json().encode()

        return await self._shelf.get(f"trend:{points}:{latest}:{wanted}:{last_task}:{self._moment()}", made)

    async def load(self, scheduler: str, run_id: int | None, span_s: float, last_task: int | None = None) -> bytes:
        """Return how busy the devices of a strategy were as JSON, in a race a second or two old."""
        wanted = self._race.status().run_id if run_id is None else run_id

        async def made() -> bytes:
            run = None if wanted is None else await storage.get_run(self._store, wanted)
            found = await storage.device_load(
                self._store,
                scheduler=scheduler,
                run_id=wanted or 0,
                span_s=span_s,
                last_task=last_task,
                is_over=run is not None and run.state == storage.MEASURED,
                cpu_slots=1 if run is None else stored_plan(run.plan).node.cpu.slots,
            )
            shifts = await storage.event_history(self._store, kind="shift", run_id=wanted)
            return load_history(found, scheduler, wanted, _by(shifts, last_task)).model_dump_json().encode()

        return await self._shelf.get(f"load:{scheduler}:{span_s}:{wanted}:{last_task}:{self._moment()}", made)

    def _moment(self) -> str:
        """What kept answers are good for: in a race for a moment, otherwise until something happens."""
        status = self._race.status()
        return "running" if status.state == "running" else f"{status.tasks_total}.{status.backlog_rows}"

    async def _collection(self) -> Collection:
        counts = await storage.data_counts(self._store)
        return Collection(
            tasks=counts.tasks,
            results=counts.results,
            training_records=counts.training,
            runs=counts.runs,
            model_versions=counts.models,
            database="postgresql" if self._store.is_postgres else "sqlite",
            first_task_id=counts.first_task,
            last_task_id=counts.last_task,
        )

    async def models(self, limit: int, run_id: int | None) -> Models:
        """Return the retraining history."""
        total = await storage.model_count(self._store, run_id=run_id)
        rows = await storage.model_history(self._store, run_id=run_id, limit=limit)
        return Models(models=[model_version(row) for row in rows], total=total)

    async def events(self, limit: int, run_id: int | None) -> Events:
        """Return shifts and notifications."""
        shifts = await storage.event_history(self._store, kind="shift", run_id=run_id, limit=limit)
        notices = await storage.notification_history(self._store, run_id=run_id, limit=limit)
        models = await storage.model_history(self._store, run_id=run_id, limit=limit)
        return Events(
            shifts=[stored_shift(row) for row in shifts],
            notifications=stored_notifications(notices, shifts, models),
        )

    async def stats(
        self, window: StatsWindow, scheduler: str, run_id: int | None, last_task: int | None = None
    ) -> bytes:
        """Return the statistics over the latest tasks of a run, the present one unless asked, as JSON.

        Strategies of different runs met different tasks, so that nothing could be said about one against the other.
        """
        wanted = self._race.status().run_id if run_id is None else run_id

        async def made() -> bytes:
            return (await self._stats(window, scheduler, wanted, last_task)).model_dump_json().encode()

        return await self._shelf.get(f"stats:{window}:{scheduler}:{wanted}:{last_task}:{self._moment()}", made)

    async def _stats(self, window: StatsWindow, scheduler: str, run_id: int | None, last_task: int | None) -> Stats:
        most = window if isinstance(window, int) else _MOST_TASKS
        shifts = await storage.event_history(self._store, kind="shift", run_id=run_id) if window == "shift" else ()
        shifts = _by(shifts, last_task)
        run = None if run_id is None else await storage.get_run(self._store, run_id)
        own = 0 if run is None else run.first_task or 0
        begin = shifts[0].boundary if shifts else own
        if run is not None:  # what is not finished by all that keep up is not compared
            last_task = (await storage.compared_tasks(self._store, run.run_id, last_task)).up_to
        found = await storage.statistics(
            self._store, window=most, scheduler=scheduler, run_id=run_id, first_task=begin, last_task=last_task
        )
        if isinstance(window, int) and found.first_task is not None:
            return stats_view(found, most, "latest", found.first_task)
        return stats_view(found, most, "shift" if shifts else "run", begin)
