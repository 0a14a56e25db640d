"""What has been stored."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import StreamingResponse
from starlette.types import Send

from hybrid_ml_scheduler.api.dependencies import ArchiveDep, LearningDep, require_api_key
from hybrid_ml_scheduler.core.errors import StorageError
from hybrid_ml_scheduler.service.logs import get_logger
from hybrid_ml_scheduler.service.ports import StatsWindow
from hybrid_ml_scheduler.service.problems import problem_responses
from hybrid_ml_scheduler.service.wire.common import StrategyName
from hybrid_ml_scheduler.service.wire.history import (
    ComparativeTask,
    Events,
    LoadHistory,
    Models,
    TrainingRecord,
    Trend,
)
from hybrid_ml_scheduler.service.wire.learning import Adaptation, Beliefs
from hybrid_ml_scheduler.service.wire.statistics import Stats
from hybrid_ml_scheduler.storage import (
    ExportFormat,
    ExportTable,
    HistoryCleared,
    LedgerPage,
    LedgerQuery,
    LedgerSort,
    Order,
)

__all__ = ["DownloadResponse", "LastTask", "learning_router", "router"]

router = APIRouter(prefix="/api", tags=["history"], responses=problem_responses(503))

Limit = Annotated[int, Query(ge=1, le=10_000)]
Id = Annotated[int | None, Query(ge=0, le=2**63 - 1)]
# Tasks of real runs have ids below zero.
AnyTask = Annotated[int | None, Query(ge=-(2**63), le=2**63 - 1)]
LastTask = Annotated[
    int | None, Query(ge=0, le=2**63 - 1, description="As it was when this task had arrived; the latest if left out.")
]


@router.get("/full_history")
async def full_history(archive: ArchiveDep, limit: Limit = 1000) -> list[TrainingRecord]:
    """Return the latest training records, newest first."""
    return await archive.full_history(limit)


@router.get("/history/comparative")
async def comparative(archive: ArchiveDep, limit: Annotated[int, Query(ge=1, le=2000)] = 100) -> list[ComparativeTask]:
    """Return the latest tasks with every strategy's result, newest first."""
    return await archive.comparative(limit)


@router.delete(
    "/history",
    dependencies=[Depends(require_api_key)],
    responses=problem_responses(401, 403, 409, 503),
)
async def clear(archive: ArchiveDep) -> HistoryCleared:
    """Remove all stored rows and begin a new run; what is removed cannot be brought back."""
    return await archive.clear()


_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": {
            "text/csv": {"schema": {"type": "string"}},
            "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@router.get("/history/export", response_class=StreamingResponse, responses=_FILES | problem_responses(503))
async def export(
    archive: ArchiveDep,
    file_format: Annotated[ExportFormat, Query(alias="format")] = "csv",
    table: Annotated[ExportTable, Query()] = "history",
) -> StreamingResponse:
    """Download a whole table."""
    download = await archive.export(table, file_format)
    disposition = {"Content-Disposition": f'attachment; filename="{download.filename}"'}
    return DownloadResponse(download.chunks, media_type=download.media_type, headers=disposition)


async def _ledger_query(  # one parameter for each filter a person can set
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    offset: Annotated[int, Query(ge=0, le=100_000)] = 0,
    sort: LedgerSort = "task_id",
    order: Order = "desc",
    scheduler: StrategyName | None = None,
    device: Annotated[
        str | None, Query(pattern=r"^[a-z0-9_+]{1,32}$", description="`cpu`, `gpu_0`, `cpu+gpu_0`")
    ] = None,
    task_id: AnyTask = None,
    run_id: Id = None,
    first_task: Annotated[AnyTask, Query(description="This task and newer ones.")] = None,
    last_task: Annotated[AnyTask, Query(description="This task and older ones.")] = None,
    after: Annotated[str | None, Query(max_length=400, description="`next` of the page before.")] = None,
    before: Annotated[str | None, Query(max_length=400, description="`previous` of the page that follows.")] = None,
) -> LedgerQuery:
    return LedgerQuery(
        limit=limit,
        offset=offset,
        sort=sort,
        order=order,
        scheduler=scheduler,
        device=device,
        task_id=task_id,
        run_id=run_id,
        first_task=first_task,
        last_task=last_task,
        after=after,
        before=before,
    )


