"""Rows as columns are the rows they stand for: stored, compared and summed up alike."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest

from hybrid_ml_scheduler.plans.metrics import TASK_METRICS
from hybrid_ml_scheduler.storage import (
    FACTS,
    NUMBERS,
    ReplayError,
    ResultColumns,
    ResultRow,
    RowBatch,
    StorageError,
    Store,
    TaskBlock,
    clear_history,
    data_counts,
    integrity,
    next_task_id,
    results_between,
    task_history,
    training_records,
    trend,
    verify_replay,
    write_batch,
)
from hybrid_ml_scheduler.storage.write.copying import binary_rows
from tests.contracts.storage import samples


def loose(run_id: int, first: int, count: int, *, seed: int = 1) -> RowBatch:
    """Rows without parents, with every kind of device and a failure among them."""
    batch = samples.batch(run_id, first, count, seed=seed)
    results = [
        samples.failed(row.task_id, row.scheduler_name) if row.task_id % 11 == 3 and row.gpu_id < 0 else row
        for row in batch.results
    ]
    kinds = ("", "encode", "größer")
    tasks = [samples.plain(row)._replace(kind=kinds[row.task_id % 3]) for row in batch.tasks]
    return replace(batch, tasks=tasks, results=results)


def block_of(batch: RowBatch) -> TaskBlock:
    """The same rows as columns."""
    facts = {name: [getattr(row, name) for row in batch.tasks] for name in FACTS[:4]}
    facts |= {name: [getattr(row, name) for row in batch.training] for name in FACTS[4:]}
    by_name: dict[str, list[ResultRow]] = {}
    for row in batch.results:
        by_name.setdefault(row.scheduler_name, []).append(row)
    return TaskBlock(
        run_id=batch.tasks[0].run_id,
        task_id=np.array([row.task_id for row in batch.tasks]),
        facts=np.array([facts[name] for name in FACTS]),
        results={name: columns_of(rows) for name, rows in by_name.items()},
        kind=[row.kind for row in batch.tasks],
    )


def columns_of(rows: list[ResultRow]) -> ResultColumns:
    return ResultColumns(
        gpu_id=np.array([row.gpu_id for row in rows], dtype=np.int32),
        out_of_memory=np.array([row.out_of_memory for row in rows]),
        failed=np.array([row.failed for row in rows]),
        numbers=np.array([[getattr(row, name) for row in rows] for name in NUMBERS], dtype=np.float64),
    )


def ordered(rows: list[ResultRow]) -> list[ResultRow]:
    return sorted(rows, key=lambda row: row[:2])


async def test_a_block_is_read_back_as_its_rows_to_the_last_bit(store: Store) -> None:
    run_id = await samples.new_run(store)
    batch = loose(run_id, 0, 120)
    assert any(row.failed for row in batch.results)
    report = await write_batch(store, RowBatch(blocks=[block_of(batch)]))
    assert (report.inserted, report.repeated, report.skipped) == (120 * 8, 0, 0)
    assert await results_between(store, 0, 119) == ordered(list(batch.results))
    assert await training_records(store) == list(batch.training)[::-1]
    found = await task_history(store, 4)
    assert found is not None
    assert found.task == batch.tasks[4]
    assert (await integrity(store)).whole
    counts = await data_counts(store)
    assert (counts.tasks, counts.results, counts.training, counts.next_task_id) == (120, 720, 120, 120)


async def test_blocks_and_loose_rows_of_one_batch_go_together(store: Store) -> None:
    run_id = await samples.new_run(store)
    single, together, later = loose(run_id, 0, 3), loose(run_id, 3, 30), loose(run_id, 33, 30)
    batch = RowBatch.merge([single, RowBatch(blocks=[block_of(together)]), RowBatch(blocks=[block_of(later)])])
    assert len(batch) == 63 * 8
    assert len(batch.blocks) == 1, "blocks of one run with the same strategies become one"
    assert (await write_batch(store, batch)).inserted == 63 * 8
    rows = [*single.results, *together.results, *later.results]
    assert await results_between(store, 0, 62) == ordered(rows)
    assert (await integrity(store)).whole


async def test_blocks_of_other_runs_and_strategies_stay_apart(store: Store) -> None:
    first, second = await samples.new_run(store), await samples.new_run(store)
    parts = [loose(first, 0, 5), loose(second, 5, 5), samples.batch(second, 10, 4, schedulers=("greedy",))]
    parts[2] = replace(parts[2], tasks=[samples.plain(row) for row in parts[2].tasks])
    merged = RowBatch.merge([RowBatch(blocks=[block_of(part)]) for part in parts])
    assert len(merged.blocks) == 3
    await write_batch(store, merged)
    assert await results_between(store, 0, 13) == ordered([row for part in parts for row in part.results])
    history = [await task_history(store, task_id) for task_id in (4, 5, 13)]
    assert [found.task.run_id for found in history if found is not None] == [first, second, second]


async def test_a_block_that_is_stored_already_is_compared_and_not_repeated(store: Store) -> None:
    run_id = await samples.new_run(store)
    batch = RowBatch(blocks=[block_of(loose(run_id, 0, 40))])
    await write_batch(store, batch)
    before = await data_counts(store)
    report = await write_batch(store, batch)
    assert (report.inserted, report.repeated, report.differences) == (0, 40 * 8, ())
    assert await data_counts(store) == before
    await verify_replay(store, batch)


async def test_a_block_that_reaches_further_stores_what_is_missing(store: Store) -> None:
    run_id = await samples.new_run(store)
    await write_batch(store, loose(run_id, 0, 30))
    report = await write_batch(store, RowBatch(blocks=[block_of(loose(run_id, 20, 30))]))
    assert (report.repeated, report.inserted, report.differences) == (10 * 8, 20 * 8, ())
    assert await next_task_id(store) == 50
    assert (await integrity(store)).whole


async def test_a_block_that_differs_from_what_is_stored_is_told(store: Store) -> None:
    run_id = await samples.new_run(store)
    await write_batch(store, loose(run_id, 0, 5))
    other = block_of(loose(run_id, 0, 5))
    other.results["greedy"].number("latency")[2] *= 1 + 1e-15
    report = await write_batch(store, RowBatch(blocks=[other]))
    assert len(report.differences) == 1
    assert "task 2 of greedy" in report.differences[0]
    with pytest.raises(ReplayError, match="latency"):
        await verify_replay(store, RowBatch(blocks=[other]))


async def test_cleared_tasks_of_a_block_stay_away(store: Store) -> None:
    run_id = await samples.new_run(store)
    await write_batch(store, loose(run_id, 0, 20))
    await clear_history(store)
    report = await write_batch(store, RowBatch(blocks=[block_of(loose(run_id, 15, 10))]))
    assert (report.skipped, report.inserted) == (5 * 8, 5 * 8)
    assert [row.task_id for row in await training_records(store)] == [24, 23, 22, 21, 20]


async def test_a_task_twice_in_a_block_is_refused_with_all_of_its_batch(store: Store) -> None:
    run_id = await samples.new_run(store)
    block = block_of(loose(run_id, 0, 6))
    twice = replace(block, task_id=np.array([0, 1, 2, 3, 4, 4]))
    with pytest.raises(StorageError):
        await write_batch(store, RowBatch(blocks=[twice], checkpoint=samples.checkpoint(run_id, 6)))
    counts = await data_counts(store)
    assert (counts.tasks, counts.results, counts.training, counts.next_task_id) == (0, 0, 0, 0)


async def test_rollups_of_blocks_are_those_of_their_rows(store: Store) -> None:
    rows_run, block_run = await samples.new_run(store), await samples.new_run(store)
    rows = loose(rows_run, 0, 1100)
    await write_batch(store, rows)
    same = loose(block_run, 1100, 1100)
    await write_batch(store, RowBatch(blocks=[block_of(same)]))
    for run_id, batch in ((rows_run, rows), (block_run, same)):
        points = (await trend(store, points=4, run_id=run_id)).points
        assert points
        for point in points:
            mine = [row for row in batch.results if point.first_task_id <= row.task_id <= point.last_task_id]
            for metric in ("time", "latency", "energy", "cost"):
                stored = TASK_METRICS[metric]
                known = [getattr(row, stored) for row in mine if row.scheduler_name == "greedy" and not row.failed]
                assert getattr(point, f"avg_{metric}")["greedy"] == pytest.approx(sum(known) / len(known))


def test_packed_rows_are_fields_with_their_lengths_big_end_first() -> None:
    rows = binary_rows(
        [
            np.array([7, -1]),
            "añ",
            None,
            np.array([0.5, -2.0]),
            np.array([3, 4], dtype=np.int32),
            np.array([True, False]),
        ]
    )
    text = "añ".encode()
    expected = b"".join(
        struct.pack(f">hiqi{len(text)}siidiii?", 6, 8, number, len(text), text, -1, 8, value, 4, small, 1, flag)
        for number, value, small, flag in ((7, 0.5, 3, True), (-1, -2.0, 4, False))
    )
    assert rows == expected
