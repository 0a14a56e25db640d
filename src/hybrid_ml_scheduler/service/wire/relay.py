"""What the process that runs the race says to those that follow it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from hybrid_ml_scheduler.service.wire.catalog import StrategyCard
from hybrid_ml_scheduler.service.wire.common import Answer
from hybrid_ml_scheduler.service.wire.live import LogLine, Notification, SimulationUpdate, Snapshot

__all__ = ["RELAYED", "Handout", "Relayed"]


class Handout(Answer):
    """All that a process must know that begins to follow, or has lost the thread."""

    type: Literal["handout"] = "handout"
    service: str = Field(description="A name drawn at its start: another one begins to count and to number anew.")
    snapshot: Snapshot
    strategies: list[StrategyCard]


Relayed = Annotated[Handout | SimulationUpdate | Notification | LogLine, Field(discriminator="type")]
RELAYED: TypeAdapter[Relayed] = TypeAdapter(Relayed)
