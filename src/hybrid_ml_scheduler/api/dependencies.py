"""Named dependencies of the routes; asynchronous, since others would be called in a thread and wait for their turn."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Request
from fastapi.security import APIKeyHeader
from starlette.requests import HTTPConnection

from hybrid_ml_scheduler.core.errors import HmsError
from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.service.devices import DeviceHistory
from hybrid_ml_scheduler.service.learning_history import LearningHistory
from hybrid_ml_scheduler.service.ports import Archive, Catalog, Race, Runs
from hybrid_ml_scheduler.service.recommendations.recommendations import Recommendations
from hybrid_ml_scheduler.service.telemetry import Telemetry
from hybrid_ml_scheduler.service.uploads.uploads import Uploads
from hybrid_ml_scheduler.service.viewers.screen import Screen

__all__ = [
    "ArchiveDep",
    "CatalogDep",
    "DevicesDep",
    "LearningDep",
    "RaceDep",
    "RecommendationsDep",
    "RunsDep",
    "ScreenDep",
    "Services",
    "Unauthorised",
    "UploadsDep",
    "require_api_key",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything behind the application, opened together and closed in order."""

    race: Race
    archive: Archive
    runs: Runs
    devices: DeviceHistory
    learning: LearningHistory
    uploads: Uploads
    recommendations: Recommendations
    catalog: Catalog
    hub: Hub
    screen: Screen
    telemetry: Telemetry
    origins: frozenset[str]


async def _race(connection: HTTPConnection) -> Race:
    return cast("Race", connection.app.state.services.race)


async def _archive(connection: HTTPConnection) -> Archive:
    return cast("Archive", connection.app.state.services.archive)


async def _runs(connection: HTTPConnection) -> Runs:
    return cast("Runs", connection.app.state.services.runs)


async def _devices(connection: HTTPConnection) -> DeviceHistory:
    return cast("DeviceHistory", connection.app.state.services.devices)


async def _learning(connection: HTTPConnection) -> LearningHistory:
    return cast("LearningHistory", connection.app.state.services.learning)


async def _uploads(connection: HTTPConnection) -> Uploads:
    return cast("Uploads", connection.app.state.services.uploads)


async def _recommendations(connection: HTTPConnection) -> Recommendations:
    return cast("Recommendations", connection.app.state.services.recommendations)


async def _catalog(connection: HTTPConnection) -> Catalog:
    return cast("Catalog", connection.app.state.services.catalog)


async def _screen(connection: HTTPConnection) -> Screen:
    return cast("Screen", connection.app.state.services.screen)


RaceDep = Annotated[Race, Depends(_race)]
ArchiveDep = Annotated[Archive, Depends(_archive)]
RunsDep = Annotated[Runs, Depends(_runs)]
DevicesDep = Annotated[DeviceHistory, Depends(_devices)]
LearningDep = Annotated[LearningHistory, Depends(_learning)]
UploadsDep = Annotated[Uploads, Depends(_uploads)]
RecommendationsDep = Annotated[Recommendations, Depends(_recommendations)]
CatalogDep = Annotated[Catalog, Depends(_catalog)]
ScreenDep = Annotated[Screen, Depends(_screen)]


_KEY_HEADER = APIKeyHeader(name="X-API-Key", auto_error=False, description="Needed for changing calls in production.")


class Unauthorised(HmsError):
    """The API key is missing or wrong."""


async def require_api_key(request: Request, key: Annotated[str | None, Depends(_KEY_HEADER)]) -> None:
    """Refuse a changing call without the right key, where a key is set."""
    wanted: str | None = request.app.state.required_api_key
    if wanted is None:
        return
    if key is None or not hmac.compare_digest(key.encode(), wanted.encode()):
        raise Unauthorised("This call needs the right API key in the header X-API-Key.")
