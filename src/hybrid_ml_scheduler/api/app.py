"""The application: settings and services in, FastAPI out."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from hybrid_ml_scheduler import __version__
from hybrid_ml_scheduler.api.routes import ROUTERS
from hybrid_ml_scheduler.api.schema import install_openapi
from hybrid_ml_scheduler.settings import Settings

__all__ = ["create_app"]


def create_app(settings: Settings, services: Any = None) -> FastAPI:
    """Put the application together."""
    app = FastAPI(
        title="Hybrid ML Scheduler",
        version=__version__,
        description="The arena of placement strategies: steer the race, ask for decisions, read what was stored. "
        "The WebSocket `/ws` sends `ServerMessage` and takes `ClientMessage`.",
    )
    app.state.settings = settings
    app.state.services = services
    for router in ROUTERS:
        app.include_router(router)
    install_openapi(app)
    return app
