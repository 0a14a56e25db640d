"""The application: settings and services in, FastAPI out."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from hybrid_ml_scheduler import __version__
from hybrid_ml_scheduler.api import socket
from hybrid_ml_scheduler.api.errors import install_error_handlers
from hybrid_ml_scheduler.api.middleware import BodyLimit, RateLimit, RequestLog, SecurityHeaders
from hybrid_ml_scheduler.api.routes import ROUTERS
from hybrid_ml_scheduler.api.schema import install_openapi
from hybrid_ml_scheduler.api.services import Services, open_services
from hybrid_ml_scheduler.api.static_files import install_dashboard
from hybrid_ml_scheduler.api.telemetry import Telemetry
from hybrid_ml_scheduler.settings import Settings
from hybrid_ml_scheduler.storage import open_cache

__all__ = ["create_app"]

_DESCRIPTION = (
    "The arena of placement strategies: steer the race, ask for decisions, read what was stored. "
    "The WebSocket `/ws` sends `ServerMessage` and takes `ClientMessage`."
)


def create_app(settings: Settings, services: Services | None = None) -> FastAPI:
    """Put the application together; services that are not given are opened when it starts."""
    telemetry = Telemetry() if services is None else services.telemetry
    address = settings.cache_url
    cache = open_cache(None if address is None else address.get_secret_value())

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if services is not None:
            app.state.services = services
            yield
            return
        async with open_services(settings, telemetry, cache) as opened:
            app.state.services = opened
            yield

    app = FastAPI(
        title="Hybrid ML Scheduler",
        version=__version__,
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.settings = settings
    install_error_handlers(app)
    # The last one added is the first to see a request.
    app.add_middleware(RateLimit, settings=settings, cache=cache)
    app.add_middleware(BodyLimit, settings=settings)
    app.add_middleware(
        CORSMiddleware,
        allow_origins=list(settings.origins),
        allow_methods=["GET", "POST", "PATCH", "DELETE"],
        allow_headers=["Content-Type", "X-API-Key"],
        expose_headers=["X-Request-ID", "Retry-After"],
    )
    app.add_middleware(SecurityHeaders)
    app.add_middleware(RequestLog, telemetry=telemetry)
    for router in (*ROUTERS, socket.router):
        app.include_router(router)
    install_dashboard(app)
    install_openapi(app)
    return app
