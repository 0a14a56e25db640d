"""Stored runs side by side: what each adds up to, and how two differ where they met the same tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import ANY_DEVICE, run_summaries, scheduler_results, stretches, tasks
from hybrid_ml_scheduler.storage.read.compared import compared_tasks
from hybrid_ml_scheduler.storage.read.moments import range_totals
from hybrid_ml_scheduler.storage.records import METRICS, Metric, PairedStretches, RunSummary
from hybrid_ml_scheduler.storage.write.summaries import STRETCH_TASKS

__all__ = ["paired_stretches", "run_totals"]

# A stretch of tasks is known by these: two of them with the same ends, to the last bit, hold the same tasks.
_OF_TASKS = ("size", "compute_intensity", "memory_required", "arrival_time")
_MARKS = tuple(f"{end}_{name}" for end in ("low", "high") for name in _OF_TASKS)

_Stretch = Mapping[str, Any]


async def run_totals(store: Store, run_ids: Iterable[int]) -> dict[int, dict[str, RunSummary]]:
    """Return what runs add up to, by run and strategy, over the tasks that are compared."""
    wanted, line = sorted(set(run_ids)), stretches.c
    query = sa.select(run_summaries).where(run_summaries.c.run_id.in_(wanted))
    worst = (
        sa.select(line.run_id, line.scheduler_name, sa.func.max(line.high_latency))
        .where(line.run_id.in_(wanted), line.device == ANY_DEVICE)
        .group_by(line.run_id, line.scheduler_name)
    )
    found: dict[int, dict[str, RunSummary]] = {}
    async with store.reading() as connection:
        longest_s = {(run, name): value for run, name, value in await connection.execute(worst)}
        for record in (await connection.execute(query.order_by(run_summaries.c.scheduler_name))).mappings():
            key = record["run_id"], record["scheduler_name"]
            found.setdefault(key[0], {})[key[1]] = _summary(record, longest_s.get(key))
    for run_id, summaries in found.items():
        if await _lacks_results(store, run_id, summaries):
            found[run_id] = await _compared(store, run_id, summaries)
    return found


async def _lacks_results(store: Store, run_id: int, summaries: Mapping[str, RunSummary]) -> bool:
    """Whether a task of the run has no result of a strategy."""
    newest = sa.select(sa.func.max(tasks.c.task_id)).where(tasks.c.run_id == run_id)
    async with store.reading() as connection:
        last = (await connection.execute(newest)).scalar_one()
    first = min(one.first_task for one in summaries.values())
    entered = max(-1 if last is None else last, *(one.last_task for one in summaries.values())) - first + 1
    return any(one.results < entered for one in summaries.values())


async def _compared(store: Store, run_id: int, summaries: Mapping[str, RunSummary]) -> dict[str, RunSummary]:
    """Return the figures over the tasks that every strategy has finished that is not behind."""
    compared = await compared_tasks(store, run_id)
    first = min(compared.first, *(one.first_task for one in summaries.values()))
    totals, _ = await range_totals(store, run_id, first, compared.up_to, is_ranked=False)
    entered, count = compared.last - first + 1, max(0, compared.up_to - first + 1)
    found = {}
    for name, whole in summaries.items():
        counts = {"waiting": entered - whole.results, "compared": count, "is_behind": name in compared.behind}
        own = totals.get(name)
        if counts["is_behind"] or own is None or not own.finished:
            empty = {"means": dict.fromkeys(whole.means), "last_finish_s": None, "longest_latency_s": None}
            found[name] = replace(whole, **counts, **empty)  # type: ignore[arg-type]
            continue
        found[name] = replace(
            whole,
            **counts,  # type: ignore[arg-type]
            last_finish_s=own.last_finish_s,
            longest_latency_s=own.longest_latency_s,
            means={metric: own.sums[metric] / own.finished for metric in whole.means},
        )
    return found


def _summary(record: sa.RowMapping, longest_s: float | None) -> RunSummary:
    finished = record["results"] - record["failed"]
    sums = {name: record[f"sum_{name}"] for name in (*METRICS, "gpu_fraction")}
    return RunSummary(
        scheduler_name=record["scheduler_name"],
        results=record["results"],
        finished=finished,
        waiting=0,
        compared=record["results"],
        is_behind=False,
        out_of_memory=record["out_of_memory"],
        first_task=record["first_task"],
        last_task=record["last_task"],
        last_finish_s=record["last_finish"],
        longest_latency_s=longest_s,
        device_s=record["sum_cpu_part"] + record["sum_gpu_part"],
        means={name: total / finished if finished else None for name, total in sums.items()},
    )


async def paired_stretches(
    store: Store, first_run: int, second_run: int, *, begin: tuple[int, int] | None = None
) -> PairedStretches:
    """Return the means of both runs over those stretches from their beginning in which they met the same tasks.

    Where one is a branch of the other, `begin` has the task of each from which on they are the same.
    """
    async with store.reading() as connection:
        if begin is None:
            mine, other = await _stretches(connection, first_run), await _stretches(connection, second_run)
        else:
            lasts = [await _last_task(connection, run) for run in (first_run, second_run)]
            count = min(last - first + 1 for first, last in zip(begin, lasts, strict=True))
            mine, other = [await _stretches_of_rows(connection, first, count) for first in begin]
    common = _common(mine, other)
    names = sorted({name for _, name in mine} & {name for _, name in other})
    means = {metric: {name: _means(mine, other, common, name, metric) for name in names} for metric in METRICS}
    sizes = _identities(mine)
    tasks = sum(int(sizes[place][0]) for place in common)
    return PairedStretches(tasks=tasks, stretches=len(common), means=means)


async def _stretches(connection: AsyncConnection, run_id: int) -> dict[tuple[int, str], _Stretch]:
    """Return the stretches of a run by their place and strategy."""
    columns = stretches.c
    names = ("stretch", "scheduler_name", "results", "failed", *(f"sum_{metric}" for metric in METRICS), *_MARKS)
    query = sa.select(*(columns[name] for name in names))
    records = await connection.execute(query.where(columns.run_id == run_id, columns.device == ANY_DEVICE))
    return {(record[0], record[1]): dict(zip(names, record, strict=True)) for record in records}


async def _last_task(connection: AsyncConnection, run_id: int) -> int:
    last = await connection.execute(sa.select(sa.func.max(tasks.c.task_id)).where(tasks.c.run_id == run_id))
    return int(last.scalar_one() or -1)


async def _stretches_of_rows(connection: AsyncConnection, begin: int, count: int) -> dict[tuple[int, str], _Stretch]:
    """Return what `_stretches` does, of the tasks from `begin` on, which need not be the beginning of a stretch."""
    row, task = scheduler_results.c, tasks.c
    place = (row.task_id - begin) // STRETCH_TASKS
    columns = {
        "results": sa.func.count(),
        "failed": sa.func.sum(sa.case((row.latency.is_(None), 1), else_=0)),
        **{f"sum_{metric}": sa.func.sum(row[metric]).filter(row.latency.is_not(None)) for metric in METRICS},
        **{f"low_{name}": sa.func.min(task[name]) for name in _OF_TASKS},
        **{f"high_{name}": sa.func.max(task[name]) for name in _OF_TASKS},
    }
    last = begin + count - 1
    query = (
        sa.select(place, row.scheduler_name, *columns.values())
        .join(tasks, task.task_id == row.task_id)
        .where(row.task_id.between(begin, last), task.task_id.between(begin, last))
        .group_by(place, row.scheduler_name)
    )
    found: dict[tuple[int, str], _Stretch] = {}
    for stretch, name, *values in await connection.execute(query):
        found[int(stretch), name] = dict(zip(columns, values, strict=True))
    return found


def _common(mine: Mapping[tuple[int, str], _Stretch], other: Mapping[tuple[int, str], _Stretch]) -> list[int]:
    """Return the places of the stretches, from the first on, that hold the same tasks in both runs."""
    own, theirs = _identities(mine), _identities(other)
    common: list[int] = []
    for place in sorted(own):
        if place not in theirs or own[place] != theirs[place]:
            break
        common.append(place)
    return common


def _identities(found: Mapping[tuple[int, str], _Stretch]) -> dict[int, tuple[Any, ...]]:
    """Return what a stretch is known by: its tasks as the strategies met them that let none of them wait."""
    known: dict[int, tuple[Any, ...]] = {}
    for (place, _), entry in found.items():
        mine = (int(entry["results"]), *(entry[name] for name in _MARKS))
        if place not in known or mine[0] > known[place][0]:
            known[place] = mine
    return known


def _means(
    mine: Mapping[tuple[int, str], _Stretch],
    other: Mapping[tuple[int, str], _Stretch],
    common: Sequence[int],
    name: str,
    metric: Metric,
) -> Sequence[tuple[float, float]]:
    """Return the two means of every common stretch that is full and in which both finished all tasks."""
    pairs = []
    for place in common:
        one, two = mine.get((place, name)), other.get((place, name))
        if one is None or two is None or one["failed"] or two["failed"] or int(one["results"]) < STRETCH_TASKS:
            continue
        pairs.append((one[f"sum_{metric}"] / STRETCH_TASKS, two[f"sum_{metric}"] / STRETCH_TASKS))
    return pairs
