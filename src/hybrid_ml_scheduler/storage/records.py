"""What the queries answer with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from hybrid_ml_scheduler.storage.rows import ResultRow, TaskRow

__all__ = [
    "METRICS",
    "DataCounts",
    "HeatCell",
    "Integrity",
    "LedgerPage",
    "LedgerQuery",
    "Metric",
    "RunRecord",
    "Statistics",
    "StoreHealth",
    "TaskHistory",
    "Trend",
    "TrendPoint",
    "WriteReport",
    "WriterHealth",
]

Metric = Literal["actual_time", "latency", "wait", "energy_consumption", "execution_cost"]
METRICS: tuple[Metric, ...] = ("actual_time", "latency", "wait", "energy_consumption", "execution_cost")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskHistory:
    """One task and the result of every strategy that has one."""

    task: TaskRow
    results: Mapping[str, ResultRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerQuery:
    """One page of the ledger. `sort` is `task_id` (all history) or a metric (the newest `window` tasks).

    `cursor` is what the page before gave as `next_cursor`. `devices` are names such as `cpu` or `gpu_2`.
    """

    sort: str = "task_id"
    descending: bool = True
    schedulers: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    first_task: int | None = None
    last_task: int | None = None
    limit: int = 100
    cursor: str | None = None
    window: int = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerPage:
    """Rows of the ledger, where to go on, and the oldest task that was looked at (nothing is cut silently)."""

    rows: Sequence[ResultRow]
    next_cursor: str | None
    searched_from_task: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatCell:
    """One cell of the size x intensity map: how often each kind of device won, and the winner."""

    size_low: float
    size_high: float
    intensity_low: float
    intensity_high: float
    tasks: int
    wins: Mapping[str, int]
    best: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Statistics over the newest tasks. Matrices are row by row in the order of their names.

    `win_loss[i][j]` is the share of tasks where strategy i's value is lower than strategy j's; `None` without a common task.
    `percentiles[strategy][metric]` holds mean, p50, p90, p95, p99. Correlations that are undefined are `None`.
    """

    metric: Metric
    tasks: int
    first_task: int | None
    last_task: int | None
    schedulers: Sequence[str]
    win_loss: Sequence[Sequence[float | None]]
    correlation_names: Sequence[str]
    correlations: Sequence[Sequence[float | None]]
    heat_map: Sequence[HeatCell]
    percentiles: Mapping[str, Mapping[str, Mapping[str, float | None]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendPoint:
    """The averages of one strategy over a range of tasks."""

    scheduler_name: str
    first_task: int
    last_task: int
    tasks: int
    averages: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """A long-term trend: the points in order of task, then strategy."""

    bucket_tasks: int
    points: Sequence[TrendPoint]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataCounts:
    """How much is stored, and the range of ids."""

    tasks: int
    results: int
    training: int
    models: int
    runs: int
    first_task: int | None
    last_task: int | None
    next_task_id: int
    results_by_scheduler: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Integrity:
    """What a full check of the stored history found; all empty is good."""

    tasks: int
    results: int
    missing_tasks: Sequence[int]
    duplicate_results: Sequence[tuple[int, str]]
    orphan_results: Sequence[int]
    orphan_training: Sequence[int]
    incomplete_tasks: Sequence[int]

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
    """What became of a batch: rows inserted, rows that were there already, cleared ones left out, and any difference."""

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
    """The state of the writer: `ok`, `down` (retrying), `failed` (a row was refused) or `closed`."""

    state: Literal["ok", "down", "failed", "closed"]
    backlog_rows: int
    capacity_rows: int
    written_rows: int
    repeated_rows: int
    down_since: float | None
    last_error: str | None
    last_write_s: float | None
    differences: Sequence[str] = ()
