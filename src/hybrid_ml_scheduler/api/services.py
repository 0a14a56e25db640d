"""Everything the application needs, opened together and closed in order."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from hybrid_ml_scheduler.api.archive_desk import ArchiveDesk
from hybrid_ml_scheduler.api.board import Board
from hybrid_ml_scheduler.api.catalog_desk import CatalogDesk
from hybrid_ml_scheduler.api.keeper import StoreKeeper
from hybrid_ml_scheduler.api.logs import get_logger
from hybrid_ml_scheduler.api.ports import Archive, Catalog, Race
from hybrid_ml_scheduler.api.race_desk import RaceDesk
from hybrid_ml_scheduler.api.recovery import recover
from hybrid_ml_scheduler.api.telemetry import Telemetry
from hybrid_ml_scheduler.api.wire.simulation import StartRequest
from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.settings import Settings
from hybrid_ml_scheduler.storage import (
    Cache,
    Store,
    StoreUnavailableError,
    StoreWriter,
    apply_retention,
    open_store,
    upgrade,
)

__all__ = ["Services", "open_services"]

_log = get_logger("hms.service")

_BACKLOG_ROWS = 100_000
_LAST_WRITE_S = 10.0
_RETENTION_EVERY_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What routes and the socket may use."""

    race: Race
    archive: Archive
    catalog: Catalog
    hub: Hub
    board: Board
    telemetry: Telemetry


@contextlib.asynccontextmanager
async def open_services(settings: Settings, telemetry: Telemetry, cache: Cache) -> AsyncIterator[Services]:
    """Open the store, bring the race back and start the arena; at the end store everything and close."""
    url, patience_s = settings.database.get_secret_value(), settings.connect_timeout_s
    await upgrade(url, timeout_s=patience_s)
    store = await open_store(url, timeout_s=patience_s)
    writer = StoreWriter(url, capacity_rows=_BACKLOG_ROWS)
    writer.start()
    hub = Hub(settings.max_viewers)
    board = Board(hub)
    keeper = StoreKeeper(writer)
    arena = Arena(keeper, board, speed=settings.speed, frame_every_s=settings.update_interval_s)
    desk = RaceDesk(settings, arena, store, writer)
    housework = asyncio.create_task(_keep_house(store, settings.retention_tasks))
    try:
        arena.start()
        await _come_back(settings, arena, desk, store, keeper)
        telemetry.watch(arena, hub, writer, lambda: board.frame)
        yield Services(
            race=desk,
            archive=ArchiveDesk(store, cache, arena, desk),
            catalog=CatalogDesk(settings, arena, desk, store, cache, writer, telemetry),
            hub=hub,
            board=board,
            telemetry=telemetry,
        )
    finally:
        housework.cancel()
        await asyncio.gather(housework, return_exceptions=True)
        await asyncio.to_thread(arena.close)
        if not await asyncio.to_thread(writer.close, _LAST_WRITE_S):
            _log.error("not everything could be stored; the run continues from its last checkpoint")
        await cache.close()
        await store.close()


async def _come_back(settings: Settings, arena: Arena, desk: RaceDesk, store: Store, keeper: StoreKeeper) -> None:
    """Bring back the newest run in the state it was in; begin one if the environment asks for it."""
    found = await recover(store, keeper)
    if found is not None:
        desk.plan, desk.retraining = found.plan, found.retraining

        def enter() -> None:
            arena.pace.speed = found.speed
            arena.enter(found.race, found.state)

        await asyncio.wrap_future(arena.ask(enter))
        _log.info("run continued", run_id=found.race.run_id, state=found.state, replayed_tasks=found.replayed)
    elif settings.autostart:
        await desk.start(StartRequest())


async def _keep_house(store: Store, keep_tasks: int) -> None:
    """Remove the oldest tasks now and then, where a limit is set."""
    while keep_tasks:
        await asyncio.sleep(_RETENTION_EVERY_S)
        try:
            removed = await apply_retention(store, keep_tasks=keep_tasks)
            _log.info("retention", removed_tasks=removed, kept_tasks=keep_tasks)
        except StoreUnavailableError as problem:
            _log.warning("retention waits for the store", problem=str(problem))
