"""WebSocket messages, in both directions."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, TypeAdapter

from hybrid_ml_scheduler.live.frames import Bound, Comparison, DecisionAudit, DeviceLoad, LatestResult, Shift, Window
from hybrid_ml_scheduler.live.windows import WindowName
from hybrid_ml_scheduler.service.wire.catalog import StrategyCard
from hybrid_ml_scheduler.service.wire.common import Answer, Demand
from hybrid_ml_scheduler.service.wire.simulation import SimulationStatus

__all__ = [
    "RELAYED",
    "ClusterLoad",
    "Focus",
    "Handout",
    "LatestTask",
    "LogLine",
    "Notification",
    "Relayed",
    "ServerMessage",
    "SimulationUpdate",
    "Snapshot",
]


class LatestTask(Answer):
    """The task that was decided last."""

    id: int
    size: float
    intensity: float
    memory: float
    kind: str = Field(default="", description="The sort of work; empty if unknown.")


class ClusterLoad(Answer):
    """The devices of one strategy's cluster: `cpu`, `gpu_0`, `gpu_1`, ..."""

    model_config = ConfigDict(frozen=True, extra="allow", json_schema_serialization_defaults_required=True)
    __pydantic_extra__: dict[str, DeviceLoad]

    average_utilization: float
    cpu: DeviceLoad


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
    comparison: list[Comparison] = Field(description="Over the compared tasks of the whole run.")
    compared_tasks: int = Field(
        description="Tasks from the run's beginning that every strategy has finished that is not behind."
    )
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


class Handout(Answer):
    """All that a process must know that begins to follow, or has lost the thread."""

    type: Literal["handout"] = "handout"
    service: str = Field(description="A name drawn at its start: another one begins to count and to number anew.")
    snapshot: Snapshot
    strategies: list[StrategyCard]


Relayed = Annotated[Handout | SimulationUpdate | Notification | LogLine, Field(discriminator="type")]
RELAYED: TypeAdapter[Relayed] = TypeAdapter(Relayed)
