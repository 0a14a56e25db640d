"""Running sums over fixed ranges of tasks, kept in the same transaction as the rows they sum up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.core import FloatColumn, IntColumn
from hybrid_ml_scheduler.storage.connect.tables import rollups
from hybrid_ml_scheduler.storage.records import METRICS
from hybrid_ml_scheduler.storage.rows import ResultRow
from hybrid_ml_scheduler.storage.write.blocks import NUMBERS, TaskBlock
from hybrid_ml_scheduler.storage.write.bulk import UpsertStatement, upsert_statement

__all__ = ["BUCKET_TASKS", "add_to_rollups", "sums"]

BUCKET_TASKS = 250


async def add_to_rollups(connection: AsyncConnection, entries: Sequence[Mapping[str, Any]]) -> None:
    """Add sums to those of their buckets."""
    if not entries:
        return
    await connection.execute(_merge_statement(connection.dialect.name), entries)


@lru_cache(maxsize=2)
def _merge_statement(dialect: str) -> UpsertStatement:
    """Made once: to put it together takes longer than to send it."""
    insert = upsert_statement(dialect, rollups)
    new, old = insert.excluded, rollups.c
    changes: dict[str, Any] = {name: old[name] + new[name] for name in ("results", "finished", *METRICS)}
    changes["last_arrival"] = sa.case((new.last_arrival > old.last_arrival, new.last_arrival), else_=old.last_arrival)
    keys = [old.run_id, old.bucket, old.scheduler_name]
    return insert.on_conflict_do_update(index_elements=keys, set_=changes)


def sums(
    rows: Sequence[ResultRow], run_of: Mapping[int, int], blocks: Sequence[TaskBlock] = ()
) -> list[dict[str, Any]]:
    """Sum up results by (run, bucket, strategy), column by column: a loop over rows would slow the race.

    `run_of` gives the run of each task among the rows.
    """
    parts = [*_of_rows(rows, run_of), *(part for block in blocks for part in _of_block(block))]
    names = tuple(dict.fromkeys(part.scheduler_name for part in parts))
    runs = dict.fromkeys(part.run_id for part in parts)
    return [entry for run_id in runs for entry in _sums_of_run(run_id, [p for p in parts if p.run_id == run_id], names)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """Results of one run with one strategy: `values` has a line for each of `METRICS` and one for the finish."""

    run_id: int
    scheduler_name: str
    task_id: IntColumn
    values: FloatColumn


_SUMMED = (*METRICS, "finish_time")


def _of_block(block: TaskBlock) -> Iterator[_Part]:
    lines = [NUMBERS.index(name) for name in _SUMMED]
    for name, columns in block.results.items():
        yield _Part(run_id=block.run_id, scheduler_name=name, task_id=block.task_id, values=columns.numbers[lines])


def _of_rows(rows: Sequence[ResultRow], run_of: Mapping[int, int]) -> Iterator[_Part]:
    alike: dict[tuple[int, str], list[ResultRow]] = {}
    for row in rows:
        alike.setdefault((run_of[row.task_id], row.scheduler_name), []).append(row)
    for (run_id, name), some in alike.items():
        columns = dict(zip(ResultRow._fields, zip(*some, strict=True), strict=True))
        yield _Part(
            run_id=run_id,
            scheduler_name=name,
            task_id=np.array(columns["task_id"], dtype=np.int64),
            values=np.array([columns[name] for name in _SUMMED], dtype=np.float64),  # None becomes NaN
        )


def _sums_of_run(run_id: int, parts: Sequence[_Part], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    buckets = np.concatenate([part.task_id for part in parts]) // BUCKET_TASKS
    codes = np.repeat([names.index(part.scheduler_name) for part in parts], [len(part.task_id) for part in parts])
    own = dict(zip(_SUMMED, np.concatenate([part.values for part in parts], axis=1), strict=True))
    first = int(buckets.min())
    group = (buckets - first) * len(names) + codes
    finished = np.isfinite(own["latency"])
    counts, done = np.bincount(group), np.bincount(group, weights=finished)
    # A real run has no joules and dollars by task.
    sums = {name: np.bincount(group, weights=np.where(finished, np.nan_to_num(own[name]), 0.0)) for name in METRICS}
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
