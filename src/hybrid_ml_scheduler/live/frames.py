"""What a viewer sees of the race at one moment; the wire sends these records as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, PlainSerializer, TypeAdapter

from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.core.knowledge import EXACT, Level
from hybrid_ml_scheduler.live.windows import WindowName

__all__ = [
    "ALWAYS_PRESENT",
    "Bound",
    "BranchPoint",
    "Comparison",
    "DecisionAudit",
    "DeviceLoad",
    "Frame",
    "LatestResult",
    "LearningState",
    "Moment",
    "RaceState",
    "Shift",
    "Status",
    "TraceFacts",
    "Window",
    "moment",
]

# A field with a default is there all the same in every message, and there are no other fields.
ALWAYS_PRESENT = ConfigDict(extra="ignore", json_schema_serialization_defaults_required=True)
_DATES = TypeAdapter(datetime)


def moment(seconds: float) -> datetime:
    """Return a wall-clock moment."""
    return datetime.fromtimestamp(seconds, tz=timezone.utc)


def _seconds(value: object) -> object:
    return _DATES.validate_python(value).timestamp() if isinstance(value, str) else value


# Seconds since 1970 inside, a date and a time on the wire.
Moment = Annotated[float, BeforeValidator(_seconds), PlainSerializer(moment, when_used="json")]


RaceState = Literal["idle", "running", "paused", "stopped", "complete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFacts:
    """The file whose tasks are raced; the run is complete when they have all been placed."""

    upload: Annotated[str, Field(description="The upload, as `/api/uploads` names it.")]
    tasks: Annotated[int, Field(description="How many tasks it has.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """A change of the workload while running: a marker on every chart over time."""

    task_id: Annotated[int, Field(description="The first task of the changed stream.")]
    tasks_processed: int
    simulated_time_s: float
    at: Moment
    workload: str
    arrival_rate: float
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningState:
    """How a learning strategy is getting on, and how often it really learns."""

    __pydantic_config__ = ALWAYS_PRESENT

    kind: Literal["forest", "agent", "other"]
    updates: Annotated[int, Field(description="Retrainings of the forest, or gradient steps of the agent.")]
    tasks_per_update: Annotated[float | None, Field(description="Tasks of this run divided by updates.")]
    coalesced: Annotated[
        int, Field(description="Retrainings that were merged into a newer one because the race was faster.")
    ]
    is_training: bool
    refused: Annotated[int, Field(description="Retrained models that were worse than the present one.")] = 0
    samples: int | None = None
    error: Annotated[float | None, Field(description="Mean absolute error of the forest in its latest fit.")] = None
    loss: float | None = None
    epsilon: float | None = None
    last_update_task: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchPoint:
    """Where a run left another one: from that task on it meets the same stream, with what was changed."""

    run_id: Annotated[int, Field(description="The run that it left.")]
    task_id: Annotated[int, Field(description="The task of that run which its own first one is the same as.")]
    first_task_id: Annotated[int, Field(description="Its own first task.")]
    simulated_time_s: Annotated[float, Field(description="Where the clock stood.")]


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
    learning: Mapping[str, LearningState] = field(default_factory=dict)
    problem: str | None = None
    knowledge: Level = EXACT
    trace: TraceFacts | None = None
    branch: BranchPoint | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One strategy's standing over the compared tasks of one window; of one that is behind, means are null."""

    name: str
    tasks: Annotated[int, Field(description="Compared tasks that it has finished.")]
    finished: Annotated[int, Field(description="Tasks of the window that it has finished.")]
    waiting: Annotated[int, Field(description="Tasks of the window that it has not finished and that did not fail.")]
    is_behind: Annotated[
        bool, Field(description="Whether compared tasks wait: then it has no means and no place, only lower ends.")
    ] = False
    at_least: Annotated[
        Mapping[str, float] | None,
        Field(description="If it is behind, lower ends of figures by their names: waiting so far counts as latency."),
    ] = None
    undecided: Annotated[
        tuple[str, ...], Field(description="Figures without a place: waiting tasks could still change it.")
    ] = ()
    avg_time: float | None
    avg_latency: float | None
    avg_wait: float | None
    avg_energy: float | None
    avg_cost: float | None
    p95_latency: Annotated[float | None, Field(description="Exact up to 1,000 tasks, else within 0.5 %.")]
    p99_9_latency: Annotated[float | None, Field(description="As exact as `p95_latency`.")] = None
    longest_latency: Annotated[
        float | None, Field(description="Of the task that fared worst, as exact as `p95_latency`.")
    ] = None
    avg_slowdown: Annotated[
        float | None, Field(description="Mean of latency / max(execution time of the oracle's split, 10 ms).")
    ] = None
    longest_slowdown: Annotated[float | None, Field(description="Of the task that fared worst by that measure.")] = None
    within_deadline: Annotated[
        float | None, Field(description="Share of the tasks with a deadline that kept it; null where none has one.")
    ] = None
    total_time: Annotated[float, Field(description="Sum of execution times.")]
    total_energy: float
    total_cost: float
    device_seconds: float
    cpu_load: Annotated[
        float | None,
        Field(description="Seconds of work given to the CPU in each simulated second; above 1 its queue grows."),
    ]
    gpu_load: Annotated[float | None, Field(description="The same for one GPU, as the mean over all of them.")]
    makespan: Annotated[float, Field(description="The last finish, counted from the beginning of the window.")]
    makespan_gap: Annotated[
        float | None,
        Field(
            description="makespan / proven bound - 1, over the scope of `bound`; null for other windows than the run."
        ),
    ]
    time_gap: Annotated[
        float | None,
        Field(description="Sum of execution times / proven bound - 1; null for other windows than the run."),
    ]
    efficiency: Annotated[float | None, Field(description="Oracle's execution time / this strategy's; 1 = the oracle.")]
    avg_gpu_fraction: float | None
    decisions: Annotated[Mapping[str, int], Field(description="How many tasks went to `cpu`, `gpu` and `split`.")]
    oom_count: int
    rounded_count: Annotated[
        int,
        Field(description="Tasks that must not be cut, for which a share was decided: run whole on the nearer device."),
    ] = 0
    failed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Every strategy over the same tasks: the whole run, those since the last shift, or the latest 1,000."""

    name: WindowName
    first_task_id: int | None
    last_task_id: int | None
    tasks: Annotated[int, Field(description="Tasks that entered the race.")]
    compared_tasks: Annotated[
        int, Field(description="Tasks from the window's beginning that every strategy has finished that is not behind.")
    ]
    begin_s: Annotated[float, Field(description="Simulated time at which the window begins.")]
    end_s: float
    comparison: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceLoad:
    """How busy a device is."""

    __pydantic_config__ = ALWAYS_PRESENT

    utilization: Annotated[float, Field(description="Busy share of the last 60 simulated seconds, 0 to 1.")]
    run_utilization: Annotated[float, Field(description="Busy share of the whole run.")]
    queue_length: Annotated[int, Field(description="Parts waiting or running.")]
    backlog_s: Annotated[float, Field(description="Seconds until it is free, as estimated.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestResult:
    """What came of a task on one strategy; times are null when it failed or has not finished."""

    time: float | None
    energy: float | None
    cost: float | None
    latency: float | None
    wait: float | None
    gpu_fraction: float
    device: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionAudit:
    """Why a strategy decided a task as it did: the latest one whose reasons were recorded."""

    scheduler: str
    task_id: int
    gpu_fraction: float
    device: str
    confidence: float | None
    reason: Mapping[str, Any]
    reason_text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What no strategy can beat, and for which tasks that is proven."""

    __pydantic_config__ = ALWAYS_PRESENT

    makespan_s: float | None = None
    execution_s: Annotated[float | None, Field(description="Least possible sum of execution times.")] = None
    tasks: int = 0
    first_task_id: int | None = None
    last_task_id: int | None = None
    scope: Annotated[str, Field(description="One sentence that says what the bound covers.")] = (
        "No task has run yet, so nothing is proven."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Everything for one update."""

    at: float
    status: Status
    task: Task | None
    recent_tasks: tuple[Task, ...]
    latest: Mapping[str, LatestResult]
    windows: Mapping[WindowName, Window]
    clusters: Mapping[str, Mapping[str, DeviceLoad]]
    audits: Mapping[str, DecisionAudit]
    bound: Bound
    marks: tuple[Shift, ...]


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
        bound=Bound(),
        marks=(),
    )