@router.get("/history/ledger")
async def ledger(archive: ArchiveDep, query: Annotated[LedgerQuery, Depends(_ledger_query)]) -> LedgerPage:
    """Return a page of decisions and outcomes, sorted and filtered."""
    return await archive.ledger(query)


@router.get("/history/trend", response_model=Trend)
async def trend(
    archive: ArchiveDep,
    points: Annotated[int, Query(ge=2, le=1000)] = 200,
    run_id: Id = None,
    latest: Annotated[int | None, Query(ge=2, le=5000, description="Only so many of the newest tasks.")] = None,
    last_task: LastTask = None,
) -> Response:
    """Return the trend of one run (the present one unless asked) over simulated time, with its markers."""
    return Response(await archive.trend(points, run_id, latest, last_task), media_type="application/json")


@router.get("/history/load", response_model=LoadHistory)
async def load(
    archive: ArchiveDep,
    scheduler: StrategyName = "hybrid_ml",
    run_id: Id = None,
    span_s: Annotated[float, Query(ge=1.0, le=3600.0, description="Simulated seconds before the newest arrival.")] = 60,
    last_task: LastTask = None,
) -> Response:
    """Return how busy each device of a strategy was, from the stored rows of one run (the present one unless asked)."""
    return Response(await archive.load(scheduler, run_id, span_s, last_task), media_type="application/json")


_WINDOW = (
    "How many of the run's latest tasks; or `shift` (since the last shift) or `run`, of which the latest 10,000 count."
)


@router.get("/stats", response_model=Stats)
async def stats(
    archive: ArchiveDep,
    window: Annotated[StatsWindow, Query(description=_WINDOW)] = 1000,
    scheduler: Annotated[StrategyName, Query(description="Whose outcomes are correlated.")] = "hybrid_ml",
    run_id: Id = None,
    last_task: LastTask = None,
) -> Response:
    """Return win/loss matrix, correlations, heat map, histogram and percentiles of one run (the present one)."""
    return Response(await archive.stats(window, scheduler, run_id, last_task), media_type="application/json")


@router.get("/models")
async def models(archive: ArchiveDep, limit: Limit = 200, run_id: Id = None) -> Models:
    """Return the retraining history of one run, or of all, newest first."""
    return await archive.models(limit, run_id)


@router.get("/events")
async def events(archive: ArchiveDep, limit: Limit = 200, run_id: Id = None) -> Events:
    """Return workload shifts and notifications of one run, or of all, newest first."""
    return await archive.events(limit, run_id)


_log = get_logger("hms.http")


class DownloadResponse(StreamingResponse):
    """Sends pieces as they come. If the store goes away meanwhile, the connection ends before the file does."""

    async def stream_response(self, send: Send) -> None:
        """Send everything; without its end the server breaks the connection, which is all that a client can be told."""
        try:
            await super().stream_response(send)
        except StorageError as problem:
            _log.error("a download was broken off", problem=str(problem))


learning_router = APIRouter(prefix="/api/learning", tags=["learning"], responses=problem_responses(404, 503))

RunId = Annotated[int | None, Query(ge=0, le=2**63 - 1, description="The present run where it is left out.")]


@learning_router.get("/adaptation", response_model=Adaptation)
async def adaptation(
    learning: LearningDep,
    change: Annotated[
        int | None, Query(ge=0, le=2**63 - 1, description="The first task of the change; the last one if left out.")
    ] = None,
    tasks: Annotated[int, Query(ge=40, le=10_000, description="At most so many tasks since the change.")] = 2000,
    run_id: RunId = None,
) -> Response:
    """Return a run around a change: what it cost each strategy, and how soon each was settled again."""
    return Response(await learning.adaptation(change, tasks, run_id), media_type="application/json")


@learning_router.get("/beliefs")
async def beliefs(learning: LearningDep, scheduler: StrategyName = "hybrid_ml", run_id: RunId = None) -> Beliefs:
    """Return what a strategy believed of durations against what happened, by kind of work and type of device."""
    return await learning.beliefs(scheduler, run_id)
