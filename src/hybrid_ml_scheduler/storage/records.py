"""What the queries answer with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from hybrid_ml_scheduler.plans.metrics import TASK_METRICS
from hybrid_ml_scheduler.storage.rows import ResultRow, TaskRow

__all__ = [
    "METRICS",
    "BusyShares",
    "DataCounts",
    "HeatCell",
    "HistoryCleared",
    "Integrity",
    "LedgerPage",
    "LedgerQuery",
    "LedgerRow",
    "LedgerSort",
    "Metric",
    "Order",
    "PairedStretches",
    "Percentiles",
    "RunRecord",
    "RunSummary",
    "Statistics",
    "StoreHealth",
    "TaskHistory",
    "TrendPoint",
    "TrendPoints",
    "WriteReport",
    "WriterHealth",
]

# A column of the table of results that holds a metric.
Metric = str
# By what the ledger can be sorted; metrics by their names on the wire.
LedgerSort = Literal[
    "task_id",
    "scheduler",
    "device",
    "gpu_fraction",
    "size",
    "compute_intensity",
    "memory_required",
    "arrival_time",
    "time",
    "latency",
    "wait",
    "energy",
    "cost",
]
Order = Literal["asc", "desc"]
METRICS: tuple[Metric, ...] = tuple(TASK_METRICS.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run: what was asked for, with which seed and versions, and the state it is in."""

    run_id: int
    plan: Mapping[str, Any]
    seed: int
    versions: Mapping[str, Any]
    state: str
    controls: Mapping[str, Any]
    created_at: float
    name: str = ""
    note: str = ""
    first_task: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """What all stored results of a run with one strategy add up to.

    Means, the longest latency and the last finish are those of the `compared` tasks, from the first one on, that every
    strategy has a result of that is not behind; they are None for one that is.
    """

    scheduler_name: str
    results: int
    finished: int
    waiting: int
    compared: int
    is_behind: bool
    out_of_memory: int
    first_task: int
    last_task: int
    last_finish_s: float | None
    longest_latency_s: float | None
    device_s: float
    means: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedStretches:
    """Two runs on the same tasks: `means[metric][strategy]` holds both means of every stretch of these tasks."""

    tasks: int
    stretches: int
    means: Mapping[Metric, Mapping[str, Sequence[tuple[float, float]]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskHistory:
    """One task and the result of every strategy that has one."""

    task: TaskRow
    results: Mapping[str, ResultRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerQuery:
    """One page of the ledger: from an offset, or after or before a row of the same order (a word of an earlier page).

    Rows without the value that is sorted by come last, whichever the direction; equal values are in order of task
    (of the same direction) and strategy.
    """

    limit: int = 100
    offset: int = 0
    sort: LedgerSort = "task_id"
    order: Order = "desc"
    scheduler: str | None = None
    device: str | None = None
    task_id: int | None = None
    run_id: int | None = None
    first_task: int | None = None
    last_task: int | None = None
    after: str | None = None
    before: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRow:
    """One decision and its outcome; times are null when the task failed."""

    result_id: int
    task_id: int
    run_id: int
    scheduler: str
    device: str
    gpu_fraction: float
    kind: str
    deadline: Annotated[float | None, Field(description="Seconds after its arrival; null if it has none.")]
    divisible: bool
    gpus_required: int
    runs_on: Annotated[str, Field(description="Where it can run: gpu, cpu or any.")]
    label: Annotated[str, Field(description="Its id in the user's file; empty without one.")]
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float
    time: float | None
    latency: float | None
    wait: float | None
    energy: float | None
    cost: float | None
    out_of_memory: bool
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerPage:
    """A page of the ledger; sorting, filters and the total are over all stored rows."""

    rows: Sequence[LedgerRow]
    total: Annotated[int, Field(description="All stored rows that match the filters.")]
    first_task: Annotated[int | None, Field(description="The oldest task among them.")]
    last_task: Annotated[int | None, Field(description="The newest task among them.")]
    next: Annotated[
        str | None, Field(description="Ask with `after` = this for the page that follows; null at the end.")
    ]
    previous: Annotated[
        str | None, Field(description="Ask with `before` = this for the page before; null at the beginning.")
    ]
    limit: int
    offset: int
    sort: LedgerSort
    order: Order


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """The device that was best for tasks of one range of size and intensity."""

    size_low: float
    size_high: float
    intensity_low: float
    intensity_high: float
    tasks: int
    optimal_gpu_fraction: Annotated[float | None, Field(description="Mean of the oracle's fraction.")]
    best_device: Annotated[str | None, Field(description="`cpu`, `gpu` or `split`, by the oracle's majority.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentiles:
    """Mean and percentiles of one metric for one strategy; `None` without a value, or while tasks wait."""

    scheduler: str
    metric: Annotated[Metric, Field(json_schema_extra={"enum": list(TASK_METRICS)})]
    tasks: int
    waiting: int
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    p99_9: float | None
    longest: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Statistics over the newest tasks. Matrices are row by row, in the order of their names.

    `win_loss[metric][i][j]` is the share of tasks where strategy i's value is lower than strategy j's: `None` on the
    diagonal, without a common task, and where one of both lets some of the tasks wait; `compared[metric]` tasks have
    that value of two others at least.
    Correlations are over `correlated` tasks, those with every value; of constant columns they are `None`.
    """

    tasks: int
    first_task: int | None
    last_task: int | None
    schedulers: Sequence[str]
    win_loss: Mapping[Metric, Sequence[Sequence[float | None]]]
    compared: Mapping[Metric, int]
    correlation_scheduler: str
    correlated: int
    correlation_names: Sequence[str]
    correlations: Sequence[Sequence[float | None]]
    size_bounds: Sequence[float]
    intensity_bounds: Sequence[float]
    heat_map: Sequence[HeatCell]
    histogram_bounds: Sequence[float]
    histogram_counts: Sequence[int]
    spreads: Sequence[Percentiles]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """The means over a stretch of tasks; a strategy that lets some of them wait has none."""

    first_task_id: int
    last_task_id: int
    tasks: int
    waiting: Mapping[str, int]
    simulated_time_s: float
    avg_time: Mapping[str, float | None]
    avg_latency: Mapping[str, float | None]
    avg_energy: Mapping[str, float | None]
    avg_cost: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoints:
    """A long-term trend in order of task."""

    tasks_per_point: int
    points: Sequence[TrendPoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyShares:
    """Busy shares of each device between neighbouring `edges_s`; None where nothing is known."""

    edges_s: Sequence[float]
    busy: Mapping[str, Sequence[float | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCleared:
    """How much was removed."""

    tasks: int
    results: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DataCounts:
    """How much is stored, and the range of ids.

    `collected_by_scheduler` counts results since the history was last cleared, whether retention removed them or not.
    """

    tasks: int
    results: int
    training: int
    models: int
    runs: int
    first_task: int | None
    last_task: int | None
    next_task_id: int
    collected_by_scheduler: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Integrity:
    """What a full check of the stored history found; all empty is good.

    `undecided` tasks are none of the faults: they arrive after their run's clock or wait for a parent, or did so when
    the run ended.
    """

    tasks: int
    results: int
    missing_tasks: Sequence[int]
    duplicate_results: Sequence[tuple[int, str]]
    orphan_results: Sequence[int]
    orphan_training: Sequence[int]
    incomplete_tasks: Sequence[int]
    undecided: int = 0

    @property
    def whole(self) -> bool:
        """Whether there is no gap, no duplicate, no orphan and no half-stored task."""
        return not (
            self.missing_tasks
            or self.duplicate_results
            or self.orphan_results
            or self.orphan_training
            or self.incomplete_tasks
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteReport:
    """What became of a batch: inserted rows, rows that were there, cleared ones left out, and any difference."""

    inserted: int
    repeated: int = 0
    skipped: int = 0
    differences: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreHealth:
    """Whether a store answers, how quickly, and one sentence if not."""

    ok: bool
    latency_s: float | None
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterHealth:
    """The state of the writer: `ok`, `down` (retrying), `failed` (a row could not be stored) or `closed`."""

    state: Literal["ok", "down", "failed", "closed"]
    backlog_rows: int
    capacity_rows: int
    written_rows: int
    repeated_rows: int
    down_since: float | None
    last_error: str | None
    last_write_s: float | None
    differences: Sequence[str] = ()
