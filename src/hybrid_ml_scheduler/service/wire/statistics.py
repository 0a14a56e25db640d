"""Statistics over the latest tasks."""

from __future__ import annotations

from enum import Enum

from pydantic import Field

from hybrid_ml_scheduler.live.windows import WindowName
from hybrid_ml_scheduler.service.wire.common import Answer
from hybrid_ml_scheduler.storage.records import HeatCell, Percentiles

__all__ = ["Correlations", "HeatMap", "Histogram", "Metric", "Stats", "WinMatrix"]


class Metric(str, Enum):
    """What strategies can be compared by, task for task."""

    TIME = "time"
    LATENCY = "latency"
    ENERGY = "energy"
    COST = "cost"


class WinMatrix(Answer):
    """Share of tasks where the row's value is lower than the column's; equal values count for nobody."""

    metric: Metric
    schedulers: list[str]
    share: list[list[float | None]] = Field(
        description="Row by column; null on the diagonal, without tasks, and of one that is behind."
    )
    tasks: int = Field(description="Tasks that two strategies at least finished; a pair is compared on those of both.")


class Correlations(Answer):
    """Pearson correlation of task features and outcomes; null where a column is constant."""

    names: list[str]
    values: list[list[float | None]]
    scheduler: str
    tasks: int = Field(description="Tasks that this strategy finished: the coefficients are over these.")


class HeatMap(Answer):
    """Size by intensity to the best device; size bounds are logarithmic."""

    size_bounds: list[float]
    intensity_bounds: list[float]
    cells: list[HeatCell]


class Histogram(Answer):
    """How many tasks have which size; `bounds` has one entry more than `counts`."""

    bounds: list[float]
    counts: list[int]


class Stats(Answer):
    """Everything the statistics widgets show, over the latest `window` tasks of the present run."""

    window: int = Field(description="The most tasks that were looked at.")
    covers: WindowName = Field(description="`shift` where only tasks since the last shift count, `run` without one.")
    tasks: int
    window_tasks: int = Field(description="Tasks of the window in all; more than `tasks` where it is longer.")
    first_task_id: int | None
    last_task_id: int | None
    win_loss: dict[Metric, WinMatrix]
    correlations: Correlations
    heat_map: HeatMap
    sizes: Histogram
    percentiles: list[Percentiles]
