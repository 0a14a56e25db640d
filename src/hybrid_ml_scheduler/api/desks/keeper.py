"""The arena's rows as the store's rows: where `live` and `storage` meet."""

from __future__ import annotations

import json
import math

from hybrid_ml_scheduler.live.records import Activation, Rows
from hybrid_ml_scheduler.storage import (
    CheckpointRow,
    EventRow,
    ModelRow,
    NotificationRow,
    RowBatch,
    StoreWriter,
    TrainingRow,
    result_row,
    task_row,
)

__all__ = ["StoreKeeper", "stored_rows"]


class StoreKeeper:
    """Keeps rows in the store's bounded backlog."""

    def __init__(self, writer: StoreWriter) -> None:
        self._writer = writer

    def has_room(self, rows: int) -> bool:
        """Say whether this many rows can be taken without waiting."""
        health = self._writer.health()
        return health.backlog_rows == 0 or health.backlog_rows + rows <= health.capacity_rows

    def keep(self, rows: Rows) -> None:
        """Take the rows."""
        self._writer.put(stored_rows(rows))

    @property
    def backlog(self) -> int:
        """Rows taken and not yet stored."""
        return self._writer.health().backlog_rows

    @property
    def is_up(self) -> bool:
        """Whether rows are being stored at the moment."""
        return self._writer.health().state == "ok"


def stored_rows(rows: Rows) -> RowBatch:
    """Return the batch that stores these rows."""
    run, checkpoint = rows.run_id, rows.checkpoint
    return RowBatch(
        tasks=[task_row(run, task) for task in rows.tasks],
        results=[result_row(name, outcome) for name, outcome in rows.outcomes],
        training=[
            TrainingRow(task.task_id, task.size, task.compute_intensity, task.memory_required, fraction, seconds)
            for task, fraction, seconds in rows.labels
        ],
        models=[_model(run, one) for one in rows.activations],
        notifications=[NotificationRow(run, one.key, one.level, one.message, one.at) for one in rows.notices],
        events=[
            EventRow(run, one.sequence, one.boundary, one.kind, json.dumps(dict(one.payload)), one.at)
            for one in rows.events
        ],
        checkpoint=None
        if checkpoint is None
        else CheckpointRow(run, checkpoint.boundary, checkpoint.blob, checkpoint.at),
    )


def _model(run: int, one: Activation) -> ModelRow:
    return ModelRow(
        run_id=run,
        scheduler_name=one.scheduler,
        version=one.version,
        boundary=one.boundary,
        created_at=one.at,
        samples=one.samples,
        error=_known(one.error),
        duration=one.duration_s,
        digest=one.digest,
    )


def _known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
