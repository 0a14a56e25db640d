"""Stored runs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Path, Query

from hybrid_ml_scheduler.api.dependencies import CatalogDep, RaceDep, RunsDep, require_api_key
from hybrid_ml_scheduler.api.routes.history import LastTask
from hybrid_ml_scheduler.service.problems import problem_responses
from hybrid_ml_scheduler.service.wire.common import StrategyName
from hybrid_ml_scheduler.service.wire.live import Snapshot
from hybrid_ml_scheduler.service.wire.measured import MeasuredEnd, MeasuredResults, MeasuredTasks, NewMeasuredRun
from hybrid_ml_scheduler.service.wire.runs import RunCard, RunComparison, RunList, RunPatch, RunRemoved
from hybrid_ml_scheduler.service.wire.simulation import BranchRequest, SimulationStatus
from hybrid_ml_scheduler.service.wire.what_if import Costliest, WhatIfAnswer

__all__ = ["router"]

router = APIRouter(prefix="/api/runs", tags=["runs"], responses=problem_responses(404, 503))

Id = Annotated[int, Path(ge=0, le=2**63 - 1)]
_CHANGING: dict[str, Any] = {
    "dependencies": [Depends(require_api_key)],
    "responses": problem_responses(401, 403, 404, 409, 503),
}


@router.get("", name="list_runs")
async def list_runs(
    runs: RunsDep,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[int | None, Query(ge=0, le=2**63 - 1, description="Runs older than this one.")] = None,
) -> RunList:
    """Return the stored runs, newest first, each with what its strategies add up to."""
    return await runs.page(limit, before)


@router.get("/compare")
async def compare(
    runs: RunsDep, run: Annotated[list[Annotated[int, Query(ge=0, le=2**63 - 1)]], Query(min_length=1, max_length=6)]
) -> RunComparison:
    """Return runs side by side (`?run=1&run=2`); where they met the same tasks, with intervals of the differences."""
    return await runs.compare(list(dict.fromkeys(run)))


@router.get("/{run_id}")
async def get_run(runs: RunsDep, run_id: Id) -> RunCard:
    """Return one run."""
    return await runs.get(run_id)


@router.get("/{run_id}/snapshot")
async def snapshot(runs: RunsDep, run_id: Id, task_id: LastTask = None) -> Snapshot:
    """Return the last that was shown of a run, or how it stood at a task, in the shape of the socket's first message.

    A moment of the past is made from the stored rows: what became of the tasks up to that one. What is not stored, as
    bounds and reasons, is left out.
    """
    return await runs.snapshot(run_id, task_id)


@router.get("/{run_id}/what_if", responses=problem_responses(404, 409, 503))
async def what_if(
    runs: RunsDep,
    run_id: Id,
    scheduler: StrategyName,
    task_id: Annotated[int, Query(ge=0, le=2**63 - 1, description="The task whose decision is changed.")],
) -> WhatIfAnswer:
    """Return what every other decision for a task would have done to it and to all tasks after it."""
    return await runs.what_if(run_id, scheduler, task_id)


@router.get("/{run_id}/costliest", responses=problem_responses(404, 409, 503))
async def costliest(
    runs: RunsDep,
    run_id: Id,
    scheduler: StrategyName,
    count: Annotated[int, Query(ge=1, le=100, description="How many decisions.")] = 10,
    looked_at: Annotated[int, Query(ge=1, le=500, description="Among so many tasks with the longest latency.")] = 50,
) -> Costliest:
    """Return the decisions that cost most in the latest part of a run: what the best alternative would have saved."""
    return await runs.costliest(run_id, scheduler, count, looked_at)


@router.post("/measured", status_code=201, **_CHANGING)
async def begin_measured(runs: RunsDep, new: NewMeasuredRun) -> RunCard:
    """Begin to take in a real run: what ran on real devices is stored, listed and compared like any run.

    `hms run --service` sends one. Its tasks follow, then the results of one strategy after the other.
    """
    return await runs.begin_measured(new)


@router.post("/{run_id}/measured_tasks", **_CHANGING)
async def add_measured_tasks(runs: RunsDep, run_id: Id, chunk: MeasuredTasks) -> RunCard:
    """Take in some tasks of a real run; the same ones may be sent again."""
    return await runs.add_measured_tasks(run_id, chunk)


@router.post("/{run_id}/measured_results", **_CHANGING)
async def add_measured_results(runs: RunsDep, run_id: Id, chunk: MeasuredResults) -> RunCard:
    """Take in what came of some tasks with one strategy, measured or modelled."""
    return await runs.add_measured_results(run_id, chunk)


@router.post("/{run_id}/measured_end", **_CHANGING)
async def end_measured(runs: RunsDep, run_id: Id, last: MeasuredEnd) -> RunCard:
    """End a real run that was followed while it ran, with its bound, meters and alarms."""
    return await runs.end_measured(run_id, last)


@router.post("/{run_id}/branch", **_CHANGING)
async def branch(
    race: RaceDep, catalog: CatalogDep, run_id: Id, request: Annotated[BranchRequest | None, Body()] = None
) -> SimulationStatus:
    """Begin a run that leaves a stored one at a task of it: the same tasks and shifts, with what is changed.

    Strategies that were in that run go on as they stood; others stand as if they had been in it from its beginning.
    """
    wanted = request or BranchRequest()
    if wanted.schedulers is not None:
        wanted = wanted.model_copy(update={"schedulers": catalog.plan_names(wanted.schedulers)})
    return await race.branch(run_id, wanted)


@router.patch("/{run_id}", **_CHANGING)
async def describe(runs: RunsDep, run_id: Id, patch: RunPatch) -> RunCard:
    """Give a run a name or a note."""
    return await runs.describe(run_id, patch)


@router.delete("/{run_id}", **_CHANGING)
async def remove(runs: RunsDep, run_id: Id) -> RunRemoved:
    """Remove a run with all its rows; what is removed cannot be brought back. The present run stays."""
    return await runs.remove(run_id)
