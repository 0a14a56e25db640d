"""The ledger over all stored rows of several runs, held against a plain sort of the same rows in memory."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, get_args

import pytest
import sqlalchemy as sa

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.plans.metrics import TASK_METRICS
from hybrid_ml_scheduler.storage import (
    LedgerPage,
    LedgerQuery,
    LedgerRow,
    LedgerSort,
    Order,
    ResultRow,
    RowBatch,
    StorageError,
    Store,
    apply_retention,
    ledger,
    write_batch,
)
from hybrid_ml_scheduler.storage.connect.tables import ANY_DEVICE, stretches
from hybrid_ml_scheduler.storage.read.ledger_marks import word_of
from tests.contracts.storage import samples

STRATEGIES = ("greedy", "oracle", "round_robin")
SORTS: tuple[LedgerSort, ...] = get_args(LedgerSort)
# More than a stretch has, so that pages reach over several; the second run begins within nobody's stretch.
LENGTHS = (1130, 620)


@pytest.fixture
async def rows(store: Store) -> list[LedgerRow]:
    """Two runs with failed tasks and with values that many rows share; returns what the ledger holds."""
    found: list[LedgerRow] = []
    begin = 0
    for length in LENGTHS:
        run_id = await samples.new_run(store)
        whole = samples.batch(run_id, begin, length, schedulers=STRATEGIES)
        results = [_odd(row) for row in whole.results]
        for first in range(begin, begin + length, 400):
            ids = range(first, min(first + 400, begin + length))
            own = RowBatch(
                tasks=[row for row in whole.tasks if row.task_id in ids],
                results=[row for row in results if row.task_id in ids],
            )
            await write_batch(store, own)
        tasks = {row.task_id: row for row in whole.tasks}
        found += [_ledger_row(tasks[row.task_id], row) for row in results]
        begin += length
    return found


def _odd(row: ResultRow) -> ResultRow:
    """Some tasks fail, and some latencies are equal."""
    if row.task_id % 97 == 3:
        return samples.failed(row.task_id, row.scheduler_name)
    return row._replace(latency=1.5, device="gpu_1") if row.task_id % 50 == 7 else row


def _ledger_row(task: Any, result: ResultRow) -> LedgerRow:
    facts = {**task._asdict(), **result._asdict(), "result_id": 0}
    stored = {**TASK_METRICS, "scheduler": "scheduler_name"}
    return LedgerRow(**{one.name: facts[stored.get(one.name, one.name)] for one in fields(LedgerRow)})


def plain(rows: list[LedgerRow], query: LedgerQuery) -> list[LedgerRow]:
    """The matching rows in order, by three plain sorts."""
    wanted = {"scheduler": query.scheduler, "device": query.device, "run_id": query.run_id}
    found = [row for row in rows if all(value is None or getattr(row, name) == value for name, value in wanted.items())]
    found = [row for row in found if (query.first_task or 0) <= row.task_id <= (query.last_task or 10**9)]
    found.sort(key=lambda row: row.scheduler)
    found.sort(key=lambda row: row.task_id, reverse=query.order == "desc")
    known = [row for row in found if getattr(row, query.sort) is not None]
    known.sort(key=lambda row: getattr(row, query.sort), reverse=query.order == "desc")
    return [*known, *(row for row in found if getattr(row, query.sort) is None)]


def same(page: LedgerPage, expected: list[LedgerRow]) -> bool:
    return [replace(row, result_id=0) for row in page.rows] == expected


async def check(store: Store, rows: list[LedgerRow], query: LedgerQuery) -> None:
    """The first page, one in the middle both ways, and the last are those of the plain sort."""
    expected = plain(rows, query)
    first = await ledger(store, query)
    assert same(first, expected[: query.limit]), query
    assert first.total == len(expected)
    assert (first.previous is not None, first.next is not None) == (False, len(expected) > query.limit)
    for place in {len(expected) // 2, max(0, len(expected) - 9)}:
        at = word_of(expected[place], query.sort)
        following = await ledger(store, replace(query, after=at))
        assert same(following, expected[place + 1 : place + 1 + query.limit]), (query, place)
        assert (following.next is not None) == (place + 1 + query.limit < len(expected))
        earlier = await ledger(store, replace(query, before=at))
        assert same(earlier, expected[max(0, place - query.limit) : place]), (query, place)
        assert (earlier.previous is not None) == (place > query.limit)


@pytest.mark.parametrize("order", ["desc", "asc"])
async def test_every_order_holds_over_all_rows_of_all_runs(store: Store, rows: list[LedgerRow], order: Order) -> None:
    for sort in SORTS:
        await check(store, rows, LedgerQuery(limit=40, sort=sort, order=order))


async def test_filters_hold_in_every_order_and_totals_are_exact(store: Store, rows: list[LedgerRow]) -> None:
    second = max(row.run_id for row in rows)
    filters = (
        {"scheduler": "greedy", "run_id": second},
        {"device": "cpu"},
        {"scheduler": "oracle", "device": "gpu_2", "first_task": 40, "last_task": 1500},
        {"first_task": 777, "last_task": 1210},
    )
    for one in filters:
        for sort in ("task_id", "latency"):
            await check(store, rows, LedgerQuery(limit=25, sort=sort, **one))
    page = await ledger(store, LedgerQuery(task_id=12))
    assert {row.scheduler for row in page.rows} == set(STRATEGIES)
    assert page.total == len(STRATEGIES)
    nothing = await ledger(store, LedgerQuery(run_id=4711))
    assert (nothing.rows, nothing.total) == ([], 0)


async def test_an_offset_gives_the_same_page_as_a_mark(store: Store, rows: list[LedgerRow]) -> None:
    query = LedgerQuery(limit=30, sort="energy")
    page = await ledger(store, replace(query, offset=90))
    assert same(page, plain(rows, query)[90:120])
    assert page.previous is not None


async def test_rows_that_retention_removed_are_neither_shown_nor_counted(store: Store, rows: list[LedgerRow]) -> None:
    await apply_retention(store, keep_tasks=1000, chunk_tasks=300)
    kept = [row for row in rows if row.task_id >= sum(LENGTHS) - 1000]
    for sort in ("task_id", "latency"):
        await check(store, kept, LedgerQuery(limit=50, sort=sort))


async def test_a_page_reads_few_of_the_stretches(store: Store, rows: list[LedgerRow]) -> None:
    async with store.reading() as connection:
        entries = (await connection.execute(sa.select(sa.func.count()).select_from(stretches))).scalar_one()
        summed = sa.select(sa.func.sum(stretches.c.results))
        for own in (stretches.c.device == ANY_DEVICE, stretches.c.device != ANY_DEVICE):
            assert (await connection.execute(summed.where(own))).scalar_one() == len(rows)
    assert entries < len(rows) / 20


async def test_pages_without_bounds_are_refused(store: Store) -> None:
    for query in (LedgerQuery(limit=0), LedgerQuery(offset=-1)):
        with pytest.raises(StorageError):
            await ledger(store, query)
    for query in (LedgerQuery(after="x", before="x"), LedgerQuery(after="x")):
        with pytest.raises(PlanError):
            await ledger(store, query)
