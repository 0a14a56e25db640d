"""The tasks around a change: how far above the fastest execution each strategy's latency lay, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import sqlalchemy as sa

from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import scheduler_results, tasks, training_data
from hybrid_ml_scheduler.storage.read.history import end_tasks

__all__ = ["AroundChange", "RegretRow", "around_change"]

_STEPS_AFTER = 40
_STEPS_BEFORE = 10


class RegretRow(NamedTuple):
    """Finished tasks of one strategy in one step; step 0 begins with the change, those before it are negative."""

    scheduler_name: str
    step: int
    tasks: int
    latency_s: float
    fastest_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AroundChange:
    """Steps of `width` tasks around a change, when each of them ended, and what they add up to."""

    width: int
    last_task: int | None
    ends_s: dict[int, float]
    rows: Sequence[RegretRow] = ()


async def around_change(
    store: Store, *, run_id: int, boundary: int, most_tasks: int, until: int | None
) -> AroundChange:
    """Return a run's tasks from a quarter of `most_tasks` before `boundary` to as many after it, or to task `until`."""
    results, labels = scheduler_results.c, training_data.c
    async with store.reading() as connection:
        first, last = (await connection.execute(end_tasks(run_id))).one()
        if last is None or last < boundary:
            return AroundChange(width=1, last_task=last, ends_s={})
        last = min(last, boundary + most_tasks - 1, last if until is None else until - 1)
        width = max(1, -(-(last - boundary + 1) // _STEPS_AFTER))
        origin = boundary - _STEPS_BEFORE * width
        offset = results.task_id - origin
        begin = (offset - offset % width).label("begin")
        joined = scheduler_results.join(training_data, labels.task_id == results.task_id)
        query = (
            sa.select(
                results.scheduler_name,
                begin,
                sa.func.count(results.latency),
                sa.func.sum(results.latency),
                sa.func.sum(labels.optimal_time),
            )
            .select_from(joined)
            .where(results.task_id.between(max(first, origin), last), results.latency.is_not(None))
            .group_by(results.scheduler_name, begin)
            .order_by(results.scheduler_name, begin)
        )
        passed = tasks.c.task_id - origin
        own = (passed - passed % width).label("begin")
        ends = sa.select(own, sa.func.max(tasks.c.arrival_time)).where(
            tasks.c.task_id.between(max(first, origin), last)
        )
        found = (await connection.execute(query)).all()
        times = (await connection.execute(ends.group_by(own))).all()
    return AroundChange(
        width=width,
        last_task=last,
        ends_s={_step(begin, width): float(end_s) for begin, end_s in times},
        rows=[RegretRow(name, _step(begin, width), *sums) for name, begin, *sums in found],
    )


def _step(begin: int, width: int) -> int:
    return int(begin) // width - _STEPS_BEFORE
