"""Steering the race."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Path, Query

from hybrid_ml_scheduler.api.dependencies import ArchiveDep, CatalogDep, RaceDep, ScreenDep, require_api_key
from hybrid_ml_scheduler.live.frames import Window
from hybrid_ml_scheduler.live.windows import WindowName
from hybrid_ml_scheduler.service.problems import problem_responses
from hybrid_ml_scheduler.service.viewers.screen import DEFAULT_FOCUS
from hybrid_ml_scheduler.service.views.live import standings_view
from hybrid_ml_scheduler.service.wire.common import StrategyName
from hybrid_ml_scheduler.service.wire.history import ModelVersion
from hybrid_ml_scheduler.service.wire.simulation import NewRunLoad, SimulationPatch, SimulationStatus, StartRequest
from hybrid_ml_scheduler.service.wire.tasks import NewTask, TaskAdvice, TaskAudit

__all__ = ["router", "task_router"]

router = APIRouter(prefix="/api", tags=["simulation"])

_CHANGING: dict[str, Any] = {
    "dependencies": [Depends(require_api_key)],
    "responses": problem_responses(401, 403, 409, 503),
}


@router.post("/simulation/start", **_CHANGING)
async def start(
    race: RaceDep, catalog: CatalogDep, request: Annotated[StartRequest | None, Body()] = None
) -> SimulationStatus:
    """Start the race, or continue it after a stop; `new_run` begins a new one. Repeating it changes nothing."""
    return await race.start(_named(request or StartRequest(), catalog))


@router.post("/simulation/preview", responses=problem_responses(409))
async def preview(race: RaceDep, catalog: CatalogDep, request: StartRequest) -> NewRunLoad:
    """Say how much work a new run would bring its node, and how fast; nothing is begun or changed."""
    return await race.preview(_named(request, catalog))


def _named(request: StartRequest, catalog: CatalogDep) -> StartRequest:
    if request.schedulers is None:
        return request
    return request.model_copy(update={"schedulers": catalog.plan_names(request.schedulers)})


@router.post("/simulation/stop", **_CHANGING)
async def stop(race: RaceDep) -> SimulationStatus:
    """Stop the race; nothing is lost and a later start continues it. Repeating it changes nothing."""
    return await race.stop()


@router.post("/simulation/pause", **_CHANGING)
async def pause(race: RaceDep) -> SimulationStatus:
    """Hold the race where it is. Repeating it changes nothing."""
    return await race.pause()


@router.post("/simulation/resume", **_CHANGING)
async def resume(race: RaceDep) -> SimulationStatus:
    """Go on after a pause. Repeating it changes nothing."""
    return await race.resume()


@router.patch("/simulation", **_CHANGING)
async def change(race: RaceDep, patch: SimulationPatch) -> SimulationStatus:
    """Change speed, arrival rate or workload while running."""
    return await race.change(patch)


@router.post("/models/{scheduler}/rollback", **_CHANGING)
async def roll_back(race: RaceDep, scheduler: StrategyName) -> ModelVersion:
    """Let the model decide again that decided before the present one; for strategies whose models are judged."""
    return await race.call_back(scheduler)


@router.get("/simulation/status", responses=problem_responses())
async def status(race: RaceDep) -> SimulationStatus:
    """Say where the race stands."""
    return race.status()


_WINDOW = "`run`, `latest` (1,000 tasks), or `shift`: since the last shift, or the whole run where there was none."


@router.get("/standings", responses=problem_responses())
async def standings(screen: ScreenDep, window: Annotated[WindowName, Query(description=_WINDOW)] = "run") -> Window:
    """Return every strategy's figures over one window of the present run, as viewers see them."""
    return standings_view(screen.update(DEFAULT_FOCUS), window)


@router.post("/pause", **_CHANGING)
async def pause_short(race: RaceDep) -> SimulationStatus:
    """Short form of `/api/simulation/pause`."""
    return await race.pause()


@router.post("/resume", **_CHANGING)
async def resume_short(race: RaceDep) -> SimulationStatus:
    """Short form of `/api/simulation/resume`."""
    return await race.resume()


@router.get("/status", responses=problem_responses())
async def status_short(race: RaceDep) -> SimulationStatus:
    """Short form of `/api/simulation/status`."""
    return race.status()


task_router = APIRouter(prefix="/api/tasks", tags=["tasks"])


@task_router.post("", dependencies=[Depends(require_api_key)], responses=problem_responses(401, 403, 409, 503))
async def advise(
    race: RaceDep,
    task: NewTask,
    run: Annotated[bool, Query(description="Also put the task into the race.")] = False,
) -> TaskAdvice:
    """Ask every strategy where this task should go; each answers with its reason and its prediction."""
    return await race.advise(task, run)


@task_router.get("/{task_id}", responses=problem_responses(404, 503))
async def audit(archive: ArchiveDep, task_id: Annotated[int, Path(ge=-(2**63), le=2**63 - 1)]) -> TaskAudit:
    """Show one task: every strategy's choice, reason and cost, the oracle's choice and a Gantt strip."""
    return await archive.audit(task_id)
