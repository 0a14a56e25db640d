"""A table read page by page in the order of its key, each page a query of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import sqlalchemy as sa

from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import metadata, scheduler_results, tasks
from hybrid_ml_scheduler.storage.errors import StorageError

__all__ = ["EXPORT_TABLES", "ExportPages", "ExportTable"]

ExportTable = Literal[
    "history", "tasks", "scheduler_results", "training_data", "model_versions", "runs", "notifications", "events"
]
EXPORT_TABLES: tuple[ExportTable, ...] = get_args(ExportTable)

_PAGE_ROWS = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPages:
    """What is read: columns, the key that orders them, and the newest task when reading began."""

    store: Store
    columns: Sequence[sa.ColumnElement[Any]]
    source: sa.FromClause
    key: Sequence[sa.Column[Any]]
    last_task: int

    @classmethod
    async def of(cls, store: Store, table: str) -> ExportPages:
        """Prepare to read a table, or `history`: results together with their tasks."""
        if table not in EXPORT_TABLES:
            raise StorageError(f"{table!r} cannot be exported; {', '.join(EXPORT_TABLES)} can.")
        async with store.reading() as connection:
            newest = (await connection.execute(sa.select(sa.func.max(tasks.c.task_id)))).scalar_one()
            last_task = -1 if newest is None else int(newest)  # a history without a task has an empty file
        columns, source, key = _history() if table in ("history", "scheduler_results") else _plain(table)
        if table == "scheduler_results":
            columns, source = list(scheduler_results.c), scheduler_results
        texts = [_readable(column) for column in columns]
        return cls(store=store, columns=texts, source=source, key=key, last_task=last_task)

    @property
    def names(self) -> list[str]:
        """The columns' names."""
        return [str(column.key) for column in self.columns]

    @property
    def kinds(self) -> list[str]:
        """The columns' kinds: int, float, bool or text."""
        return [_kind(column.type) for column in self.columns]

    async def read(self) -> AsyncIterator[Sequence[sa.Row[Any]]]:
        """Yield page after page; rows of tasks that came later are left out."""
        places = [self.names.index(column.key) for column in self.key]
        query = sa.select(*self.columns).select_from(self.source).order_by(*self.key).limit(_PAGE_ROWS)
        if self.key[0].key == "task_id":
            query = query.where(self.key[0] <= self.last_task)
        after: tuple[Any, ...] | None = None
        while True:
            page = query if after is None else query.where(sa.tuple_(*self.key) > sa.tuple_(*map(sa.literal, after)))
            async with self.store.reading() as connection:
                rows = (await connection.execute(page)).all()
            if rows:
                yield rows
            if len(rows) < _PAGE_ROWS:
                return
            after = tuple(rows[-1][place] for place in places)


def _history() -> tuple[list[Any], sa.FromClause, list[sa.Column[Any]]]:
    outcomes = [column for column in scheduler_results.c if column.key not in ("id", "task_id")]
    key = [scheduler_results.c.task_id, scheduler_results.c.scheduler_name]
    facts = [column for column in tasks.c if column.key != "task_id"]
    joined = scheduler_results.join(tasks, tasks.c.task_id == scheduler_results.c.task_id)
    return [scheduler_results.c.task_id, *facts, *outcomes], joined, key


def _plain(name: str) -> tuple[list[Any], sa.FromClause, list[sa.Column[Any]]]:
    table = metadata.tables[name]
    return list(table.c), table, list(table.primary_key.columns)


def _readable(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    return sa.cast(column, sa.Text).label(column.key) if isinstance(column.type, sa.JSON) else column


def _kind(kind: sa.types.TypeEngine[Any]) -> str:
    if isinstance(kind, sa.Boolean):
        return "bool"
    if isinstance(kind, sa.Integer):
        return "int"
    return "float" if isinstance(kind, sa.Double) else "text"
