"""The arena's rows as the store's rows: where `live` and `storage` meet."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np

from hybrid_ml_scheduler.cluster import RunColumns
from hybrid_ml_scheduler.live.records import Activation, RacedStretch, Rows
from hybrid_ml_scheduler.physics import Tariff
from hybrid_ml_scheduler.storage import (
    FACTS,
    NUMBERS,
    CheckpointRow,
    EventRow,
    ModelRow,
    NotificationRow,
    ResultColumns,
    RowBatch,
    StoreWriter,
    TaskBlock,
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
        """Say whether this many rows can be taken, or are refused, without waiting."""
        health = self._writer.health()
        if health.state == "failed":
            return True
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

    @property
    def refusal(self) -> str | None:
        """Why no more rows are taken, in one sentence."""
        health = self._writer.health()
        return health.last_error if health.state == "failed" else None


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
        models=[model_row(run, one) for one in rows.activations],
        notifications=[NotificationRow(run, one.key, one.level, one.message, one.at) for one in rows.notices],
        events=[
            EventRow(run, one.sequence, one.boundary, one.kind, json.dumps(dict(one.payload)), one.at)
            for one in rows.events
        ],
        checkpoint=None
        if checkpoint is None
        else CheckpointRow(run, checkpoint.boundary, checkpoint.blob, checkpoint.at),
        blocks=(_block(run, rows.stretches),) if rows.stretches else (),
    )


def _block(run: int, stretches: Sequence[RacedStretch]) -> TaskBlock:
    """Return tasks that were taken together; all stretches of a race have the same strategies."""
    batches = [one.batch for one in stretches]
    facts = {name: np.concatenate([getattr(batch, name) for batch in batches]) for name in FACTS[:4]}
    facts["optimal_gpu_fraction"] = np.concatenate([one.label_fraction for one in stretches])
    facts["optimal_time"] = np.concatenate([one.label_s for one in stretches])
    return TaskBlock(
        run_id=run,
        task_id=np.concatenate([batch.task_id for batch in batches]),
        facts=np.array([facts[name] for name in FACTS]),
        results={name: _results(RunColumns.join([one.runs[name] for one in stretches])) for name in stretches[0].runs},
        kind=[batch.kind_names[code] for batch in batches for code in batch.kind.tolist()],
    )


def _results(columns: RunColumns) -> ResultColumns:
    energy, cost = columns.charges(Tariff(columns.node))
    numbers = {
        "gpu_fraction": np.nan_to_num(columns.gpu_fraction, nan=0.0),
        "actual_time": columns.execution_s,
        "latency": columns.latency_s,
        "wait": columns.wait_s,
        "energy_consumption": energy,
        "execution_cost": cost,
        "ready_time": columns.ready_s,
        "start_time": columns.start_s,
        "finish_time": columns.finish_s,
        "cpu_part": columns.cpu_s,
        "gpu_part": columns.gpu_s,
        "cpu_start": columns.cpu_start_s,
        "gpu_start": columns.gpu_start_s,
    }
    return ResultColumns(
        gpu_id=columns.gpu,
        out_of_memory=columns.out_of_memory,
        failed=columns.failed,
        numbers=np.array([numbers[name] for name in NUMBERS]),
    )


def model_row(run: int, one: Activation) -> ModelRow:
    """Return a model as it is stored."""
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
        outcome=one.outcome,
        held_out_error=_known(one.held_out_error),
        present_error=_known(one.present_error),
    )


def _known(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
