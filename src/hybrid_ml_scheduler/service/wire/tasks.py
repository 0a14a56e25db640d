"""Messages about single tasks: from outside, in the ledger, and looked at closely."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, Json

from hybrid_ml_scheduler.service.wire.common import Answer, AsObject, Demand
from hybrid_ml_scheduler.storage.rows import TaskRow

__all__ = [
    "Advice",
    "DeviceInterval",
    "Gantt",
    "NewTask",
    "OracleChoice",
    "StrategyAudit",
    "TaskAdvice",
    "TaskAudit",
    "TaskFacts",
]

TaskId = Annotated[int, Field(ge=0, le=2**63 - 1)]


class NewTask(Demand):
    """A task from outside."""

    size: Annotated[float, Field(ge=1e-3, le=1e6, description="Problem size N, without a unit.")]
    compute_intensity: Annotated[float, Field(ge=0, le=1)]
    memory_required: Annotated[float, Field(ge=0, le=1e9, description="MB that must cross the bus.")]
    arrival_time: Annotated[float, Field(ge=0, le=1e12)] | None = Field(
        default=None, description="Simulated seconds; now when left out, and never before now in the race."
    )
    dependencies: Annotated[list[TaskId], Field(max_length=64)] = Field(default_factory=list)
    kind: Annotated[str, Field(max_length=120, pattern=r"^[^\x00-\x1f\x7f]*$")] = Field(
        default="", description="The sort of work, such as the function or the program; empty if unknown."
    )
    deadline: Annotated[float, Field(gt=0, le=1e12)] | None = Field(
        default=None, description="Seconds after its arrival by which it should be done."
    )
    divisible: bool | None = Field(
        default=None, description="May it be cut between CPU and GPU? Yes, unless it needs several GPUs at once."
    )
    gpus_required: Annotated[int, Field(ge=0, le=1024)] = Field(
        default=1, description="GPUs that it holds at once; 0: it runs on the CPU, whatever a strategy decides."
    )
    runs_on: Literal["any", "cpu", "gpu"] = Field(
        default="any", description="The devices that it can run on; a task for one of them only is not cut."
    )


TaskFacts = Annotated[TaskRow, AsObject("TaskFacts", "A task as stored.", dependencies=Json[list[int]])]


class Advice(Answer):
    """What one strategy would do with a task now, why, and what it expects of it."""

    scheduler: str
    gpu_fraction: float
    device: str
    confidence: float | None
    predicted_time: float | None = Field(description="Execution time in seconds; null if the task would fail.")
    predicted_latency: float | None = Field(
        description="Seconds until finished, given the queues now; null if it fails, or a parent is not decided yet."
    )
    predicted_energy: float | None
    predicted_cost: float | None
    out_of_memory: bool
    reason: dict[str, Any] = Field(description="The strategy's own reasons; empty if it gives none.")
    reason_text: str


class TaskAdvice(Answer):
    """Every strategy's answer to a task from outside."""

    task_id: int | None = Field(description="Its id in the race when `run=true`, else null.")
    simulated_time_s: float
    in_race: bool
    decisions: dict[str, Advice]


class DeviceInterval(Answer):
    """A part of a task on one device."""

    device: str
    task_id: int
    begin: float = Field(description="Simulated seconds.")
    end: float
    gpu_fraction: float


class Gantt(Answer):
    """What the devices of one strategy did around a moment."""

    begin: float
    end: float
    devices: list[str]
    intervals: list[DeviceInterval]
    is_complete: bool = Field(description="False when intervals of tasks long before or after may be missing.")


class StrategyAudit(Answer):
    """What one strategy did with a task and why."""

    scheduler: str
    device: str
    gpu_fraction: float
    start: float | None
    finish: float | None
    time: float | None
    latency: float | None
    wait: float | None
    energy: float | None
    cost: float | None
    reason: dict[str, Any]
    reason_text: str
    reason_origin: Literal["at_decision", "now", "none"] = Field(
        description="`at_decision`: recorded then; `now`: what the strategy says about this task today."
    )
    gantt: Gantt


class OracleChoice(Answer):
    """The split with the least execution time; it ignores queues, so it is no optimum of latency."""

    gpu_fraction: float
    device: str
    time: float
    energy: float
    cost: float
    explanation: str


class TaskAudit(Answer):
    """A task from every side."""

    task: TaskFacts
    oracle: OracleChoice | None = Field(description="Null for a real task: the model's formula knows nothing of it.")
    strategies: dict[str, StrategyAudit]
