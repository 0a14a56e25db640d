"""What one strategy decided for the tasks of a run, with the tasks, and when its devices came free before them."""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from hybrid_ml_scheduler.core import held_gpus
from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import scheduler_results, tasks
from hybrid_ml_scheduler.storage.read.replay import row_columns
from hybrid_ml_scheduler.storage.rows import ResultRow, TaskRow

__all__ = ["DecidedTask", "decided_tasks", "devices_free"]


class DecidedTask(NamedTuple):
    """A task, and what came of it with one strategy."""

    task: TaskRow
    result: ResultRow


async def decided_tasks(store: Store, *, run_id: int, scheduler: str, first_task: int, limit: int) -> list[DecidedTask]:
    """Return tasks of a run from one on, oldest first, as a strategy decided them; at most `limit`."""
    facts, outcome = row_columns(tasks, TaskRow), row_columns(scheduler_results, ResultRow)
    joined = tasks.join(scheduler_results, scheduler_results.c.task_id == tasks.c.task_id)
    query = (
        sa.select(*facts, *(column.label(f"result_{column.key}") for column in outcome))
        .select_from(joined)
        .where(
            tasks.c.run_id == run_id,
            tasks.c.task_id >= first_task,
            scheduler_results.c.scheduler_name == scheduler,
        )
        .order_by(tasks.c.task_id)
        .limit(limit)
    )
    async with store.reading() as connection:
        rows = (await connection.execute(query)).all()
    width = len(facts)
    return [DecidedTask(TaskRow(*row[:width]), ResultRow(*row[width:])) for row in rows]


async def devices_free(
    store: Store, *, run_id: int, scheduler: str, before_task: int, reach: int, num_gpus: int
) -> list[float]:
    """Return when every device (CPU first) was done with the tasks before one; the last `reach` of them are read."""
    results = scheduler_results.c
    own = sa.select(tasks.c.task_id).where(
        tasks.c.run_id == run_id, tasks.c.task_id.between(before_task - reach, before_task - 1)
    )
    query = (
        sa.select(
            results.gpu_id,
            results.device,
            sa.func.max(results.cpu_start + results.cpu_part),
            sa.func.max(results.gpu_start + results.gpu_part),
        )
        .where(results.task_id.in_(own), results.scheduler_name == scheduler)
        .group_by(results.gpu_id, results.device)
    )
    free_s = [0.0] * (num_gpus + 1)
    async with store.reading() as connection:
        for lead, device, cpu_end, gpu_end in await connection.execute(query):
            free_s[0] = max(free_s[0], cpu_end or 0.0)
            for gpu in held_gpus(lead, device):
                free_s[gpu + 1] = max(free_s[gpu + 1], gpu_end or 0.0)
    return free_s
