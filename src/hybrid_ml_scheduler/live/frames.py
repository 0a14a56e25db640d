"""What a viewer sees of the race at one moment, as plain records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.core.knowledge import EXACT, Level
from hybrid_ml_scheduler.live.windows import WindowName

__all__ = [
    "Audit",
    "BoundState",
    "DeviceState",
    "Frame",
    "Learning",
    "Mark",
    "RaceState",
    "Standing",
    "Status",
    "Trace",
    "Window",
]

RaceState = Literal["idle", "running", "paused", "stopped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A shift of the workload."""

    task_id: int
    tasks_processed: int
    simulated_time_s: float
    at: float
    workload: str
    arrival_rate: float
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """How a learning strategy is getting on."""

    kind: Literal["forest", "agent", "other"]
    updates: int
    tasks_per_update: float | None
    coalesced: int
    is_training: bool
    refused: int = 0
    samples: int | None = None
    error: float | None = None
    loss: float | None = None
    epsilon: float | None = None
    last_update_task: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Where the race stands."""

    state: RaceState
    run_id: int | None
    seed: int | None
    tasks_processed: int
    next_task_id: int
    simulated_time_s: float
    speed: float
    achieved_speed: float
    preset: str
    arrival_rate: float
    schedulers: tuple[str, ...]
    num_gpus: int
    retrain_interval: int
    retraining: Literal["background", "synchronous"]
    storage: Literal["ok", "waiting", "down", "refused"]
    backlog_rows: int
    learning: Mapping[str, Learning] = field(default_factory=dict)
    problem: str | None = None
    knowledge: Level = EXACT


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One strategy's totals over one window."""

    name: str
    tasks: int
    avg_time: float | None
    avg_latency: float | None
    avg_wait: float | None
    avg_energy: float | None
    avg_cost: float | None
    p95_latency: float | None
    total_time: float
    total_energy: float
    total_cost: float
    device_seconds: float
    cpu_load: float | None
    gpu_load: float | None
    makespan: float
    makespan_gap: float | None
    time_gap: float | None
    efficiency: float | None
    avg_gpu_fraction: float | None
    decisions: Mapping[str, int]
    oom_count: int
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Every strategy over the same tasks; no figure in it is of another window."""

    name: WindowName
    first_task_id: int | None
    last_task_id: int | None
    tasks: int
    begin_s: float
    end_s: float
    standings: tuple[Standing, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceState:
    """How busy one device is."""

    utilization: float
    run_utilization: float
    queue_length: int
    backlog_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The outcome of a strategy's latest decision; times are None when it failed."""

    task_id: int
    time: float | None
    energy: float | None
    cost: float | None
    latency: float | None
    wait: float | None
    gpu_fraction: float
    device: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Why a strategy decided a task as it did."""

    scheduler: str
    task_id: int
    gpu_fraction: float
    device: str
    confidence: float | None
    reason: Mapping[str, Any]
    reason_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundState:
    """What no strategy can beat, and for which tasks that is proven."""

    makespan_s: float | None = None
    execution_s: float | None = None
    tasks: int = 0
    first_task_id: int | None = None
    last_task_id: int | None = None
    scope: str = "No task has run yet, so nothing is proven."


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Everything for one update."""

    at: float
    status: Status
    task: Task | None
    recent_tasks: tuple[Task, ...]
    latest: Mapping[str, Trace]
    windows: Mapping[WindowName, Window]
    clusters: Mapping[str, Mapping[str, DeviceState]]
    audits: Mapping[str, Audit]
    bound: BoundState
    marks: tuple[Mark, ...]


def idle_frame(at: float) -> Frame:
    """Return the frame of an arena without a race."""
    status = Status(
        state="idle",
        run_id=None,
        seed=None,
        tasks_processed=0,
        next_task_id=0,
        simulated_time_s=0.0,
        speed=0.0,
        achieved_speed=0.0,
        preset="",
        arrival_rate=0.0,
        schedulers=(),
        num_gpus=0,
        retrain_interval=0,
        retraining="background",
        storage="ok",
        backlog_rows=0,
    )
    return Frame(
        at=at,
        status=status,
        task=None,
        recent_tasks=(),
        latest={},
        windows={},
        clusters={},
        audits={},
        bound=BoundState(),
        marks=(),
    )
