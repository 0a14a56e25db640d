"""Messages about what was stored."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from hybrid_ml_scheduler.live.frames import LatestResult, Shift
from hybrid_ml_scheduler.live.records import ModelOutcome
from hybrid_ml_scheduler.service.wire.common import Answer, AsObject
from hybrid_ml_scheduler.service.wire.live import Notification
from hybrid_ml_scheduler.service.wire.tasks import TaskFacts
from hybrid_ml_scheduler.storage.records import TrendPoint
from hybrid_ml_scheduler.storage.rows import TrainingRow

__all__ = [
    "Collection",
    "ComparativeTask",
    "Events",
    "LoadHistory",
    "ModelVersion",
    "Models",
    "TrainingRecord",
    "Trend",
]


TrainingRecord = Annotated[TrainingRow, AsObject("TrainingRecord", "A task with the oracle's label.")]


class ComparativeTask(Answer):
    """A task and what every strategy made of it."""

    task: TaskFacts
    results: dict[str, LatestResult]


class ModelVersion(Answer):
    """One retraining: in force from a task on, refused, or called back."""

    version: int = Field(description="Counts the models of one strategy within one run.")
    run_id: int | None
    scheduler: str
    at: datetime
    task_id: int = Field(description="The first task decided with it, or the next one when it was refused.")
    samples: int
    error: float | None
    duration_s: float
    outcome: ModelOutcome = Field(
        default="activated", description="`refused`: worse than the model before it on the latest tasks."
    )
    held_out_error: float | None = Field(
        default=None, description="Its error on the latest tasks, which neither model was trained on."
    )
    present_error: float | None = Field(default=None, description="The same of the model before it.")


class Models(Answer):
    """The retraining history, newest first."""

    models: list[ModelVersion]
    total: int


class Collection(Answer):
    """How much has been collected."""

    tasks: int
    results: int
    training_records: int
    runs: int
    model_versions: int
    database: str = Field(description="`sqlite` or `postgresql`.")
    first_task_id: int | None
    last_task_id: int | None


class Trend(Answer):
    """The long-term trend with the markers that belong on its time axis."""

    points: list[TrendPoint]
    tasks_per_point: int
    shifts: list[Shift]
    models: list[ModelVersion]
    collection: Collection


class LoadHistory(Answer):
    """How busy each device of a strategy was, step by step of simulated time, up to the newest stored arrival."""

    run_id: int | None
    scheduler: str
    edges_s: list[float] = Field(description="Ends of the steps; one more than there are shares.")
    busy: dict[str, list[float | None]] = Field(description="Busy share of each step, 0 to 1; null where unknown.")
    shifts: list[Shift]


class Events(Answer):
    """Shifts and notifications, newest first."""

    shifts: list[Shift]
    notifications: list[Notification]
