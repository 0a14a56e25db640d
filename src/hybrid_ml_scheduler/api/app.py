"""The application: settings and services in, FastAPI out."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

from fastapi import FastAPI
from starlette.types import ASGIApp

from hybrid_ml_scheduler import __version__
from hybrid_ml_scheduler.api import socket
from hybrid_ml_scheduler.api.dependencies import Services
from hybrid_ml_scheduler.api.errors import install_error_handlers
from hybrid_ml_scheduler.api.middleware import BodyLimit, HeadAsGet, RateLimit, RequestLog, SecurityHeaders
from hybrid_ml_scheduler.api.origins import OriginLimit, Sharing
from hybrid_ml_scheduler.api.routes import ROUTERS
from hybrid_ml_scheduler.api.routes.uploads import UPLOADS_PATH
from hybrid_ml_scheduler.api.schema import install_openapi
from hybrid_ml_scheduler.api.static_files import install_dashboard
from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice
from hybrid_ml_scheduler.schedulers import find
from hybrid_ml_scheduler.service.archive import StoredHistory
from hybrid_ml_scheduler.service.catalog import LiveCatalog
from hybrid_ml_scheduler.service.control.opening import RunSetup, open_run
from hybrid_ml_scheduler.service.control.strategy_choices import StrategyChoices
from hybrid_ml_scheduler.service.devices import DeviceHistory
from hybrid_ml_scheduler.service.followed_catalog import FollowedCatalog
from hybrid_ml_scheduler.service.following import FollowedRace, follow
from hybrid_ml_scheduler.service.learning_history import LearningHistory
from hybrid_ml_scheduler.service.logs import going_on
from hybrid_ml_scheduler.service.recommendations.recommendations import Recommendations
from hybrid_ml_scheduler.service.stored_runs import StoredRuns
from hybrid_ml_scheduler.service.telemetry import Telemetry
from hybrid_ml_scheduler.service.uploads.folder import UploadFolder
from hybrid_ml_scheduler.service.uploads.planned import kept_plan
from hybrid_ml_scheduler.service.uploads.uploads import Uploads
from hybrid_ml_scheduler.service.viewers.latest_frame import LatestFrame
from hybrid_ml_scheduler.service.viewers.mirror import Mirror, hand_out, relay_updates
from hybrid_ml_scheduler.service.wire.catalog import About
from hybrid_ml_scheduler.settings import Settings
from hybrid_ml_scheduler.storage import Cache, Store, identity, open_cache, open_store
from hybrid_ml_scheduler.workload import preset

__all__ = ["create_app", "usual_plan"]

_NAME = "Hybrid ML Scheduler"
_DESCRIPTION = (
    "The arena of placement strategies: steer the race, ask for decisions, read what was stored. "
    "The WebSocket `/ws` sends `ServerMessage` and takes `ClientMessage`."
)


def create_app(
    settings: Settings, services: Services | None = None, *, new_run: bool = False, plan: Plan | None = None
) -> FastAPI:
    """Put the application together; services that are not given are opened when it starts.

    With `new_run` a new run is begun then, and the stored one is not looked at. With a `plan` it is a run of this plan,
    continued where the stored one is of the same plan.
    """
    telemetry = Telemetry() if services is None else services.telemetry
    address = settings.cache_url
    cache = open_cache(None if address is None else address.get_secret_value())

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(cache.close)
            opened = services or await stack.enter_async_context(
                _followed(settings, telemetry, cache)
                if settings.follow
                else _raced(settings, telemetry, cache, new_run=new_run, plan=plan)
            )
            app.state.services = opened
            yield

    app = FastAPI(
        title=_NAME, version=__version__, description=_DESCRIPTION, lifespan=lifespan, docs_url=None, redoc_url=None
    )
    app.state.required_api_key = settings.required_api_key
    install_error_handlers(app)
    _install_middleware(app, settings, telemetry, cache)
    for router in (*ROUTERS, socket.router):
        app.include_router(router)
    install_dashboard(app)
    install_openapi(app)
    return app


def _install_middleware(app: FastAPI, settings: Settings, telemetry: Telemetry, cache: Cache) -> None:
    """The last one added is the first to see a request."""
    app.add_middleware(RateLimit, rate=settings.rate, cache=cache)
    sending = {UPLOADS_PATH: settings.max_upload_bytes}
    app.add_middleware(BodyLimit, limit_bytes=settings.max_body_bytes, larger=sending, key=settings.required_api_key)
    app.add_middleware(OriginLimit, origins=settings.origins, needs_key=settings.required_api_key is not None)
    app.add_middleware(HeadAsGet)
    inner = app.build_middleware_stack

    def stack() -> ASGIApp:
        # Around the answer to unexpected errors too, so that it has its id and its headers like any other.
        return RequestLog(SecurityHeaders(Sharing(inner(), origins=settings.origins)), telemetry=telemetry)

    app.build_middleware_stack = stack  # type: ignore[method-assign]


@contextlib.asynccontextmanager
async def _raced(
    settings: Settings, telemetry: Telemetry, cache: Cache, *, new_run: bool = False, plan: Plan | None = None
) -> AsyncIterator[Services]:
    """Open everything behind the routes, the race included."""
    hub = Hub(settings.max_viewers)
    latest_frame = LatestFrame(hub)
    async with open_run(_setup(settings, new_run, plan), latest_frame) as opened:
        arena, control, store, writer = opened.arena, opened.control, opened.store, opened.writer
        cache.belong_to(await identity(store))
        choices = StrategyChoices(settings.schedulers)
        catalog = LiveCatalog(_about(settings), choices, arena, control, store, cache, writer, telemetry)
        telemetry.watch(control, hub, latest_frame)
        telemetry.watch_engine(arena, writer)
        relaying = going_on(relay_updates(hub, latest_frame, cache), hand_out(latest_frame, catalog, cache))
        async with relaying, _recommended(settings) as recommendations:
            yield Services(
                race=control,
                archive=StoredHistory(store, cache, control),
                runs=StoredRuns(store, control),
                devices=DeviceHistory(store, cache, control),
                learning=LearningHistory(store, cache, control, arena),
                uploads=_uploads(settings, store),
                recommendations=recommendations,
                catalog=catalog,
                hub=hub,
                screen=latest_frame,
                telemetry=telemetry,
                origins=frozenset(settings.origins),
            )


@contextlib.asynccontextmanager
async def _followed(settings: Settings, telemetry: Telemetry, cache: Cache) -> AsyncIterator[Services]:
    """Open everything behind the routes where another service runs the race."""
    hub = Hub(settings.max_viewers)
    mirror = Mirror(hub)
    race = FollowedRace(mirror)
    store = await open_store(
        settings.database.get_secret_value(),
        timeout_s=settings.connect_timeout_s,
        files=settings.uploads_dir.resolve(),
    )
    try:
        cache.belong_to(await identity(store))
        telemetry.watch(race, hub, mirror)
        async with going_on(follow(mirror, cache)), _recommended(settings) as recommendations:
            yield Services(
                race=race,
                archive=StoredHistory(store, cache, race),
                runs=StoredRuns(store, race, is_followed=True),
                devices=DeviceHistory(store, cache, race),
                learning=LearningHistory(store, cache, race),
                uploads=_uploads(settings, store),
                recommendations=recommendations,
                catalog=FollowedCatalog(_about(settings), mirror, store, cache, telemetry),
                hub=hub,
                screen=mirror,
                telemetry=telemetry,
                origins=frozenset(settings.origins),
            )
    finally:
        await store.close()


def _setup(settings: Settings, new_run: bool, planned: Plan | None = None) -> RunSetup:
    """Gather what the arena needs; a preset or strategy that does not exist is refused here, not at the first start."""
    preset(settings.workload)
    for spec in settings.schedulers:
        find(spec)
    uploads = UploadFolder(settings.uploads_dir)
    plan = usual_plan(settings)
    if planned is not None:
        named = settings.named_schedulers or planned.schedulers or settings.schedulers
        plan = replace(kept_plan(planned, uploads), schedulers=named)
    return RunSetup(
        database_url=settings.database.get_secret_value(),
        connect_timeout_s=settings.connect_timeout_s,
        plan=plan,
        named_schedulers=settings.named_schedulers,
        retraining=settings.retraining,
        speed=settings.speed,
        update_interval_s=settings.update_interval_s,
        autostart=settings.autostart,
        new_run=new_run,
        retention_tasks=settings.retention_tasks,
        uploads=uploads,
        is_planned=planned is not None,
    )


def usual_plan(settings: Settings) -> Plan:
    """The plan of a run that the environment asks for."""
    return Plan(
        seed=settings.seed,
        retrain_interval=settings.retrain_interval,
        workload=WorkloadChoice(source=settings.workload),
        node=Node.uniform(settings.num_gpus),
        knowledge=settings.knowledge,
        schedulers=settings.schedulers,
    )


def _uploads(settings: Settings, store: Store) -> Uploads:
    return Uploads(
        UploadFolder(settings.uploads_dir),
        store,
        most_bytes=settings.uploads_bytes,
        most_upload_bytes=settings.max_upload_bytes,
        is_followed=settings.follow,
    )


@contextlib.asynccontextmanager
async def _recommended(settings: Settings) -> AsyncIterator[Recommendations]:
    """Recommendations, and the end of a search with the service."""
    folder = settings.uploads_dir.with_suffix(".recommendations")
    made = Recommendations(folder, UploadFolder(settings.uploads_dir), is_followed=settings.follow)
    try:
        yield made
    finally:
        await made.close()


def _about(settings: Settings) -> About:
    return About(
        name=_NAME,
        version=__version__,
        environment=settings.environment,
        needs_api_key=settings.required_api_key is not None,
        follows=settings.follow,
        update_interval_s=settings.update_interval_s,
        num_gpus=settings.num_gpus,
        retrain_interval=settings.retrain_interval,
        default_speed=settings.speed,
        max_body_bytes=settings.max_body_bytes,
        max_message_bytes=settings.max_message_bytes,
        rate_limit=settings.rate_limit,
    )
