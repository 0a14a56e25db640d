"""What the race hands on: rows for a store, events that a replay needs, notices for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from hybrid_ml_scheduler.core import Outcome, Task

__all__ = ["Activation", "Checkpoint", "EventKind", "Label", "Level", "Notice", "RaceEvent", "Rows"]

Level = Literal["info", "success", "warning", "error"]
EventKind = Literal["shift", "task", "model", "stride"]


class Label(NamedTuple):
    """The oracle's answer for one task: the fastest split and its execution time."""

    task: Task
    gpu_fraction: float
    execution_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceEvent:
    """Something from outside that changed the race before the task `boundary`; enough to do it again exactly."""

    sequence: int
    boundary: int
    kind: EventKind
    payload: Mapping[str, Any]
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Activation:
    """A retrained model that decides from the task `boundary` on."""

    scheduler: str
    version: int
    boundary: int
    at: float
    samples: int
    error: float | None
    duration_s: float
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something a person should notice; `key` names it within its run, so that a replay does not say it twice."""

    key: str
    level: Level
    message: str
    at: float
    event: str = "message"
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The whole state of the race before the task `boundary`."""

    boundary: int
    blob: bytes
    at: float


@dataclass(slots=True, kw_only=True)
class Rows:
    """What happened since the last hand-over; stored together or not at all."""

    run_id: int
    tasks: list[Task] = field(default_factory=list)
    outcomes: list[tuple[str, Outcome]] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    activations: list[Activation] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    events: list[RaceEvent] = field(default_factory=list)
    checkpoint: Checkpoint | None = None

    def __len__(self) -> int:
        facts = len(self.tasks) + len(self.outcomes) + len(self.labels)
        news = len(self.activations) + len(self.notices) + len(self.events)
        return facts + news + (self.checkpoint is not None)
