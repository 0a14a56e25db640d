"""The ledger: one row for each decision, sorted and filtered within a window of tasks.

No index holds ten million rows in order of energy, so sorting by a metric looks at a bounded window, and the page says
which tasks that window holds.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import scheduler_results, tasks
from hybrid_ml_scheduler.storage.errors import StorageError
from hybrid_ml_scheduler.storage.records import LedgerPage, LedgerQuery, LedgerRow

__all__ = ["ledger"]

_LARGEST_WINDOW = 20_000
_LARGEST_PAGE = 1000

_COLUMNS: dict[str, sa.ColumnElement[Any]] = {
    name: scheduler_results.c["id"]
    if name == "result_id"
    else (tasks.c[name] if name in tasks.c and name != "task_id" else scheduler_results.c[name])
    for name in LedgerRow._fields
}


async def ledger(store: Store, query: LedgerQuery) -> LedgerPage:
    """Return one page of the ledger."""
    _check(query)
    async with store.reading() as connection:
        first, last, is_exact = await _window(connection, query)
        if first is None:
            return LedgerPage(rows=(), total=0, is_exact=True, first_task=None, last_task=None)
        total = (await connection.execute(_matching(query, first, last, sa.func.count()))).scalar_one()
        rows = [LedgerRow(*record) for record in await connection.execute(_page(query, first, last))]
    return LedgerPage(rows=rows, total=total, is_exact=is_exact, first_task=first, last_task=last)


def _check(query: LedgerQuery) -> None:
    if query.sort not in _COLUMNS:
        raise StorageError(f"The ledger cannot be sorted by {query.sort!r}; one of {', '.join(_COLUMNS)} can.")
    if not 0 < query.limit <= _LARGEST_PAGE or query.offset < 0:
        raise StorageError(f"A page of the ledger has 1 to {_LARGEST_PAGE} rows and begins at 0 or later.")
    if not 0 < query.window <= _LARGEST_WINDOW:
        raise StorageError(f"The window of the ledger has 1 to {_LARGEST_WINDOW} tasks.")


async def _window(connection: AsyncConnection, query: LedgerQuery) -> tuple[int | None, int, bool]:
    """Return the oldest and newest task of the window, and whether nothing lies before it."""
    if query.task_id is not None:
        return query.task_id, query.task_id, True
    ids = sa.select(tasks.c.task_id).order_by(tasks.c.task_id.desc())
    if query.run_id is not None:
        ids = ids.where(tasks.c.run_id == query.run_id)
    if query.last_task is not None:
        ids = ids.where(tasks.c.task_id <= query.last_task)
    window = ids.limit(query.window + 1).subquery()
    ends = sa.select(sa.func.min(window.c.task_id), sa.func.max(window.c.task_id), sa.func.count())
    oldest, newest, count = (await connection.execute(ends)).one()
    if count <= query.window:
        return oldest, newest or 0, query.last_task is None
    return oldest + 1, newest, False


def _matching(query: LedgerQuery, first: int, last: int, *columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Select from the results that match; the tasks are joined only where they are asked about."""
    found = sa.select(*columns).where(scheduler_results.c.task_id.between(first, last))
    if query.run_id is not None or _is_of_task(query.sort):
        joined = scheduler_results.join(tasks, tasks.c.task_id == scheduler_results.c.task_id)
        found = found.select_from(joined)
    else:
        found = found.select_from(scheduler_results)
    if query.run_id is not None:
        found = found.where(tasks.c.run_id == query.run_id)
    if query.scheduler is not None:
        found = found.where(scheduler_results.c.scheduler_name == query.scheduler)
    if query.device is not None:
        found = found.where(scheduler_results.c.device == query.device)
    return found


def _is_of_task(column: str) -> bool:
    return column in tasks.c and column != "task_id"


def _page(query: LedgerQuery, first: int, last: int) -> sa.Select[Any]:
    """Select the rows of the page: find their ids first, so that only these few are joined with their tasks."""
    ids = _matching(query, first, last, scheduler_results.c["id"])
    ids = ids.order_by(*_order(query)).offset(query.offset).limit(query.limit)
    joined = scheduler_results.join(tasks, tasks.c.task_id == scheduler_results.c.task_id)
    columns = [column.label(name) for name, column in _COLUMNS.items()]
    chosen = sa.select(*columns).select_from(joined).where(scheduler_results.c["id"].in_(ids.scalar_subquery()))
    return chosen.order_by(*_order(query))


def _order(query: LedgerQuery) -> list[sa.ColumnElement[Any]]:
    """Sort by the wanted column, missing values last, and then so that no two rows are equal."""
    column = _COLUMNS[query.sort]
    direction = column.desc() if query.descending else column.asc()
    ties = [scheduler_results.c.task_id.desc() if query.descending else scheduler_results.c.task_id.asc()]
    if query.sort == "task_id":
        return [*ties, scheduler_results.c.scheduler_name.asc()]
    return [direction.nulls_last(), *ties, scheduler_results.c.scheduler_name.asc()]
