"""The ledger: one row for each decision, sorted and filtered over all that is stored.

No index holds ten million rows in order of energy. But the stretches (`storage.write.summaries`) say between which
values the rows of every 500 tasks lie, and how many they are: so the total is a sum of few numbers, and a page is read
from those stretches alone that can hold one of its rows.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.plans.metrics import TASK_METRICS
from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import runs, scheduler_results, stretches, tasks, totals
from hybrid_ml_scheduler.storage.errors import StorageError
from hybrid_ml_scheduler.storage.read.ledger_marks import read_mark, word_of
from hybrid_ml_scheduler.storage.read.ledger_reach import Reach, restrict_to_reach, within
from hybrid_ml_scheduler.storage.read.ledger_search import LedgerSearch, found_rows
from hybrid_ml_scheduler.storage.records import LedgerPage, LedgerQuery, LedgerRow

__all__ = ["ledger"]

_LARGEST_PAGE = 1000
_LARGEST_OFFSET = 100_000

# The wire says `time`, the tables say `actual_time`; both are fixed by what others rely on.
_STORED = {**TASK_METRICS, "scheduler": "scheduler_name", "result_id": "id"}


def _column(name: str) -> sa.ColumnElement[Any]:
    stored = _STORED.get(name, name)
    return tasks.c[stored] if stored in tasks.c and stored != "task_id" else scheduler_results.c[stored]


_COLUMNS = {field.name: _column(field.name) for field in fields(LedgerRow)}


async def _floor(connection: AsyncConnection, run_id: int | None) -> int:
    """The oldest id that is kept; a real run has ids of its own below zero, of which none goes by itself."""
    first = (await connection.execute(sa.select(runs.c.first_task).where(runs.c.run_id == run_id))).scalar()
    if first is not None and first < 0:
        return int(first)
    return int((await connection.execute(sa.select(totals.c.floor_task_id))).scalar_one())


async def ledger(store: Store, query: LedgerQuery) -> LedgerPage:
    """Return one page of the ledger."""
    _check(query)
    async with store.reading() as connection:
        reach = Reach.of(query, await _floor(connection, query.run_id))
        total, first, last = await _total(connection, reach)
        wanted = query.limit + 1  # one more, to know whether there is another page
        search = LedgerSearch(
            column=_STORED.get(query.sort, query.sort),
            descending=query.order == "desc",
            offset=query.offset,
            after=read_mark(query.after, query.sort),
            before=read_mark(query.before, query.sort),
        )
        keys = await found_rows(connection, reach, search, wanted) if total else []
        rows = await _rows(connection, [key.result_id for key in keys[: query.limit]])
    has_more = len(keys) > query.limit
    before, after = query.before is not None, query.after is not None or query.offset > 0
    if before:
        rows.reverse()
    return LedgerPage(
        rows=rows,
        total=total,
        first_task=first,
        last_task=last,
        next=word_of(rows[-1], query.sort) if rows and (has_more or before) else None,
        previous=word_of(rows[0], query.sort) if rows and (has_more if before else after) else None,
        limit=query.limit,
        offset=query.offset,
        sort=query.sort,
        order=query.order,
    )


def _check(query: LedgerQuery) -> None:
    if query.sort not in _COLUMNS:
        raise StorageError(f"The ledger cannot be sorted by {query.sort!r}; one of {', '.join(_COLUMNS)} can.")
    if not 0 < query.limit <= _LARGEST_PAGE or not 0 <= query.offset <= _LARGEST_OFFSET:
        raise StorageError(
            f"A page of the ledger has 1 to {_LARGEST_PAGE} rows and begins at 0 to {_LARGEST_OFFSET}; "
            "further on, ask for the rows after one that is known."
        )
    if sum((query.after is not None, query.before is not None, query.offset > 0)) > 1:
        raise PlanError("A page begins at an offset, after a row or before a row, not at two of them.")


async def _total(connection: AsyncConnection, reach: Reach) -> tuple[int, int | None, int | None]:
    """Return how many rows match, and the first and last task among them: whole stretches by their counts."""
    columns = stretches.c
    edges = (sa.func.min(columns.first_task), sa.func.max(columns.last_task))
    whole = restrict_to_reach(sa.select(sa.func.coalesce(sa.func.sum(columns.results), 0), *edges), reach)
    whole = whole.where(columns.first_task >= reach.first, columns.last_task <= reach.last)
    count, first, last = (await connection.execute(whole)).one()
    for part in await _cut(connection, reach):
        some, least, most = (await connection.execute(part)).one()
        count += some
        first = min((one for one in (first, least) if one is not None), default=None)
        last = max((one for one in (last, most) if one is not None), default=None)
    return int(count), first, last


async def _cut(connection: AsyncConnection, reach: Reach) -> list[sa.Select[Any]]:
    """Return counts of the rows in stretches that the range cuts through: these are counted one by one."""
    columns, results = stretches.c, scheduler_results.c
    begins = sa.and_(columns.first_task < reach.first, columns.last_task >= reach.first)
    ends = sa.and_(columns.last_task > reach.last, columns.first_task <= reach.last)
    entries = (columns.run_id, columns.stretch, columns.scheduler_name)
    edges = (columns.first_task, columns.last_task)
    query = restrict_to_reach(sa.select(*entries, *edges), reach).where(sa.or_(begins, ends))
    cut: dict[tuple[int, int], list[Any]] = {}
    for entry in await connection.execute(query):
        cut.setdefault((entry.run_id, entry.stretch), []).append(entry)
    counted: tuple[Any, ...] = (sa.func.count(), sa.func.min(results.task_id), sa.func.max(results.task_id))
    counts = []
    for several in cut.values():
        # Not of strategies whose lines lie within the range as a whole: these are counted already.
        count = sa.select(*counted).where(results.scheduler_name.in_([entry.scheduler_name for entry in several]))
        first = max(reach.first, min(entry.first_task for entry in several))
        last = min(reach.last, max(entry.last_task for entry in several))
        counts.append(within(count, reach, first, last))
    return counts


async def _rows(connection: AsyncConnection, ids: list[int]) -> list[LedgerRow]:
    """Return rows by their ids, in the order of these."""
    joined = scheduler_results.join(tasks, tasks.c.task_id == scheduler_results.c.task_id)
    columns = [column.label(name) for name, column in _COLUMNS.items()]
    query = sa.select(*columns).select_from(joined).where(scheduler_results.c["id"].in_(ids))
    found = {record.result_id: LedgerRow(**record._mapping) for record in await connection.execute(query)}
    return [found[one] for one in ids]
