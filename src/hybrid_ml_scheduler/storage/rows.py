"""What is written and read: one named tuple for a table's row.

Named tuples, because both drivers take them as they are: the fastest road into a table is no conversion.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Annotated, NamedTuple

from pydantic import Field

from hybrid_ml_scheduler.core import Outcome, Task
from hybrid_ml_scheduler.core.tasks import GPU

__all__ = [
    "CheckpointRow",
    "EventRow",
    "ModelRow",
    "NotificationRow",
    "ResultRow",
    "TaskRow",
    "TrainingRow",
    "result_row",
    "result_rows",
    "stored_task",
    "task_row",
]


class TaskRow(NamedTuple):
    """One task; `dependencies` is a JSON array of parent ids, `kind` the sort of work ("" if unknown).

    `deadline` is in seconds after arrival; a task that is not `divisible` ran whole, on `gpus_required` GPUs at once.
    """

    task_id: int
    run_id: int
    size: float
    compute_intensity: float
    memory_required: float
    arrival_time: float
    dependencies: str = "[]"
    kind: Annotated[str, Field(description="The sort of work; empty if unknown.")] = ""
    deadline: Annotated[float | None, Field(description="Seconds after its arrival; null if it has none.")] = None
    divisible: Annotated[bool, Field(description="Whether it may be cut between CPU and GPU.")] = True
    gpus_required: Annotated[int, Field(description="GPUs that it holds at once.")] = 1
    runs_on: Annotated[str, Field(description="Where it can run: gpu, cpu or any.")] = "any"
    label: Annotated[str, Field(description="Its id in the user's file; empty without one.")] = ""


class ResultRow(NamedTuple):
    """What came of one task with one strategy; a failed task has no times (`None`).

    `cpu_part` and `gpu_part` are the seconds on each device, `cpu_start` and `gpu_start` when they began there.
    """

    task_id: int
    scheduler_name: str
    gpu_fraction: float
    device: str
    gpu_id: int
    actual_time: float | None
    latency: float | None
    wait: float | None
    energy_consumption: float | None
    execution_cost: float | None
    ready_time: float | None
    start_time: float | None
    finish_time: float | None
    cpu_part: float | None
    gpu_part: float | None
    cpu_start: float | None
    gpu_start: float | None
    out_of_memory: bool
    failed: bool


class TrainingRow(NamedTuple):
    """The oracle's label of one task."""

    task_id: int
    size: float
    compute_intensity: float
    memory_required: float
    optimal_gpu_fraction: float
    optimal_time: float


class ModelRow(NamedTuple):
    """One retraining: in force from the task boundary on (the first task decided with it).

    `version` counts the models of one strategy within one run; `outcome` says whether it was activated, refused by its
    guard (then the errors say why) or called back.
    """

    run_id: int
    scheduler_name: str
    version: int
    boundary: int
    created_at: float
    samples: int
    error: float | None
    duration: float
    digest: str = ""
    outcome: str = "activated"
    held_out_error: float | None = None
    present_error: float | None = None


class NotificationRow(NamedTuple):
    """Something to tell people; `key` names it within its run, so that a replay does not say it twice."""

    run_id: int
    key: str
    level: str
    message: str
    created_at: float


class EventRow(NamedTuple):
    """Something from outside that changed the race before a task: a shift, a model taking over, a foreign task.

    `sequence` counts within the run; `payload` is JSON. A replay from a checkpoint reads these.
    """

    run_id: int
    sequence: int
    boundary: int
    kind: str
    payload: str
    created_at: float


class CheckpointRow(NamedTuple):
    """The whole state of a run before the task `boundary`."""

    run_id: int
    boundary: int
    blob: bytes | bytearray
    created_at: float


def task_row(run_id: int, task: Task) -> TaskRow:
    """Return the row of one task."""
    parents = f"[{', '.join(map(str, task.dependencies))}]" if task.dependencies else "[]"
    return TaskRow(
        task.task_id,
        run_id,
        task.size,
        task.compute_intensity,
        task.memory_required,
        task.arrival_time,
        parents,
        task.kind,
        task.deadline,
        task.divisible,
        task.gpus_required,
        task.runs_on,
        task.label,
    )


def stored_task(row: TaskRow) -> Task:
    """Return the task of a row, as it was when it was decided; measured seconds are not stored."""
    return Task(
        task_id=row.task_id,
        size=row.size,
        compute_intensity=row.compute_intensity,
        memory_required=row.memory_required,
        arrival_time=row.arrival_time,
        dependencies=tuple(json.loads(row.dependencies)),
        kind=row.kind,
        deadline=row.deadline,
        divisible=row.divisible,
        gpus_required=row.gpus_required,
        gpu_only=row.runs_on == GPU,
        label=row.label,
    )


def result_row(scheduler_name: str, outcome: Outcome) -> ResultRow:
    """Return the row of one outcome; not-a-number becomes `None`, which both databases know."""
    (
        task_id, gpu_fraction, gpu, _, ready_s, cpu_start_s, gpu_start_s, finish_s,
        execution_s, cpu_s, gpu_s, energy_j, cost_usd, out_of_memory, failed, _, _,
    ) = outcome  # fmt: skip
    if failed or finish_s != finish_s:
        return _failed_row(scheduler_name, outcome)
    return ResultRow(
        task_id, scheduler_name, gpu_fraction, outcome.device, gpu, execution_s, outcome.latency_s,
        outcome.wait_s, energy_j, cost_usd, ready_s, outcome.start_s, finish_s, cpu_s, gpu_s,
        cpu_start_s if cpu_start_s == cpu_start_s else None, gpu_start_s if gpu_start_s == gpu_start_s else None,
        out_of_memory, False,
    )  # fmt: skip


def result_rows(outcomes: Mapping[str, Iterable[Outcome]]) -> list[ResultRow]:
    """Return the rows of several strategies' outcomes."""
    return [result_row(name, outcome) for name, several in outcomes.items() for outcome in several]


def _known(value: float) -> float | None:
    return value if value == value else None


def _failed_row(scheduler_name: str, outcome: Outcome) -> ResultRow:
    return ResultRow(
        task_id=outcome.task_id,
        scheduler_name=scheduler_name,
        gpu_fraction=_known(outcome.gpu_fraction) or 0.0,
        device=outcome.device,
        gpu_id=outcome.gpu,
        actual_time=None,
        latency=None,
        wait=None,
        energy_consumption=_known(outcome.energy_j),
        execution_cost=_known(outcome.cost_usd),
        ready_time=_known(outcome.ready_s),
        start_time=None,
        finish_time=None,
        cpu_part=_known(outcome.cpu_s),
        gpu_part=_known(outcome.gpu_s),
        cpu_start=None,
        gpu_start=None,
        out_of_memory=outcome.out_of_memory,
        failed=True,
    )
