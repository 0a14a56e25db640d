"""What routes and the socket may use."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.service.devices import DeviceHistory
from hybrid_ml_scheduler.service.learning_history import LearningHistory
from hybrid_ml_scheduler.service.ports import Archive, Catalog, Race, Runs
from hybrid_ml_scheduler.service.telemetry import Telemetry
from hybrid_ml_scheduler.service.viewers.screen import Screen

__all__ = ["Services"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Everything behind the application, opened together and closed in order."""

    race: Race
    archive: Archive
    runs: Runs
    devices: DeviceHistory
    learning: LearningHistory
    catalog: Catalog
    hub: Hub
    screen: Screen
    telemetry: Telemetry
    origins: frozenset[str]
