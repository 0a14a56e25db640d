"""Running sums over fixed ranges of tasks, kept in the same transaction as the rows they sum up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.core import FloatColumn, IntColumn
from hybrid_ml_scheduler.storage.bulk import upsert_statement
from hybrid_ml_scheduler.storage.records import METRICS
from hybrid_ml_scheduler.storage.rows import ResultRow
from hybrid_ml_scheduler.storage.tables import rollups

__all__ = ["BUCKET_TASKS", "add_to_rollups"]

BUCKET_TASKS = 250


async def add_to_rollups(connection: AsyncConnection, rows: Sequence[ResultRow], run_of: Mapping[int, int]) -> None:
    """Add the rows to the sums of their buckets; `run_of` gives the run of each task."""
    if not rows:
        return
    insert = upsert_statement(connection, rollups)
    new, old = insert.excluded, rollups.c
    changes: dict[str, Any] = {name: old[name] + new[name] for name in ("results", "finished", *METRICS)}
    changes["last_arrival"] = sa.case((new.last_arrival > old.last_arrival, new.last_arrival), else_=old.last_arrival)
    keys = [old.run_id, old.bucket, old.scheduler_name]
    await connection.execute(insert.on_conflict_do_update(index_elements=keys, set_=changes), _sums(rows, run_of))


def _sums(rows: Sequence[ResultRow], run_of: Mapping[int, int]) -> list[dict[str, Any]]:
    """Sum up by (run, bucket, strategy), column by column: a loop over rows would slow the race."""
    columns = dict(zip(ResultRow._fields, zip(*rows, strict=True), strict=True))
    names = tuple(dict.fromkeys(columns["scheduler_name"]))
    code_of = {name: code for code, name in enumerate(names)}
    codes = np.fromiter(map(code_of.__getitem__, columns["scheduler_name"]), dtype=np.int64, count=len(rows))
    buckets = np.array(columns["task_id"], dtype=np.int64) // BUCKET_TASKS
    run_ids = np.fromiter(map(run_of.__getitem__, columns["task_id"]), dtype=np.int64, count=len(rows))
    wanted = (*METRICS, "finish_time")
    values = {name: np.array(columns[name], dtype=np.float64) for name in wanted}  # None becomes NaN
    return [
        entry
        for run_id in np.unique(run_ids).tolist()
        for entry in _sums_of_run(run_id, run_ids == run_id, buckets, codes, names, values)
    ]


def _sums_of_run(
    run_id: int,
    mine: np.ndarray,
    buckets: IntColumn,
    codes: IntColumn,
    names: Sequence[str],
    values: Mapping[str, FloatColumn],
) -> Iterator[dict[str, Any]]:
    first = int(buckets[mine].min())
    group = (buckets[mine] - first) * len(names) + codes[mine]
    own = {name: column[mine] for name, column in values.items()}
    finished = np.isfinite(own["latency"])
    counts, done = np.bincount(group), np.bincount(group, weights=finished)
    sums = {name: np.bincount(group, weights=np.where(finished, own[name], 0.0)) for name in METRICS}
    arrivals = np.zeros(len(counts))
    np.maximum.at(arrivals, group[finished], (own["finish_time"] - own["latency"])[finished])
    for place in np.flatnonzero(counts).tolist():
        yield {
            "run_id": run_id,
            "bucket": first + place // len(names),
            "scheduler_name": names[place % len(names)],
            "results": int(counts[place]),
            "finished": int(done[place]),
            "last_arrival": float(arrivals[place]),
            **{name: float(column[place]) for name, column in sums.items()},
        }
