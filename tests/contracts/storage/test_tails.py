"""Percentiles, slowdowns and kept deadlines of long ranges: those of the rows, without reading them."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import sqlalchemy as sa

from hybrid_ml_scheduler.storage import RangeTotals, RowBatch, Store, range_totals, remove_run, write_batch
from hybrid_ml_scheduler.storage.connect.tables import tails
from tests.contracts.storage import samples
from tests.contracts.storage.test_blocks import block_of, loose

STRATEGIES = ("greedy", "oracle")
FIRST, COUNT = 3, 5_700
RANGE = (FIRST + 210, FIRST + COUNT - 90)  # both ends lie within a stretch
LATE = range(1_000, 1_040)  # their results come last


def whole(run_id: int) -> RowBatch:
    batch = samples.batch(run_id, FIRST, COUNT, schedulers=STRATEGIES)
    results = [
        samples.failed(one.task_id, one.scheduler_name) if one.task_id % 50 == 9 else one for one in batch.results
    ]
    return replace(batch, results=results)


async def stored(store: Store) -> RowBatch:
    """A run in batches of uneven sizes, with results that come after those of later tasks."""
    batch = whole(await samples.new_run(store))
    edges = [FIRST, FIRST + 130, FIRST + 777, FIRST + 2_500, FIRST + 2_501, FIRST + COUNT]
    for begin, end in pairwise(edges):
        await write_batch(
            store,
            RowBatch(
                tasks=[row for row in batch.tasks if begin <= row.task_id < end],
                results=[row for row in batch.results if begin <= row.task_id < end and row.task_id not in LATE],
                training=[row for row in batch.training if begin <= row.task_id < end],
            ),
        )
    await write_batch(store, RowBatch(results=[row for row in batch.results if row.task_id in LATE]))
    return batch


def expected(batch: RowBatch, name: str) -> dict[str, float]:
    """The figures from the rows themselves."""
    fastest = {row.task_id: row.optimal_time for row in batch.training}
    deadline = {row.task_id: row.deadline for row in batch.tasks if row.deadline is not None}
    rows = [row for row in batch.results if row.scheduler_name == name and RANGE[0] <= row.task_id <= RANGE[1]]
    latency = {row.task_id: row.latency for row in rows if row.latency is not None}
    slowdown = [value / max(fastest[task_id], 0.01) for task_id, value in latency.items()]
    due = [row.task_id for row in rows if row.task_id in deadline]
    ranked = sorted(latency.values())
    return {
        "finished": len(latency),
        "p95": ranked[math.floor(0.95 * (len(ranked) - 1))],
        "p99_9": ranked[math.floor(0.999 * (len(ranked) - 1))],
        "longest": ranked[-1],
        "mean_slowdown": float(np.mean(slowdown)),
        "longest_slowdown": max(slowdown),
        "within": sum(latency.get(task_id, math.inf) <= deadline[task_id] for task_id in due) / len(due),
    }


def assert_told(total: RangeTotals, known: dict[str, float]) -> None:
    assert total.finished == known["finished"]
    assert total.p95_latency_s == pytest.approx(known["p95"], rel=0.0051)
    assert total.p99_9_latency_s == pytest.approx(known["p99_9"], rel=0.0051)
    assert total.longest_latency_s == known["longest"]
    assert total.mean_slowdown == pytest.approx(known["mean_slowdown"], rel=1e-12)
    assert total.longest_slowdown == known["longest_slowdown"]
    assert total.within_deadline == known["within"]


async def test_a_long_range_is_told_as_its_rows_say(store: Store) -> None:
    batch = await stored(store)
    found, _ = await range_totals(store, 1, *RANGE)
    assert set(found) == set(STRATEGIES)
    for name in STRATEGIES:
        assert_told(found[name], expected(batch, name))
    await write_batch(store, batch)  # what is there already is not counted twice
    again, _ = await range_totals(store, 1, *RANGE)
    assert again == found


async def test_stretches_of_which_nothing_is_kept_are_not_guessed_and_nothing_else_is_lost(store: Store) -> None:
    batch = await stored(store)
    async with store.writing() as connection:
        await connection.execute(sa.delete(tails).where(tails.c.stretch == 4, tails.c.scheduler_name == "greedy"))
    found, _ = await range_totals(store, 1, *RANGE)
    told = found["greedy"]
    assert (told.p95_latency_s, told.mean_slowdown, told.within_deadline) == (None, None, None)
    assert told.longest_latency_s == expected(batch, "greedy")["longest"]
    assert_told(found["oracle"], expected(batch, "oracle"))
    await samples.new_run(store)
    await remove_run(store, 1)
    async with store.reading() as connection:
        assert (await connection.execute(sa.select(sa.func.count()).select_from(tails))).scalar_one() == 0


async def test_columns_leave_the_spread_that_rows_leave(store: Store) -> None:
    rows = loose(await samples.new_run(store), 0, 700)
    await write_batch(store, RowBatch(blocks=[block_of(rows)]))
    other = loose(await samples.new_run(store, seed=8), 1_000, 700)
    alike = [row._replace(task_id=row.task_id + 1_000) for row in rows.results]
    labels = [row._replace(task_id=row.task_id + 1_000) for row in rows.training]
    await write_batch(store, replace(other, results=alike, training=labels))
    order = [tails.c.run_id, tails.c.scheduler_name, tails.c.stretch]
    async with store.reading() as connection:
        lines = (await connection.execute(sa.select(tails).order_by(*order))).all()
    first, second = ([line[1:] for line in lines if line.run_id == run_id] for run_id in (1, 2))
    assert len(first) == 2 * len(samples.SCHEDULERS)
    assert first == second
