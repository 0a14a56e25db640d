"""Rows that may be stored already: what a run computes again after a crash is held against what it had stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import scheduler_results, tasks, training_data
from hybrid_ml_scheduler.storage.errors import ReplayError
from hybrid_ml_scheduler.storage.rows import ResultRow, TaskRow, TrainingRow
from hybrid_ml_scheduler.storage.write.batches import RowBatch

__all__ = ["AnyRow", "Comparison", "compare_rows", "known_labels", "known_tasks", "row_columns", "verify_replay"]

_IDS_PER_QUERY = 500
_SHOWN_DIFFERENCES = 20

AnyRow = TaskRow | ResultRow | TrainingRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Rows that are not stored, how many are, and where the two versions differ."""

    missing: Sequence[Any]
    repeated: int = 0
    differences: Sequence[str] = ()


async def verify_replay(store: Store, batch: RowBatch) -> None:
    """Raise `ReplayError` unless every task, result and label of the batch is stored exactly like this."""
    batch = batch.spelled_out()
    parts = ((tasks, batch.tasks), (scheduler_results, batch.results), (training_data, batch.training))
    async with store.reading() as connection:
        for table, rows in parts:
            found = await compare_rows(connection, table, rows)
            if found.missing:
                raise ReplayError(f"{store.name} lacks {len(found.missing)} rows of {table.name} that are expected.")
            if found.differences:
                raise ReplayError(found.differences[0])


async def compare_rows(connection: AsyncConnection, table: sa.Table, rows: Sequence[AnyRow]) -> Comparison:
    """Hold rows against the table; floats are compared to the last bit."""
    if not rows:
        return Comparison(missing=())
    stored = await _stored(connection, table, type(rows[0]), sorted({row.task_id for row in rows}))
    missing: list[AnyRow] = []
    differences: list[str] = []
    for row in rows:
        there = stored.get(_key(row))
        if there is None:
            missing.append(row)
        elif there != row and len(differences) < _SHOWN_DIFFERENCES:
            differences.append(_difference(table.name, there, row))
    return Comparison(missing=missing, repeated=len(rows) - len(missing), differences=differences)


async def known_tasks(
    connection: AsyncConnection, given: Sequence[TaskRow], results: Sequence[ResultRow]
) -> dict[int, TaskRow]:
    """Return every task that the results belong to; late results have their task in the table."""
    known = {row.task_id: row for row in given}
    others = sorted({row.task_id for row in results if row.task_id not in known})
    columns = row_columns(tasks, TaskRow)
    for begin in range(0, len(others), _IDS_PER_QUERY):
        query = sa.select(*columns).where(tasks.c.task_id.in_(others[begin : begin + _IDS_PER_QUERY]))
        known.update((record.task_id, TaskRow(*record)) for record in await connection.execute(query))
    return known


async def known_labels(
    connection: AsyncConnection, given: Sequence[TrainingRow], results: Sequence[ResultRow]
) -> dict[int, float]:
    """Return the fastest execution of every task that the results belong to, where it has a label."""
    known = {row.task_id: row.optimal_time for row in given}
    others = sorted({row.task_id for row in results if row.task_id not in known})
    label = training_data.c
    for begin in range(0, len(others), _IDS_PER_QUERY):
        some = label.task_id.in_(others[begin : begin + _IDS_PER_QUERY])
        query = sa.select(label.task_id, label.optimal_time).where(some)
        known.update((task_id, fastest_s) for task_id, fastest_s in await connection.execute(query))
    return known


def row_columns(table: sa.Table, row_type: type[tuple[Any, ...]]) -> list[sa.ColumnElement[Any]]:
    """Return the columns of a row type, JSON as the text that was stored."""
    fields: tuple[str, ...] = row_type._fields  # type: ignore[attr-defined]
    return [
        sa.cast(table.c[name], sa.Text).label(name) if isinstance(table.c[name].type, sa.JSON) else table.c[name]
        for name in fields
    ]


async def _stored(
    connection: AsyncConnection, table: sa.Table, row_type: type[Any], ids: Sequence[int]
) -> dict[tuple[int, str], Any]:
    columns = row_columns(table, row_type)
    found: dict[tuple[int, str], Any] = {}
    for begin in range(0, len(ids), _IDS_PER_QUERY):
        query = sa.select(*columns).where(table.c.task_id.in_(ids[begin : begin + _IDS_PER_QUERY]))
        for record in await connection.execute(query):
            row = row_type(*record)
            found[_key(row)] = row
    return found


def _key(row: AnyRow) -> tuple[int, str]:
    return row.task_id, getattr(row, "scheduler_name", "")


def _difference(table: str, there: AnyRow, row: AnyRow) -> str:
    fields = zip(row._fields, there, row, strict=True)
    field, old, new = next((field, old, new) for field, old, new in fields if old != new)
    who = f"task {row.task_id}" + (f" of {_key(row)[1]}" if _key(row)[1] else "")
    return f"{table}: {who} is stored with {field} = {old!r} but was computed again as {new!r}."
