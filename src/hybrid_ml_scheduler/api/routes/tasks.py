"""Single tasks: asked about from outside, or looked at closely afterwards."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from hybrid_ml_scheduler.api.dependencies import ArchiveDep, RaceDep
from hybrid_ml_scheduler.api.security import require_api_key
from hybrid_ml_scheduler.service.problems import problem_responses
from hybrid_ml_scheduler.service.wire.tasks import NewTask, TaskAdvice, TaskAudit

__all__ = ["router"]

router = APIRouter(prefix="/api/tasks", tags=["tasks"])


@router.post("", dependencies=[Depends(require_api_key)], responses=problem_responses(401, 403, 409, 503))
async def advise(
    race: RaceDep,
    task: NewTask,
    run: Annotated[bool, Query(description="Also put the task into the race.")] = False,
) -> TaskAdvice:
    """Ask every strategy where this task should go; each answers with its reason and its prediction."""
    return await race.advise(task, run)


@router.get("/{task_id}", responses=problem_responses(404, 503))
async def audit(archive: ArchiveDep, task_id: Annotated[int, Path(ge=0, le=2**63 - 1)]) -> TaskAudit:
    """Show one task: every strategy's choice, reason and cost, the oracle's choice and a Gantt strip."""
    return await archive.audit(task_id)
