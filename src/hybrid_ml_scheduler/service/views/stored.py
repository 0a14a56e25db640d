"""From stored rows to wire messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, cast, get_args

from hybrid_ml_scheduler.live.frames import LatestResult, Shift, moment
from hybrid_ml_scheduler.live.records import MODEL_EVENTS, ModelOutcome, NoticeLevel, model_key, shift_words
from hybrid_ml_scheduler.plans.metrics import TASK_METRICS
from hybrid_ml_scheduler.service.wire.history import LoadHistory, ModelVersion
from hybrid_ml_scheduler.service.wire.live import Notification
from hybrid_ml_scheduler.storage import BusyShares, EventRow, ModelRow, NotificationRow, ResultRow

__all__ = [
    "STORED_NAMES",
    "load_history",
    "model_version",
    "result_view",
    "stored_notifications",
    "stored_shift",
]

# The wire says `time`, the tables say `actual_time`; both are fixed by what others rely on.
STORED_NAMES = {**TASK_METRICS, "scheduler": "scheduler_name"}
# A notice is stored under a key that begins with its kind; viewers are told the event.
_EVENTS = {
    "halt": "race_halted",
    "shift": "workload_shifted",
    "stand": "race_halted",
    "training": "training_failed",
    **MODEL_EVENTS,
}


def result_view(row: ResultRow) -> LatestResult:
    """Return one strategy's stored outcome."""
    return LatestResult(
        **{task: getattr(row, stored) for task, stored in TASK_METRICS.items()},
        gpu_fraction=row.gpu_fraction,
        device=row.device,
    )


def load_history(found: BusyShares, scheduler: str, run_id: int | None, shifts: Sequence[EventRow]) -> LoadHistory:
    """Return how busy the devices were, with the shifts that belong on the same axis."""
    begin_s = found.edges_s[0] if found.edges_s else 0.0
    markers = [stored_shift(row) for row in reversed(shifts)]
    return LoadHistory(
        run_id=run_id,
        scheduler=scheduler,
        edges_s=list(found.edges_s),
        busy={name: list(column) for name, column in found.busy.items()},
        shifts=[marker for marker in markers if marker.simulated_time_s >= begin_s],
    )


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
        outcome=cast("ModelOutcome", row.outcome),
        held_out_error=row.held_out_error,
        present_error=row.present_error,
    )


def stored_shift(row: EventRow) -> Shift:
    """Return a stored shift as a marker."""
    facts = json.loads(row.payload)
    preset, rate = facts["preset"], facts["arrival_rate"]
    return Shift(
        task_id=row.boundary,
        tasks_processed=facts["tasks_processed"],
        simulated_time_s=facts["simulated_time_s"],
        at=row.created_at,
        workload=preset,
        arrival_rate=rate,
        message=shift_words(facts, row.boundary),
    )


def stored_notifications(
    notices: Sequence[NotificationRow], shifts: Sequence[EventRow], models: Sequence[ModelRow]
) -> list[Notification]:
    """Return stored notifications, newest first, as viewers got them; their facts are in the other tables."""
    facts = {_shift_key(row): _shift_facts(row) for row in shifts} | {_model_key(row): _facts(row) for row in models}
    return [
        Notification(
            key=row.key,
            level=cast("NoticeLevel", row.level if row.level in get_args(NoticeLevel) else "info"),
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
    return row.run_id, model_key(row.outcome, row.scheduler_name, row.boundary)


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
        "outcome": row.outcome,
        "held_out_error": row.held_out_error,
        "present_error": row.present_error,
    }


def _shift_facts(row: EventRow) -> dict[str, Any]:
    return asdict(stored_shift(row))
