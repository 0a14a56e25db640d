"""From stored rows to wire messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast, get_args

from hybrid_ml_scheduler.live.activations import MODEL_EVENTS, model_key
from hybrid_ml_scheduler.live.records import Level, ModelOutcome, shift_words
from hybrid_ml_scheduler.plans.metrics import TASK_METRICS
from hybrid_ml_scheduler.service.marks import mark_of, written_mark
from hybrid_ml_scheduler.service.ports import LedgerQuery
from hybrid_ml_scheduler.service.views.live import moment
from hybrid_ml_scheduler.service.wire.history import LoadHistory, ModelVersion, Result, TrendPoint
from hybrid_ml_scheduler.service.wire.live import Notification
from hybrid_ml_scheduler.service.wire.simulation import Shift
from hybrid_ml_scheduler.service.wire.statistics import Metric
from hybrid_ml_scheduler.service.wire.tasks import LedgerPage, LedgerRow, TaskFacts
from hybrid_ml_scheduler.storage import EventRow, ModelRow, NotificationRow, ResultRow, TaskRow
from hybrid_ml_scheduler.storage import LedgerPage as StoredPage
from hybrid_ml_scheduler.storage import LedgerRow as StoredRow
from hybrid_ml_scheduler.storage import LoadHistory as StoredLoad
from hybrid_ml_scheduler.storage import TrendPoint as StoredPoint

__all__ = [
    "STORED_NAMES",
    "ledger_page",
    "ledger_row",
    "load_history",
    "model_version",
    "result_view",
    "stored_notifications",
    "stored_shift",
    "task_facts",
    "trend_point",
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


def task_facts(row: TaskRow) -> TaskFacts:
    """Return a stored task."""
    return TaskFacts(**{**row._asdict(), "dependencies": json.loads(row.dependencies)})


def result_view(row: ResultRow) -> Result:
    """Return one strategy's stored outcome."""
    return Result(
        **{task: getattr(row, stored) for task, stored in TASK_METRICS.items()},
        gpu_fraction=row.gpu_fraction,
        device=row.device,
    )


def ledger_row(row: StoredRow) -> LedgerRow:
    """Return one row of the ledger."""
    wire_names = {stored: wire for wire, stored in STORED_NAMES.items()}
    return LedgerRow(**{wire_names.get(name, name): value for name, value in row._asdict().items()})


def ledger_page(page: StoredPage, query: LedgerQuery, sort: str) -> LedgerPage:
    """Return a page of the ledger with the marks that lead to its neighbours."""
    rows = page.rows
    return LedgerPage(
        rows=[ledger_row(row) for row in rows],
        total=page.total,
        first_task=page.first_task,
        last_task=page.last_task,
        next=written_mark(mark_of(rows[-1], sort)) if rows and page.has_next else None,
        previous=written_mark(mark_of(rows[0], sort)) if rows and page.has_previous else None,
        limit=query.limit,
        offset=query.offset,
        sort=query.sort,
        order=query.order,
    )


def load_history(found: StoredLoad, scheduler: str, run_id: int | None, shifts: Sequence[EventRow]) -> LoadHistory:
    """Return how busy the devices were, with the shifts that belong on the same axis."""
    begin_s = found.edges_s[0] if found.edges_s else 0.0
    markers = [stored_shift(row) for row in reversed(shifts)]
    return LoadHistory(
        run_id=run_id,
        scheduler=scheduler,
        edges_s=list(found.edges_s),
        busy={name: [None if share != share else share for share in column] for name, column in found.busy.items()},
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


def trend_point(point: StoredPoint) -> TrendPoint:
    """Return one point of the trend."""
    averages = point.averages
    return TrendPoint(
        first_task_id=point.first_task,
        last_task_id=point.last_task,
        tasks=point.tasks,
        simulated_time_s=point.simulated_time_s,
        **{f"avg_{metric.value}": dict(averages[TASK_METRICS[metric.value]]) for metric in Metric},
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
    return {**stored_shift(row).model_dump(), "at": row.created_at}
