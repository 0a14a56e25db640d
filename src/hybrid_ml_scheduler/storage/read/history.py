"""Reading the history back: single tasks, the newest ones, models, notifications, counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import (
    model_versions,
    notifications,
    rollups,
    runs,
    scheduler_results,
    tasks,
    totals,
    training_data,
)
from hybrid_ml_scheduler.storage.read.replay import row_columns
from hybrid_ml_scheduler.storage.records import DataCounts, TaskHistory
from hybrid_ml_scheduler.storage.rows import ModelRow, NotificationRow, ResultRow, TaskRow, TrainingRow

__all__ = [
    "arrivals_between",
    "comparative_history",
    "data_counts",
    "end_tasks",
    "model_count",
    "model_history",
    "notification_history",
    "results_between",
    "task_history",
    "task_range",
    "tasks_between",
    "training_records",
    "training_window",
]


async def training_records(store: Store, *, limit: int = 1000) -> list[TrainingRow]:
    """Return the newest labels, newest first."""
    query = sa.select(*row_columns(training_data, TrainingRow)).order_by(training_data.c.task_id.desc()).limit(limit)
    async with store.reading() as connection:
        return [TrainingRow(*record) for record in await connection.execute(query)]


async def training_window(store: Store, *, before: int, size: int = 1000) -> list[TrainingRow]:
    """Return the last `size` labels of tasks below `before`, oldest first: what a model was trained on."""
    columns = row_columns(training_data, TrainingRow)
    query = sa.select(*columns).where(training_data.c.task_id < before).order_by(training_data.c.task_id.desc())
    async with store.reading() as connection:
        return [TrainingRow(*record) for record in await connection.execute(query.limit(size))][::-1]


async def comparative_history(store: Store, *, limit: int = 100, before: int | None = None) -> list[TaskHistory]:
    """Return the newest tasks (below `before`) with every strategy's result, newest first."""
    query = sa.select(*row_columns(tasks, TaskRow)).order_by(tasks.c.task_id.desc()).limit(limit)
    if before is not None:
        query = query.where(tasks.c.task_id < before)
    async with store.reading() as connection:
        return await _with_results(connection, [TaskRow(*record) for record in await connection.execute(query)])


async def task_history(store: Store, task_id: int) -> TaskHistory | None:
    """Return one task with all its results."""
    query = sa.select(*row_columns(tasks, TaskRow)).where(tasks.c.task_id == task_id)
    async with store.reading() as connection:
        found = [TaskRow(*record) for record in await connection.execute(query)]
        histories = await _with_results(connection, found)
    return histories[0] if histories else None


async def _with_results(connection: AsyncConnection, found: Sequence[TaskRow]) -> list[TaskHistory]:
    if not found:
        return []
    newest, oldest = found[0].task_id, found[-1].task_id
    results: dict[int, dict[str, ResultRow]] = {}
    for row in await _results(connection, oldest, newest):
        results.setdefault(row.task_id, {})[row.scheduler_name] = row
    return [TaskHistory(task=task, results=results.get(task.task_id, {})) for task in found]


async def results_between(
    store: Store, first_task: int, last_task: int, *, run_id: int | None = None
) -> list[ResultRow]:
    """Return the results of a range of tasks, of one run or of all, in order of task; keep the range short."""
    async with store.reading() as connection:
        return await _results(connection, first_task, last_task, run_id)


async def arrivals_between(store: Store, run_id: int, first_task: int, last_task: int) -> dict[int, float]:
    """Return when the tasks of a range arrived, those of one run only."""
    own = sa.and_(tasks.c.run_id == run_id, tasks.c.task_id.between(first_task, last_task))
    async with store.reading() as connection:
        found = await connection.execute(sa.select(tasks.c.task_id, tasks.c.arrival_time).where(own))
        return {row.task_id: row.arrival_time for row in found}


