"""How strategies learn: who adapted to a change of the workload or of the truth."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from hybrid_ml_scheduler.api.dependencies import LearningDep
from hybrid_ml_scheduler.service.problems import problem_responses
from hybrid_ml_scheduler.service.wire.common import StrategyName
from hybrid_ml_scheduler.service.wire.learning import Adaptation, Beliefs

__all__ = ["router"]

router = APIRouter(prefix="/api/learning", tags=["learning"], responses=problem_responses(404, 503))

RunId = Annotated[int | None, Query(ge=0, le=2**63 - 1, description="The present run where it is left out.")]


@router.get("/adaptation", response_model=Adaptation)
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


@router.get("/beliefs")
async def beliefs(learning: LearningDep, scheduler: StrategyName = "hybrid_ml", run_id: RunId = None) -> Beliefs:
    """Return what a strategy believed of durations against what happened, by kind of work and type of device."""
    return await learning.beliefs(scheduler, run_id)
