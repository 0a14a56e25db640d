"""What the queries answer with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from hybrid_ml_scheduler.plans.metrics import TASK_METRICS
from hybrid_ml_scheduler.storage.rows import ResultRow, TaskRow

__all__ = [
    "METRICS",
    "Cleared",
    "DataCounts",
    "HeatCell",
    "Integrity",
    "LedgerMark",
    "LedgerPage",
    "LedgerQuery",
    "LedgerRow",
    "LedgerSort",
    "LoadHistory",
    "Metric",
    "PairedStretches",
    "RunRecord",
    "RunSummary",
    "Spread",
    "Statistics",
    "StoreHealth",
    "TaskHistory",
    "Trend",
    "TrendPoint",
    "WriteReport",
    "WriterHealth",
]

# A column of the table of results that holds a metric.
Metric = str
LedgerSort = Literal[
    "task_id",
    "scheduler_name",
    "device",
    "gpu_fraction",
    "size",
    "compute_intensity",
    "memory_required",
    "arrival_time",
    "actual_time",
    "latency",
    "wait",
    "energy_consumption",
    "execution_cost",
]
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
    """What all stored results of a run with one strategy add up to; means are over those that finished."""

    scheduler_name: str
    results: int
    finished: int
    out_of_memory: int
    first_task: int
    last_task: int
    last_finish_s: float | None
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


class LedgerMark(NamedTuple):
    """Where a row stands in the order of the ledger: the value that is sorted by, its task and its strategy."""

    value: float | str | None
    task_id: int
    scheduler_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerQuery:
    """One page of the ledger: from an offset, or after or before a row of the same order.

    Rows without the value that is sorted by come last, whichever the direction; equal values are in order of task
    (of the same direction) and strategy.
    """

    limit: int = 100
    offset: int = 0
    sort: LedgerSort = "task_id"
    descending: bool = True
    scheduler: str | None = None
    device: str | None = None
    task_id: int | None = None
    run_id: int | None = None
    first_task: int | None = None
    last_task: int | None = None
    after: LedgerMark | None = None
    before: LedgerMark | None = None


class LedgerRow(NamedTuple):
    """One decision, its outcome and its task."""

    result_id: int
    task_id: int
    run_id: int
    scheduler_name: str
    device: str
    gpu_fraction: float
    kind: str
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float
    actual_time: float | None
    latency: float | None
    wait: float | None
    energy_consumption: float | None
    execution_cost: float | None
    out_of_memory: bool
    failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerPage:
    """Rows of the ledger; `total` counts all stored rows that match, `first_task` and `last_task` are their ends."""

    rows: Sequence[LedgerRow]
    total: int
    first_task: int | None
    last_task: int | None
    has_next: bool
    has_previous: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """Tasks of one range of size and intensity: how often each kind of device is the oracle's choice."""

    size_low: float
    size_high: float
    intensity_low: float
    intensity_high: float
    tasks: int
    optimal_gpu_fraction: float | None
    best_device: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Mean and percentiles of one metric of one strategy; `None` without a value."""

    scheduler_name: str
    metric: Metric
    tasks: int
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Statistics over the newest tasks. Matrices are row by row, in the order of their names.

    `win_loss[metric][i][j]` is the share of tasks where strategy i's value is lower than strategy j's: `None` on the
    diagonal and without a common task; `compared[metric]` tasks have that value of two strategies at least.
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
    spreads: Sequence[Spread]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """The averages of every strategy over a range of tasks: `averages[metric][strategy]`."""

    first_task: int
    last_task: int
    tasks: int
    simulated_time_s: float
    averages: Mapping[Metric, Mapping[str, float | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """A long-term trend in order of task."""

    bucket_tasks: int
    points: Sequence[TrendPoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadHistory:
    """Busy shares of each device between neighbouring `edges_s`; NaN where nothing is known."""

    edges_s: Sequence[float]
    busy: Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
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