async def _results(connection: AsyncConnection, first: int, last: int, run_id: int | None = None) -> list[ResultRow]:
    columns = row_columns(scheduler_results, ResultRow)
    query = sa.select(*columns).where(scheduler_results.c.task_id.between(first, last))
    if run_id is not None:
        own = sa.select(tasks.c.task_id).where(tasks.c.task_id.between(first, last), tasks.c.run_id == run_id)
        query = query.where(scheduler_results.c.task_id.in_(own))
    order = query.order_by(scheduler_results.c.task_id, scheduler_results.c.scheduler_name)
    return [ResultRow(*record) for record in await connection.execute(order)]


async def model_history(store: Store, *, run_id: int | None = None, limit: int = 200) -> list[ModelRow]:
    """Return the newest retrainings of one run, or of all, newest first."""
    return [ModelRow(*record) for record in await _newest(store, model_versions, ModelRow, limit, run_id)]


async def model_count(store: Store, *, run_id: int | None = None) -> int:
    """Say how many retrainings of one run, or of all, are stored."""
    query = sa.select(sa.func.count()).select_from(model_versions)
    if run_id is not None:
        query = query.where(model_versions.c.run_id == run_id)
    async with store.reading() as connection:
        return int((await connection.execute(query)).scalar_one())


async def notification_history(store: Store, *, run_id: int | None = None, limit: int = 100) -> list[NotificationRow]:
    """Return the newest notifications of one run, or of all, newest first."""
    found = await _newest(store, notifications, NotificationRow, limit, run_id)
    return [NotificationRow(*record) for record in found]


async def _newest(
    store: Store, table: sa.Table, row_type: type[Any], limit: int, run_id: int | None = None
) -> Sequence[Any]:
    query = sa.select(*row_columns(table, row_type)).order_by(table.c.created_at.desc()).limit(limit)
    if run_id is not None:
        query = query.where(table.c.run_id == run_id)
    async with store.reading() as connection:
        return (await connection.execute(query)).all()


def end_tasks(run_id: int | None = None) -> sa.Select[Any]:
    """Select the first and last stored task, each by a step into the index: together they would be a full scan."""
    ends = (sa.select(sa.func.min(tasks.c.task_id)), sa.select(sa.func.max(tasks.c.task_id)))
    if run_id is not None:
        ends = (ends[0].where(tasks.c.run_id == run_id), ends[1].where(tasks.c.run_id == run_id))
    return sa.select(ends[0].scalar_subquery(), ends[1].scalar_subquery())


async def task_range(store: Store, run_id: int) -> tuple[int, int] | None:
    """Return the first and the last stored task of a run."""
    async with store.reading() as connection:
        first, last = (await connection.execute(end_tasks(run_id))).one()
    return None if first is None or last is None else (int(first), int(last))


async def tasks_between(store: Store, run_id: int, first: int, last: int) -> list[TaskRow]:
    """Return the stored tasks of a run in a range, oldest first."""
    mine = sa.and_(tasks.c.run_id == run_id, tasks.c.task_id.between(first, last))
    async with store.reading() as connection:
        query = sa.select(*row_columns(tasks, TaskRow)).where(mine).order_by(tasks.c.task_id)
        return [TaskRow(*record) for record in await connection.execute(query)]


async def data_counts(store: Store) -> DataCounts:
    """Say how much is stored, from running totals: nothing is counted row by row."""
    by_name = sa.select(rollups.c.scheduler_name, sa.func.sum(rollups.c.results)).group_by(rollups.c.scheduler_name)
    async with store.reading() as connection:
        total = (await connection.execute(sa.select(totals))).mappings().one()
        first, last = (await connection.execute(end_tasks())).one()
        models = (await connection.execute(sa.select(sa.func.count()).select_from(model_versions))).scalar_one()
        count_of_runs = (await connection.execute(sa.select(sa.func.count()).select_from(runs))).scalar_one()
        per_scheduler = {name: int(number) for name, number in await connection.execute(by_name)}
    return DataCounts(
        tasks=total["tasks"],
        results=total["results"],
        training=total["training"],
        models=models,
        runs=count_of_runs,
        first_task=first,
        last_task=last,
        next_task_id=total["next_task_id"],
        collected_by_scheduler=per_scheduler,
    )
