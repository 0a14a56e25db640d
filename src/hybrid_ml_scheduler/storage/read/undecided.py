"""Tasks that lack results: half stored, or not decided yet.

A strategy decides a task when it has arrived and its parents have finished on that strategy's cluster. The clock of a
run stands at the newest arrival of its stream; a task from outside may arrive later than that without moving it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.storage.connect.tables import events, rollups, scheduler_results, tasks

__all__ = ["half_stored_tasks"]

_IDS_PER_QUERY = 500
_Pairs = dict[tuple[int, str], float]


async def half_stored_tasks(connection: AsyncConnection) -> tuple[list[int], int]:
    """Return the tasks that were half stored, and how many others lack results for a good reason."""
    short = (await connection.execute(_short())).all()
    if not short:
        return [], 0
    clocks = {int(run_id): float(clock_s) for run_id, clock_s in await connection.execute(_clocks())}
    names: dict[int, set[str]] = defaultdict(set)
    for run_id, name in await connection.execute(sa.select(rollups.c.run_id, rollups.c.scheduler_name).distinct()):
        names[run_id].add(name)
    found = _ShortTasks(clocks=clocks, names=names)
    for begin in range(0, len(short), _IDS_PER_QUERY):
        await found.sort_out(connection, short[begin : begin + _IDS_PER_QUERY])
    return found.incomplete, found.undecided


@dataclass(slots=True, kw_only=True)
class _ShortTasks:
    """Judges short tasks in order of id, so that a waiting parent is known before its children."""

    clocks: dict[int, float]
    names: dict[int, set[str]]
    waiting: set[tuple[int, str]] = field(default_factory=set)
    incomplete: list[int] = field(default_factory=list)
    undecided: int = 0

    async def sort_out(self, connection: AsyncConnection, some: Sequence[Any]) -> None:
        parents = {row.task_id: [int(one) for one in json.loads(row.dependencies)] for row in some}
        ends_s = await _ends_s(connection, {*parents, *(one for several in parents.values() for one in several)})
        for row in some:
            lacking = [name for name in self.names[row.run_id] or {""} if (row.task_id, name) not in ends_s]
            if not lacking:  # decided since the tasks were read
                continue
            clock_s = self.clocks.get(row.run_id, 0.0)
            late = row.arrival_time > clock_s
            if all(late or self._waits(parents[row.task_id], name, clock_s, ends_s) for name in lacking):
                self.waiting.update((row.task_id, name) for name in lacking)
                self.undecided += 1
            else:
                self.incomplete.append(row.task_id)

    def _waits(self, parents: Iterable[int], name: str, clock_s: float, ends_s: _Pairs) -> bool:
        """Whether a parent has not finished by the clock; of one whose rows are gone, nothing is known."""
        return any((one, name) in self.waiting or ends_s.get((one, name), float("inf")) > clock_s for one in parents)


async def _ends_s(connection: AsyncConnection, ids: set[int]) -> _Pairs:
    """Return when each of these tasks finished with each strategy; a failed one holds nobody up."""
    found: _Pairs = {}
    results, wanted = scheduler_results.c, sorted(ids)
    for begin in range(0, len(wanted), _IDS_PER_QUERY):
        query = sa.select(results.task_id, results.scheduler_name, results.finish_time)
        chosen = query.where(results.task_id.in_(wanted[begin : begin + _IDS_PER_QUERY]))
        for task_id, name, finish_s in await connection.execute(chosen):
            found[task_id, name] = 0.0 if finish_s is None else finish_s
    return found


def _short() -> sa.Select[Any]:
    """Select tasks with fewer results than their run has strategies."""
    number = sa.func.count(scheduler_results.c.id).label("number")
    joined = tasks.outerjoin(scheduler_results, scheduler_results.c.task_id == tasks.c.task_id)
    per_task = sa.select(tasks.c.task_id, tasks.c.run_id, number).select_from(joined)
    counted = per_task.group_by(tasks.c.task_id, tasks.c.run_id).cte("counted")
    distinct = sa.func.count(sa.distinct(rollups.c.scheduler_name)).label("most")
    strategies = sa.select(rollups.c.run_id, distinct).group_by(rollups.c.run_id).cte("strategies")
    both = counted.join(tasks, tasks.c.task_id == counted.c.task_id)
    both = both.outerjoin(strategies, strategies.c.run_id == counted.c.run_id)
    dependencies = sa.cast(tasks.c.dependencies, sa.Text).label("dependencies")
    query = sa.select(counted.c.task_id, counted.c.run_id, tasks.c.arrival_time, dependencies).select_from(both)
    of_races = counted.c.task_id >= 0  # the strategies of a real run come one after the other
    short = counted.c.number < sa.func.coalesce(strategies.c.most, 1)
    return query.where(of_races, short).order_by(counted.c.task_id)


def _clocks() -> sa.Select[Any]:
    """Select the clock of every run: the newest arrival of a task that is not from outside."""
    mine = sa.and_(events.c.run_id == tasks.c.run_id, events.c.boundary == tasks.c.task_id, events.c.kind == "task")
    from_outside = sa.exists().where(mine)
    return sa.select(tasks.c.run_id, sa.func.max(tasks.c.arrival_time)).where(~from_outside).group_by(tasks.c.run_id)
