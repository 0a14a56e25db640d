"""WebSocket messages, in both directions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from hybrid_ml_scheduler.live.windows import WindowName
from hybrid_ml_scheduler.service.wire.common import Answer, Demand
from hybrid_ml_scheduler.service.wire.simulation import Shift, SimulationStatus

__all__ = [
    "Bound",
    "ClusterLoad",
    "Comparison",
    "DecisionAudit",
    "DeviceLoad",
    "Focus",
    "LatestResult",
    "LatestTask",
    "LogLine",
    "Notification",
    "ServerMessage",
    "SimulationUpdate",
    "Snapshot",
    "Window",
]


class LatestTask(Answer):
    """The task that was decided last."""

    id: int
    size: float
    intensity: float
    memory: float
    kind: str = Field(default="", description="The sort of work; empty if unknown.")


class LatestResult(Answer):
    """What came of the latest task on one strategy; times are null when it failed or has not finished."""

    time: float | None
    energy: float | None
    cost: float | None
    latency: float | None
    wait: float | None
    gpu_fraction: float
    device: str


class Comparison(Answer):
    """One strategy's standing over one window; every figure is of that window."""

    name: str
    tasks: int = Field(description="Tasks with an outcome.")
    avg_time: float | None
    avg_latency: float | None
    avg_wait: float | None
    avg_energy: float | None
    avg_cost: float | None
    p95_latency: float | None = Field(description="Exact up to 1,000 tasks, else within 0.5 %.")
    total_time: float = Field(description="Sum of execution times.")
    total_energy: float
    total_cost: float
    device_seconds: float
    cpu_load: float | None = Field(
        description="Seconds of work given to the CPU in each simulated second; above 1 its queue grows."
    )
    gpu_load: float | None = Field(description="The same for one GPU, as the mean over all of them.")
    makespan: float = Field(description="The last finish, counted from the beginning of the window.")
    makespan_gap: float | None = Field(
        description="makespan / proven bound - 1, over the scope of `bound`; null for other windows than the run."
    )
    time_gap: float | None = Field(
        description="Sum of execution times / proven bound - 1; null for other windows than the run."
    )
    efficiency: float | None = Field(description="Oracle's execution time / this strategy's; 1 = the oracle.")
    avg_gpu_fraction: float | None
    decisions: dict[str, int] = Field(description="How many tasks went to `cpu`, `gpu` and `split`.")
    oom_count: int
    failed: int


class Window(Answer):
    """Every strategy over the same tasks: the whole run, those since the last shift, or the latest 1,000."""

    name: WindowName
    first_task_id: int | None
    last_task_id: int | None
    tasks: int = Field(description="Tasks that entered the race.")
    begin_s: float = Field(description="Simulated time at which the window begins.")
    end_s: float
    comparison: list[Comparison]


class Bound(Answer):
    """What no strategy can beat, and for which tasks that is proven."""

    makespan_s: float | None
    execution_s: float | None = Field(description="Least possible sum of execution times.")
    tasks: int
    first_task_id: int | None
    last_task_id: int | None
    scope: str = Field(description="One sentence that says what the bound covers.")


class DeviceLoad(Answer):
    """How busy a device is."""

    utilization: float = Field(description="Busy share of the last 60 simulated seconds, 0 to 1.")
    run_utilization: float = Field(description="Busy share of the whole run.")
    queue_length: int = Field(description="Parts waiting or running.")
    backlog_s: float = Field(description="Seconds until it is free, as estimated.")


class ClusterLoad(Answer):
    """The devices of one strategy's cluster: `cpu`, `gpu_0`, `gpu_1`, ..."""

    model_config = ConfigDict(frozen=True, extra="allow", json_schema_serialization_defaults_required=True)
    __pydantic_extra__: dict[str, DeviceLoad]

    average_utilization: float
    cpu: DeviceLoad


class DecisionAudit(Answer):
    """Why a strategy decided a task as it did: the latest one whose reasons were recorded."""

    scheduler: str
    task_id: int
    gpu_fraction: float
    device: str
    confidence: float | None
    reason: dict[str, Any]
    reason_text: str


class Notification(Answer):
    """Something a person should notice."""

    type: Literal["notification"] = "notification"
    id: int = Field(default=0, description="Counts what one service says on its socket; 0 in the history.")
    key: str = Field(default="", description="With `at` it names a notice, on the socket and in the history alike.")
    level: Literal["info", "success", "warning", "error"]
    message: str
    at: datetime
    event: str = Field(default="message", description="For example `model_retrained`, `workload_shifted`.")
    data: dict[str, Any] = Field(default_factory=dict)


class LogLine(Answer):
    """A line for the live log."""

    type: Literal["log"] = "log"
    id: int = 0
    level: Literal["debug", "info", "warning", "error"]
    message: str
    at: datetime


class SimulationUpdate(Answer):
    """The state of the race, about twice a second; `seq` grows by one for every update made."""

    type: Literal["simulation_update"] = "simulation_update"
    seq: int
    at: datetime
    status: SimulationStatus
    simulated_time_s: float
    tasks_processed: int
    task: LatestTask | None
    recent_tasks: list[LatestTask] = Field(description="Up to 20 of the tasks since the update before.")
    latest_results: dict[str, LatestResult]
    comparison: list[Comparison] = Field(description="Over the whole run.")
    windows: dict[WindowName, Window] = Field(
        description="Over other windows: `latest`, the latest 1,000 tasks, and after a shift `shift`, those since then."
    )
    focus: str
    utilization: ClusterLoad
    clusters: dict[str, ClusterLoad]
    audit: dict[str, DecisionAudit] = Field(description="Each strategy's latest explained decision.")
    bound: Bound
    shifts: list[Shift] = Field(description="The latest shifts of this run, oldest first.")


class Snapshot(Answer):
    """The first message of a connection: all that is needed to draw everything."""

    type: Literal["snapshot"] = "snapshot"
    seq: int
    at: datetime
    version: str
    update: SimulationUpdate
    recent_tasks: list[LatestTask] = Field(description="Up to 300 of the latest tasks, oldest first.")
    notifications: list[Notification]
    log: list[LogLine]


class Focus(Demand):
    """A client's wish to see one strategy's utilisation; one that is not in the race changes nothing."""

    type: Literal["focus"]
    scheduler: str


ServerMessage = Annotated[Snapshot | SimulationUpdate | Notification | LogLine, Field(discriminator="type")]
