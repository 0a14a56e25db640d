"""The live arena: a race at a pace, with checkpoints, a lossless outlet and one that never waits."""

from __future__ import annotations

from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.live.frames import Frame, Status
from hybrid_ml_scheduler.live.hub import Connection, Hub
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Course, Notice, RaceEvent, Rows
from hybrid_ml_scheduler.live.replay import replay
from hybrid_ml_scheduler.live.sinks import Keeper, Viewers

__all__ = [
    "Arena",
    "Connection",
    "Course",
    "Frame",
    "Hub",
    "Keeper",
    "Notice",
    "Race",
    "RaceEvent",
    "Rows",
    "Status",
    "Viewers",
    "replay",
]
