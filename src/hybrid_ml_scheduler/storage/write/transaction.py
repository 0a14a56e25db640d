"""One batch, one transaction: all of its rows are stored, or none, and none twice.

The line of totals is locked first, so writers take turns and the highest id ever stored is known for certain: rows of
newer tasks cannot be there yet and go in by the fast road; rows of older ones are compared with what is stored.
Blocks of new tasks go into PostgreSQL as they are; elsewhere, and when they must be compared, row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import (
    checkpoints,
    events,
    model_versions,
    notifications,
    scheduler_results,
    tasks,
    totals,
    training_data,
)
from hybrid_ml_scheduler.storage.read.replay import AnyRow, Comparison, compare_rows, known_labels, known_tasks
from hybrid_ml_scheduler.storage.records import WriteReport
from hybrid_ml_scheduler.storage.rows import CheckpointRow, ResultRow
from hybrid_ml_scheduler.storage.write.batches import RowBatch
from hybrid_ml_scheduler.storage.write.bulk import insert_many, insert_unless_there
from hybrid_ml_scheduler.storage.write.copying import copy_checkpoint, copy_results, copy_tasks, copy_training
from hybrid_ml_scheduler.storage.write.rollup import add_to_rollups, sums
from hybrid_ml_scheduler.storage.write.summaries import add_to_summaries

__all__ = ["KEPT_CHECKPOINTS", "write_batch"]

KEPT_CHECKPOINTS = 2


async def write_batch(store: Store, batch: RowBatch) -> WriteReport:
    """Store a batch; what is there already is compared instead, and what was cleared is left out."""
    async with store.writing() as connection:
        floor, first_new = await _locked_totals(connection)
        if not (store.is_postgres and _all_from(batch, max(floor, first_new))):
            batch = batch.spelled_out()
        kept = _above(batch, floor)
        parts = [
            await _insert_new(connection, tasks, kept.tasks, first_new),
            await _insert_new(connection, scheduler_results, kept.results, first_new),
            await _insert_new(connection, training_data, kept.training, first_new),
        ]
        if kept.blocks:
            await copy_tasks(connection, tasks, kept.blocks)
            await copy_results(connection, scheduler_results, kept.blocks)
            await copy_training(connection, training_data, kept.blocks)
        few = await _insert_few(connection, kept)
        await _save_checkpoint(connection, kept.checkpoint)
        new_results: Sequence[ResultRow] = parts[1].missing
        tasks_of = await known_tasks(connection, kept.tasks, new_results)
        run_of = {task_id: row.run_id for task_id, row in tasks_of.items()}
        await add_to_rollups(connection, sums(new_results, run_of, kept.blocks))
        fastest_of = await known_labels(connection, kept.training, new_results)
        await add_to_summaries(connection, tasks_of, fastest_of, new_results, kept.blocks)
        await _add_to_totals(connection, batch, first_new, parts)
    return _report(batch, kept, parts, few)


def _all_from(batch: RowBatch, first_new: int) -> bool:
    """Whether the blocks hold new tasks only, which need not be compared with what is stored."""
    return all(int(block.task_id.min()) >= first_new for block in batch.blocks)


async def _locked_totals(connection: AsyncConnection) -> tuple[int, int]:
    """Lock the totals and return (the oldest id that is kept, the lowest id never stored)."""
    query = sa.select(totals.c.floor_task_id, totals.c.next_task_id).with_for_update()
    floor, first_new = (await connection.execute(query)).one()
    return floor, first_new


def _above(batch: RowBatch, floor: int) -> RowBatch:
    """Leave out rows of tasks that were cleared: a late result must not bring half a task back.

    Ids below zero are those of real runs, which nothing but their removal clears.
    """
    if floor == 0 or not _any_below(batch, floor):
        return batch
    return replace(
        batch,
        tasks=[row for row in batch.tasks if not 0 <= row.task_id < floor],
        results=[row for row in batch.results if not 0 <= row.task_id < floor],
        training=[row for row in batch.training if not 0 <= row.task_id < floor],
    )


def _any_below(batch: RowBatch, floor: int) -> bool:
    return any(0 <= row.task_id < floor for part in (batch.tasks, batch.results, batch.training) for row in part)


async def _insert_new(
    connection: AsyncConnection, table: sa.Table, rows: Sequence[AnyRow], first_new: int
) -> Comparison:
    """Insert what is not there, compare what is."""
    old = [row for row in rows if row.task_id < first_new]
    if not old:
        comparison = Comparison(missing=rows)
    else:
        found: Comparison = await compare_rows(connection, table, old)
        new: list[Any] = [row for row in rows if row.task_id >= first_new]
        comparison = Comparison(missing=[*found.missing, *new], repeated=found.repeated, differences=found.differences)
    await insert_many(connection, table, comparison.missing)
    return comparison


async def _insert_few(connection: AsyncConnection, batch: RowBatch) -> int:
    inserted = await insert_unless_there(connection, model_versions, batch.models)
    inserted += await insert_unless_there(connection, notifications, batch.notifications)
    return inserted + await insert_unless_there(connection, events, batch.events)


async def _save_checkpoint(connection: AsyncConnection, checkpoint: CheckpointRow | None) -> None:
    """Store the newest checkpoint and forget all but the last few of its run."""
    if checkpoint is None:
        return
    mine = checkpoints.c.run_id == checkpoint.run_id
    await connection.execute(sa.delete(checkpoints).where(mine, checkpoints.c.boundary == checkpoint.boundary))
    if connection.dialect.name == "postgresql":
        await copy_checkpoint(connection, checkpoints, checkpoint)
    else:
        await connection.execute(sa.insert(checkpoints).values(checkpoint._asdict()))
    newest = sa.select(checkpoints.c.boundary).where(mine).order_by(checkpoints.c.boundary.desc())
    boundaries = (await connection.execute(newest)).scalars().all()
    if len(boundaries) > KEPT_CHECKPOINTS:
        oldest_kept = boundaries[KEPT_CHECKPOINTS - 1]
        await connection.execute(sa.delete(checkpoints).where(mine, checkpoints.c.boundary < oldest_kept))


async def _add_to_totals(
    connection: AsyncConnection, batch: RowBatch, first_new: int, parts: Sequence[Comparison]
) -> None:
    newest = [int(block.task_id.max()) + 1 for block in batch.blocks]
    next_task_id = max([first_new, *newest, *(row.task_id + 1 for row in batch.tasks)])
    copied = sum(len(block.task_id) for block in batch.blocks)
    results = sum(len(block.task_id) * len(block.results) for block in batch.blocks)
    counts = zip((totals.c.tasks, totals.c.results, totals.c.training), (copied, results, copied), parts, strict=True)
    changes: dict[Any, Any] = {column: column + number + len(part.missing) for column, number, part in counts}
    await connection.execute(sa.update(totals).values({totals.c.next_task_id: next_task_id, **changes}))


def _report(batch: RowBatch, kept: RowBatch, parts: Sequence[Comparison], few: int) -> WriteReport:
    return WriteReport(
        inserted=sum(len(part.missing) for part in parts)
        + sum(block.row_count for block in kept.blocks)
        + few
        + (kept.checkpoint is not None),
        repeated=sum(part.repeated for part in parts),
        skipped=len(batch) - len(kept),
        differences=tuple(line for part in parts for line in part.differences),
    )
