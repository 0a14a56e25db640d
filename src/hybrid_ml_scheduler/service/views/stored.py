"""From stored rows to wire messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast, get_args

from hybrid_ml_scheduler.live.records import Level
from hybrid_ml_scheduler.service.views.live import moment
from hybrid_ml_scheduler.service.wire.history import ModelVersion, Result, TrendPoint
from hybrid_ml_scheduler.service.wire.live import Notification
from hybrid_ml_scheduler.service.wire.simulation import Shift
from hybrid_ml_scheduler.service.wire.tasks import LedgerRow, TaskFacts
from hybrid_ml_scheduler.storage import EventRow, ModelRow, NotificationRow, ResultRow, TaskRow
from hybrid_ml_scheduler.storage import LedgerRow as StoredRow
from hybrid_ml_scheduler.storage import TrendPoint as StoredPoint

__all__ = [
    "STORED_NAMES",
    "ledger_row",
    "model_version",
    "result_view",
    "stored_notifications",
    "stored_shift",
    "task_facts",
    "trend_point",
]

# The wire says `time`, the tables say `actual_time`; both are fixed by what others rely on.
STORED_NAMES = {
    "time": "actual_time",
    "energy": "energy_consumption",
    "cost": "execution_cost",
    "scheduler": "scheduler_name",
}
# A notice is stored under a key that begins with its kind; viewers are told the event.
_EVENTS = {
    "halt": "race_halted",
    "model": "model_retrained",
    "shift": "workload_shifted",
    "stand": "race_halted",
    "training": "training_failed",
}


def task_facts(row: TaskRow) -> TaskFacts:
    """Return a stored task."""
    return TaskFacts(**{**row._asdict(), "dependencies": json.loads(row.dependencies)})


def result_view(row: ResultRow) -> Result:
    """Return one strategy's stored outcome."""
    return Result(
        time=row.actual_time,
        energy=row.energy_consumption,
        cost=row.execution_cost,
        latency=row.latency,
        wait=row.wait,
        gpu_fraction=row.gpu_fraction,
        device=row.device,
    )


def ledger_row(row: StoredRow) -> LedgerRow:
    """Return one row of the ledger."""
    wire_names = {stored: wire for wire, stored in STORED_NAMES.items()}
    return LedgerRow(**{wire_names.get(name, name): value for name, value in row._asdict().items()})


def model_version(row: ModelRow) -> ModelVersion:
    """Return one retraining."""
    return ModelVersion(
        version=row.version,
        run_id=row.run_id,
        scheduler=row.scheduler_name,
        at=moment(row.created_at),
        task_id=row.boundary,
        samples=row.samples,
        error=row.error,
        duration_s=row.duration,
    )


def trend_point(point: StoredPoint) -> TrendPoint:
    """Return one point of the trend."""
    averages = point.averages
    return TrendPoint(
        first_task_id=point.first_task,
        last_task_id=point.last_task,
        tasks=point.tasks,
        simulated_time_s=point.simulated_time_s,
        avg_time=dict(averages["actual_time"]),
        avg_latency=dict(averages["latency"]),
        avg_energy=dict(averages["energy_consumption"]),
        avg_cost=dict(averages["execution_cost"]),
    )


def stored_shift(row: EventRow) -> Shift:
    """Return a stored shift as a marker."""
    facts = json.loads(row.payload)
    preset, rate = facts["preset"], facts["arrival_rate"]
    return Shift(
        task_id=row.boundary,
        tasks_processed=facts["tasks_processed"],
        simulated_time_s=facts["simulated_time_s"],
        at=moment(row.created_at),
        workload=preset,
        arrival_rate=rate,
        message=f"Workload: {preset}, {rate:g} tasks/s from task {row.boundary} on.",
    )


def stored_notifications(
    notices: Sequence[NotificationRow], shifts: Sequence[EventRow], models: Sequence[ModelRow]
) -> list[Notification]:
    """Return stored notifications, newest first, as viewers got them; their facts are in the other tables."""
    facts = {_shift_key(row): _shift_facts(row) for row in shifts} | {_model_key(row): _facts(row) for row in models}
    return [
        Notification(
            key=row.key,
            level=cast("Level", row.level if row.level in get_args(Level) else "info"),
            message=row.message,
            at=moment(row.created_at),
            event=_event(row),
            data=facts.get((row.run_id, row.key), {}),
        )
        for row in notices
    ]


def _event(row: NotificationRow) -> str:
    kind = row.key.partition("-")[0]
    if kind == "store":
        return "store_up" if row.level == "success" else "store_down"
    return _EVENTS.get(kind, "message")


def _model_key(row: ModelRow) -> tuple[int, str]:
    return row.run_id, f"model-{row.scheduler_name}-{row.boundary}"


def _shift_key(row: EventRow) -> tuple[int, str]:
    return row.run_id, f"shift-{row.sequence + 1}"  # the arena names it by the event that comes next


def _facts(row: ModelRow) -> dict[str, Any]:
    return {
        "scheduler": row.scheduler_name,
        "version": row.version,
        "boundary": row.boundary,
        "at": row.created_at,
        "samples": row.samples,
        "error": row.error,
        "duration_s": row.duration,
    }


def _shift_facts(row: EventRow) -> dict[str, Any]:
    return {**stored_shift(row).model_dump(), "at": row.created_at}
