"""Opening the arena and the store together, and closing them in order: nothing that was decided is lost."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

from hybrid_ml_scheduler.core import HmsError
from hybrid_ml_scheduler.core.errors import StorageError
from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.live.records import Retraining
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.service.control.courses import RunDefaults, plan_for
from hybrid_ml_scheduler.service.control.keeper import StoreKeeper
from hybrid_ml_scheduler.service.control.recovery import LostRunError, recover
from hybrid_ml_scheduler.service.control.run_control import RunControl
from hybrid_ml_scheduler.service.logs import get_logger, going_on
from hybrid_ml_scheduler.service.uploads.folder import UploadFolder
from hybrid_ml_scheduler.service.viewers.latest_frame import LatestFrame
from hybrid_ml_scheduler.service.wire.simulation import StartRequest
from hybrid_ml_scheduler.storage import (
    Store,
    StoreUnavailableError,
    StoreWriter,
    apply_retention,
    latest_run,
    next_task_id,
    open_store,
    ownership,
)

__all__ = ["OpenedRun", "RunSetup", "open_run"]

_log = get_logger("hms.service")

_BACKLOG_ROWS = 100_000
_LAST_WRITE_S = 10.0
_RETENTION_EVERY_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSetup:
    """Where and how the arena runs."""

    database_url: str
    connect_timeout_s: float
    plan: Plan
    named_schedulers: tuple[str, ...]
    retraining: Retraining
    speed: float
    update_interval_s: float
    autostart: bool
    new_run: bool = False
    retention_tasks: int
    uploads: UploadFolder
    is_planned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRun:
    """An arena that runs and a store that is open."""

    arena: Arena
    store: Store
    writer: StoreWriter
    control: RunControl


@contextlib.asynccontextmanager
async def open_run(setup: RunSetup, latest_frame: LatestFrame) -> AsyncIterator[OpenedRun]:
    """Own the database and open everything on it; a second service is refused before it has touched anything."""
    mine = ownership(setup.database_url, timeout_s=setup.connect_timeout_s)
    async with mine as owner, _opened(setup, latest_frame, owner) as opened:
        yield opened


@contextlib.asynccontextmanager
async def _opened(setup: RunSetup, latest_frame: LatestFrame, owner: str) -> AsyncIterator[OpenedRun]:
    """Open the store, start the arena and bring the race back; at the end store everything and close.

    Each part is closed in its turn, the last one opened first, whatever happened while others were.
    """
    url, patience_s = setup.database_url, setup.connect_timeout_s
    async with contextlib.AsyncExitStack() as ends:
        store = await open_store(url, timeout_s=patience_s, owner=owner, files=setup.uploads.path.resolve())
        ends.push_async_callback(store.close)
        writer = StoreWriter(url, capacity_rows=_BACKLOG_ROWS, owner=owner)
        ends.push_async_callback(_end_writing, writer)
        writer.start()
        keeper = StoreKeeper(writer)
        arena = Arena(keeper, latest_frame, speed=setup.speed, frame_every_s=setup.update_interval_s)
        ends.push_async_callback(asyncio.to_thread, arena.close)
        arena.start()
        defaults = RunDefaults(plan=setup.plan, retraining=setup.retraining, speed=setup.speed)
        control = RunControl(defaults, arena, store, writer, setup.uploads)
        house = _keep_house(store, setup.retention_tasks)
        await ends.enter_async_context(going_on(house, control.note_completion()))
        await _come_back(setup, arena, control, store, keeper)
        yield OpenedRun(arena=arena, store=store, writer=writer, control=control)


async def _end_writing(writer: StoreWriter) -> None:
    if not await asyncio.to_thread(writer.close, _LAST_WRITE_S):
        _log.error("not everything could be stored; the run continues from its last checkpoint")


async def _come_back(setup: RunSetup, arena: Arena, control: RunControl, store: Store, keeper: StoreKeeper) -> None:
    """Bring back the newest run in the state it was in; begin one if there is none and that is wanted."""
    if setup.new_run or (setup.is_planned and not await _is_stored(setup, store)):
        await control.begin_anew("running" if setup.autostart else "stopped")
        return
    try:
        found = await recover(store, keeper, setup.uploads)
    except LostRunError as problem:
        cause = problem.__cause__
        _log.error(str(problem), exc_info=None if isinstance(cause, HmsError) else cause)
        control.named, sentence, ids = setup.named_schedulers, str(problem), await next_task_id(store)
        await asyncio.wrap_future(arena.ask(lambda: arena.stand(sentence, ids)))
        return
    if found is not None:
        control.plan, control.named = found.plan, setup.named_schedulers

        def enter() -> None:
            arena.pace.change(found.speed)
            arena.enter(found.race, found.state)

        await asyncio.wrap_future(arena.ask(enter))
        _log.info("run continued", run_id=found.race.run_id, state=found.state, replayed_tasks=found.replayed)
    elif setup.autostart:
        await control.start(StartRequest())


async def _is_stored(setup: RunSetup, store: Store) -> bool:
    """Whether the newest run is one of the plan that was given: then it is continued, also after a crash."""
    run = await latest_run(store)
    asked = plan_for(setup.plan, StartRequest(new_run=True), setup.uploads).to_mapping()
    return run is not None and json.dumps(run.plan, sort_keys=True) == json.dumps(asked, sort_keys=True)


async def _keep_house(store: Store, keep_tasks: int) -> None:
    """Remove the oldest tasks now and then, where a limit is set."""
    while keep_tasks:
        await asyncio.sleep(_RETENTION_EVERY_S)
        try:
            removed = await apply_retention(store, keep_tasks=keep_tasks)
            _log.info("retention", removed_tasks=removed, kept_tasks=keep_tasks)
        except StoreUnavailableError as problem:
            _log.warning("retention waits for the store", problem=str(problem))
        except StorageError as problem:
            _log.error("retention was refused and is tried again", problem=str(problem))
