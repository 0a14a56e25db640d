"""Coming back after a stop or a crash: the last checkpoint, then the stored events, up to the last stored row."""

from __future__ import annotations

import asyncio
import pickle
from dataclasses import dataclass
from typing import cast

from hybrid_ml_scheduler.core import HmsError
from hybrid_ml_scheduler.core.errors import InternalError
from hybrid_ml_scheduler.live.checkpoints import unpack_state
from hybrid_ml_scheduler.live.frames import RaceState
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Course, RaceEvent, Retraining
from hybrid_ml_scheduler.live.replay import replay
from hybrid_ml_scheduler.live.sinks import Keeper
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.service.control.branching import branch_race, lineage_of, stored_event
from hybrid_ml_scheduler.service.control.courses import course_of, stored_plan
from hybrid_ml_scheduler.service.uploads.folder import UploadFolder
from hybrid_ml_scheduler.storage import (
    CheckpointRow,
    RunRecord,
    Store,
    StoreUnavailableError,
    events_since,
    latest_checkpoint,
    latest_run,
    next_task_id,
)

__all__ = ["LostRunError", "Recovered", "recover"]


# What a stored state of another shape leads to.
_BROKEN = (AttributeError, EOFError, ImportError, InternalError, LookupError, TypeError, ValueError, pickle.PickleError)


class LostRunError(HmsError):
    """A stored run that cannot be brought back; what is stored of it stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovered:
    """A race that stands where it stood, and how it was being run."""

    race: Race
    plan: Plan
    state: RaceState
    speed: float
    replayed: int


async def recover(store: Store, keeper: Keeper, uploads: UploadFolder) -> Recovered | None:
    """Bring the newest run back; None when there has never been one, `LostRunError` when it cannot be continued."""
    run = await latest_run(store)
    if run is None:
        return None
    checkpoint = await latest_checkpoint(store, run.run_id)
    begin = 0 if checkpoint is None else checkpoint.boundary
    rows, until = await events_since(store, run.run_id, begin), await next_task_id(store)
    try:
        course = await asyncio.to_thread(_course, run, uploads)
        race = await _begun(store, run, course, checkpoint)
        return await asyncio.to_thread(_continued, run, race, [stored_event(row) for row in rows], until, keeper)
    except StoreUnavailableError:
        raise
    except HmsError as problem:
        raise LostRunError(f"Run {run.run_id} cannot be continued: {problem}") from problem
    except _BROKEN as problem:
        reason = f"{type(problem).__name__}: {problem}"
        raise LostRunError(f"Run {run.run_id} cannot be continued: {reason}.") from problem


def _course(run: RunRecord, uploads: UploadFolder) -> Course:
    retraining: Retraining = run.controls["retraining"]
    return course_of(stored_plan(run.plan), retraining, uploads)


async def _begun(store: Store, run: RunRecord, course: Course, checkpoint: CheckpointRow | None) -> Race:
    """Return the race at its checkpoint, or at its beginning; that of a branch is in the run that it left."""
    first, left = int(run.controls["first_task_id"]), run.controls.get("branch")
    if checkpoint is None and left is not None:
        lineage = await lineage_of(store, left["run_id"], left["task_id"])
        return await branch_race(store, lineage, course, run_id=run.run_id, first_task_id=first)
    return await asyncio.to_thread(_restored, course, run.run_id, first, checkpoint)


def _restored(course: Course, run_id: int, first_task_id: int, checkpoint: CheckpointRow | None) -> Race:
    race = Race(course, run_id=run_id, first_task_id=first_task_id)
    if checkpoint is not None:
        race.restore(unpack_state(checkpoint.blob))
    return race


def _continued(run: RunRecord, race: Race, events: list[RaceEvent], until: int, keeper: Keeper) -> Recovered:
    begin = race.next_task_id
    replay(race, events, until, keeper.keep)
    return Recovered(
        race=race,
        plan=stored_plan(run.plan),
        state=_state(run, race),
        speed=float(run.controls["speed"]),
        replayed=race.next_task_id - begin,
    )


def _state(run: RunRecord, race: Race) -> RaceState:
    """The state it was in; one that was noted as complete before its last rows were stored has some way to go."""
    return "running" if run.state == "complete" and not race.is_complete else cast("RaceState", run.state)
