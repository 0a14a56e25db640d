"""Finding the rows of a page: stretch by stretch, those that can hold the best rows first.

The k best rows lie within the k stretches whose best values are best, since each of these holds one such row at least.
So few stretches are read, and reading ends when no stretch that is left can hold a better row than those found.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.plans.metrics import TASK_METRICS
from hybrid_ml_scheduler.storage.connect.tables import ANY_DEVICE, scheduler_results, stretches, tasks
from hybrid_ml_scheduler.storage.read.ledger_marks import LedgerMark
from hybrid_ml_scheduler.storage.read.ledger_reach import Reach, restrict_to_reach, within

__all__ = ["LedgerSearch", "RowKey", "found_rows"]

_STRETCHES_A_READ = 8
_STRETCHES_AT_FIRST = 256
_NAMES = ("scheduler_name", "device")
_MAY_BE_MISSING = frozenset(TASK_METRICS.values())


class RowKey(NamedTuple):
    """What decides where a row stands."""

    value: Any
    task_id: int
    scheduler_name: str
    result_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerSearch:
    """The order of the rows by a column of the tables, and where the page begins in it."""

    column: str
    descending: bool
    offset: int
    after: LedgerMark | None
    before: LedgerMark | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Phase:
    """A part of the order that is searched on its own: rows with a value, rows without, or rows of one name.

    `column` is None where the number of the task alone decides; `after` is the row that those wanted come after.
    """

    reach: Reach
    column: str | None
    descending: bool
    names_descending: bool
    missing: str | None = None
    value: Any = None
    after: LedgerMark | None = None


async def found_rows(connection: AsyncConnection, reach: Reach, query: LedgerSearch, wanted: int) -> list[RowKey]:
    """Return the rows of a page in their order; with `before` in the opposite one, nearest first."""
    wanted += query.offset
    found: list[RowKey] = []
    for phase in await _phases(connection, reach, query):
        found += await _search(connection, phase, wanted - len(found))
        if len(found) >= wanted:
            break
    return found[query.offset :]


async def _phases(connection: AsyncConnection, reach: Reach, query: LedgerSearch) -> list[_Phase]:
    """Return the parts of the order one after the other, from the mark on."""
    backwards = query.before is not None
    mark = query.before or query.after
    whole = _Phase(
        reach=reach, column=None, descending=query.descending != backwards, names_descending=backwards, after=None
    )
    if query.column == "task_id":
        return [replace(whole, after=mark)]
    if query.column in _NAMES:
        phases = await _by_name(connection, whole, query.column)
    else:
        column = query.column
        values = replace(whole, column=column)
        missing = [replace(whole, missing=column)] if column in _MAY_BE_MISSING else []
        phases = [*missing, values] if backwards else [values, *missing]
    if mark is None:
        return phases
    place = next((i for i, phase in enumerate(phases) if _holds(phase, mark, query.column)), len(phases))
    return [replace(phase, after=mark if i == 0 else None) for i, phase in enumerate(phases[place:])]


def _holds(phase: _Phase, mark: LedgerMark, sort: str) -> bool:
    """Whether the marked row belongs to this part of the order."""
    if sort in _NAMES:
        return bool(phase.value == mark.value)
    return (mark.value is None) == (phase.missing is not None)


async def _by_name(connection: AsyncConnection, whole: _Phase, sort: str) -> list[_Phase]:
    """Return a part for each strategy or device, in the order of their names."""
    names = sorted(await _names(connection, whole.reach, sort), reverse=whole.descending)
    reach = whole.reach
    if sort == "scheduler_name":
        return [replace(whole, reach=replace(reach, scheduler=name), value=name) for name in names]
    return [replace(whole, reach=replace(reach, device=name), value=name) for name in names]


async def _names(connection: AsyncConnection, reach: Reach, sort: str) -> list[str]:
    """Return the strategies or the devices that occur."""
    if sort == "device" and reach.device is not None:
        return [reach.device]
    if sort == "scheduler_name":
        return list(
            (await connection.execute(restrict_to_reach(sa.select(stretches.c[sort]), reach).distinct())).scalars()
        )
    own = sa.select(stretches.c.device).where(stretches.c.device != ANY_DEVICE)
    for column, value in ((stretches.c.run_id, reach.run_id), (stretches.c.scheduler_name, reach.scheduler)):
        own = own if value is None else own.where(column == value)
    return list((await connection.execute(own.distinct())).scalars())


class _Stretch(NamedTuple):
    """Some tasks of one run, of one strategy where the value depends on it, and the best value they can hold."""

    scheduler: str | None
    first: int
    last: int
    best: Any


async def _search(connection: AsyncConnection, phase: _Phase, wanted: int) -> list[RowKey]:
    """Return the first rows of a part of the order."""
    found: list[RowKey] = []
    waiting: list[_Stretch] = []
    async for stretch in _stretches(connection, phase):
        if len(found) >= wanted and _is_beyond(stretch, found[wanted - 1], phase):
            break
        waiting.append(stretch)
        if len(waiting) == _STRETCHES_A_READ:
            found = _best([*found, *await _read(connection, phase, waiting, wanted)], phase, wanted)
            waiting = []
    if waiting:
        found = _best([*found, *await _read(connection, phase, waiting, wanted)], phase, wanted)
    return found


def _is_beyond(stretch: _Stretch, last: RowKey, phase: _Phase) -> bool:
    """Whether no row of a stretch, nor of any after it, can stand before the last one that is wanted."""
    edge = stretch.last if phase.descending else stretch.first
    if phase.column is None:
        return edge < last.task_id if phase.descending else edge > last.task_id
    best = stretch.best if phase.after is None else _nearest(stretch.best, phase)
    if best == last.value:
        return edge < last.task_id if phase.descending else edge > last.task_id
    return bool(best < last.value if phase.descending else best > last.value)


def _nearest(best: Any, phase: _Phase) -> Any:
    """Rows that stand before the mark are no longer wanted, so none has a better value than it."""
    mark = phase.after.value if phase.after is not None else best
    return min(best, mark) if phase.descending else max(best, mark)


def _best(keys: list[RowKey], phase: _Phase, wanted: int) -> list[RowKey]:
    keys.sort(key=lambda key: key.scheduler_name, reverse=phase.names_descending)
    keys.sort(key=lambda key: key.task_id, reverse=phase.descending)
    if phase.column is not None:
        keys.sort(key=lambda key: key.value, reverse=phase.descending)
    return keys[:wanted]


async def _stretches(connection: AsyncConnection, phase: _Phase) -> AsyncIterator[_Stretch]:
    """Yield the stretches that can hold rows of the part, those with the best values first."""
    query = _stretch_query(phase)
    for records in (query.limit(_STRETCHES_AT_FIRST), query.limit(2**31 - 1).offset(_STRETCHES_AT_FIRST)):
        rows = (await connection.execute(records)).all()
        for row in rows:
            yield _Stretch(*row)
        if len(rows) < _STRETCHES_AT_FIRST:
            return


def _stretch_query(phase: _Phase) -> sa.Select[Any]:
    columns, reach = stretches.c, phase.reach
    by_strategy = phase.column is not None
    first, last = sa.func.min(columns.first_task), sa.func.max(columns.last_task)
    low = sa.func.min(columns[f"low_{phase.column}"]) if by_strategy else first
    high = sa.func.max(columns[f"high_{phase.column}"]) if by_strategy else last
    best = high if phase.descending else low
    name = columns.scheduler_name if by_strategy else sa.null()
    query = restrict_to_reach(sa.select(name, first, last, best), reach)
    query = query.where(columns.last_task >= reach.first, columns.first_task <= reach.last)
    keys = (columns.run_id, columns.stretch, *((columns.scheduler_name,) if by_strategy else ()))
    query = query.group_by(*keys).having(best.is_not(None))
    if phase.missing is not None:
        query = query.having(sa.func.sum(columns.failed) > 0)
    if phase.after is not None:
        mark = phase.after.value if by_strategy else phase.after.task_id
        query = query.having(low <= mark if phase.descending else high >= mark)
    edge = last.desc() if phase.descending else first.asc()
    return query.order_by(*((best.desc() if phase.descending else best.asc(),) if by_strategy else ()), edge)


async def _read(connection: AsyncConnection, phase: _Phase, some: Sequence[_Stretch], wanted: int) -> list[RowKey]:
    """Return the best rows of each stretch."""
    parts = [sa.select(_row_query(connection, phase, stretch, wanted).subquery()) for stretch in some]
    query = sa.union_all(*parts) if len(parts) > 1 else parts[0]
    return [RowKey(*record) for record in await connection.execute(query)]


def _row_query(connection: AsyncConnection, phase: _Phase, stretch: _Stretch, wanted: int) -> sa.Select[Any]:
    results, column = scheduler_results.c, phase.column or phase.missing
    value = _column(column) if column is not None else results.task_id
    shown = value if phase.column is not None else sa.null()
    # The same order of names everywhere: that of their letters' numbers.
    name = results.scheduler_name.collate("C") if connection.dialect.name == "postgresql" else results.scheduler_name
    query: sa.Select[Any] = sa.select(shown.label("value"), results.task_id, results.scheduler_name, results["id"])
    if column is not None and column in tasks.c:
        query = query.select_from(scheduler_results.join(tasks, tasks.c.task_id == results.task_id))
    reach = phase.reach if stretch.scheduler is None else replace(phase.reach, scheduler=stretch.scheduler)
    query = within(query, reach, max(stretch.first, reach.first), min(stretch.last, reach.last))
    if column is not None:
        query = query.where(value.is_(None) if phase.missing is not None else value.is_not(None))
    if phase.after is not None:
        query = query.where(_after(phase, phase.after, value, name))
    order = [value] if phase.column is not None else []
    turned = [one.desc() if phase.descending else one.asc() for one in (*order, results.task_id)]
    return query.order_by(*turned, name.desc() if phase.names_descending else name.asc()).limit(wanted)


def _column(name: str) -> sa.Column[Any]:
    return tasks.c[name] if name in tasks.c else scheduler_results.c[name]


def _after(
    phase: _Phase, mark: LedgerMark, value: sa.ColumnElement[Any], name: sa.ColumnElement[Any]
) -> sa.ColumnElement[bool]:
    """Rows that stand after the marked one."""

    def later(column: sa.ColumnElement[Any], than: Any, descending: bool) -> sa.ColumnElement[bool]:
        found: sa.ColumnElement[bool] = column < than if descending else column > than
        return found

    ids = scheduler_results.c.task_id
    same_task = sa.and_(ids == mark.task_id, later(name, mark.scheduler_name, phase.names_descending))
    by_task = sa.or_(later(ids, mark.task_id, phase.descending), same_task)
    if phase.column is None:
        return by_task
    return sa.or_(later(value, mark.value, phase.descending), sa.and_(value == mark.value, by_task))
