"""What the rows of a run add up to, kept in the same transaction as the rows: as a whole, and stretch by stretch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.core import FloatColumn, IntColumn, device_name
from hybrid_ml_scheduler.storage.connect.tables import ANY_DEVICE, run_summaries, runs, stretches, tails
from hybrid_ml_scheduler.storage.rows import ResultRow, TaskRow
from hybrid_ml_scheduler.storage.write.blocks import FACTS, NUMBERS, ResultColumns, TaskBlock
from hybrid_ml_scheduler.storage.write.bulk import UpsertStatement, upsert_statement
from hybrid_ml_scheduler.storage.write.tails import COUNTED, RANGES, spread_columns

__all__ = ["SPANNED", "STRETCH_TASKS", "SUMMED", "add_to_summaries"]

STRETCH_TASKS = 500
SUMMED = (
    "gpu_fraction", "actual_time", "latency", "wait", "energy_consumption", "execution_cost", "cpu_part", "gpu_part",
)  # fmt: skip
SPANNED = (
    "gpu_fraction", "size", "compute_intensity", "memory_required", "arrival_time",
    "actual_time", "latency", "wait", "energy_consumption", "execution_cost",
)  # fmt: skip
_OF_TASK = ("size", "compute_intensity", "memory_required", "arrival_time")
_OF_RESULT = ("gpu_fraction", *SUMMED[1:], "finish_time")
_LINES = (*_OF_TASK, *_OF_RESULT)
_SUMMED_LINES, _SPANNED_LINES = ([_LINES.index(name) for name in names] for names in (SUMMED, SPANNED))
_COUNTS = ("results", "failed", "out_of_memory", *COUNTED)


async def add_to_summaries(
    connection: AsyncConnection,
    tasks_of: Mapping[int, TaskRow],
    fastest_of: Mapping[int, float],
    rows: Sequence[ResultRow],
    blocks: Sequence[TaskBlock],
) -> None:
    """Add new results to what their runs add up to; the mappings give task and fastest execution of each row."""
    parts = [*_of_rows(rows, tasks_of, fastest_of), *map(_of_block, blocks)]
    if not parts:
        return
    firsts = await _first_tasks(connection, parts)
    whole = [entry for part in parts for entry in _entries(part, None)]
    await _merge(connection, run_summaries, _joined(whole))
    apart = [entry for part in parts for one in (part, part.on_any_device()) for entry in _entries(one, firsts)]
    await _merge(connection, stretches, _joined(apart))
    spread = [entry for part in parts for entry in _spread_entries(part, firsts[part.run_id])]
    await _merge(connection, tails, _joined(spread))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Part:
    """New results of one run: `values` has a line for each of `_LINES`; each row has a strategy and a device."""

    run_id: int
    task_id: IntColumn
    names: Sequence[str]
    name: IntColumn
    devices: Sequence[str]
    device: IntColumn
    out_of_memory: np.ndarray
    values: FloatColumn
    fastest_s: FloatColumn
    deadline_s: FloatColumn

    def on_any_device(self) -> _Part:
        """Return the same results without a look at the devices."""
        return replace(self, devices=[ANY_DEVICE], device=np.zeros_like(self.device))


def _of_block(block: TaskBlock) -> _Part:
    """All strategies together: a look at each alone would take the race's time."""
    facts = block.facts[[FACTS.index(name) for name in _OF_TASK]]
    lines, count = [NUMBERS.index(name) for name in _OF_RESULT], len(block.results)
    results = ResultColumns.join(list(block.results.values()))
    devices, device = _devices(results)
    return _Part(
        run_id=block.run_id,
        task_id=np.tile(block.task_id, count),
        names=list(block.results),
        name=np.repeat(np.arange(count), len(block.task_id)),
        devices=devices,
        device=device,
        out_of_memory=results.out_of_memory,
        values=np.concatenate([np.tile(facts, count), results.numbers[lines]]),
        fastest_s=np.tile(block.fact("optimal_time"), count),
        deadline_s=np.full(count * len(block.task_id), np.nan),
    )


def _devices(columns: ResultColumns) -> tuple[list[str], IntColumn]:
    """Return the devices that occur, and the place of each row's among them."""
    whole = columns.number("gpu_fraction") >= 1.0
    codes, places = np.unique(2 * columns.gpu_id.astype(np.int64) + whole, return_inverse=True)
    names = [device_name(int(code) // 2, float(code % 2)) for code in codes.tolist()]
    known = list(dict.fromkeys(names))  # a task without a GPU has one device, whatever its fraction
    return known, np.array([known.index(name) for name in names], dtype=np.int64)[places]


def _of_rows(
    rows: Sequence[ResultRow], tasks_of: Mapping[int, TaskRow], fastest_of: Mapping[int, float]
) -> Iterator[_Part]:
    alike: dict[tuple[int, str], list[ResultRow]] = {}
    for row in rows:
        alike.setdefault((tasks_of[row.task_id].run_id, row.scheduler_name), []).append(row)
    for (run_id, name), some in alike.items():
        columns = dict(zip(ResultRow._fields, zip(*some, strict=True), strict=True))
        facts = dict(zip(TaskRow._fields, zip(*(tasks_of[row.task_id] for row in some), strict=True), strict=True))
        devices = list(dict.fromkeys(columns["device"]))
        yield _Part(
            run_id=run_id,
            task_id=np.array(columns["task_id"], dtype=np.int64),
            names=[name],
            name=np.zeros(len(some), dtype=np.int64),
            devices=devices,
            device=np.array([devices.index(device) for device in columns["device"]], dtype=np.int64),
            out_of_memory=np.array(columns["out_of_memory"], dtype=bool),
            values=np.array(
                [*(facts[line] for line in _OF_TASK), *(columns[line] for line in _OF_RESULT)], dtype=np.float64
            ),  # None becomes NaN
            fastest_s=np.array([fastest_of.get(row.task_id, np.nan) for row in some]),
            deadline_s=np.array(facts["deadline"], dtype=np.float64),
        )


async def _first_tasks(connection: AsyncConnection, parts: Sequence[_Part]) -> dict[int, int]:
    """Return the first task of each run; a run whose first tasks these are is told so."""
    ids = sorted({part.run_id for part in parts})
    query = sa.select(runs.c.run_id, runs.c.first_task).where(runs.c.run_id.in_(ids))
    known = {run_id: first for run_id, first in await connection.execute(query) if first is not None}
    for run_id in ids:
        if run_id not in known:
            known[run_id] = min(int(part.task_id.min()) for part in parts if part.run_id == run_id)
            update = sa.update(runs).where(runs.c.run_id == run_id).values(first_task=known[run_id])
            await connection.execute(update)
    return known


def _entries(part: _Part, firsts: Mapping[int, int] | None) -> Iterator[dict[str, Any]]:
    """Yield the sums of a part for each strategy: as a whole, or for each stretch and device."""
    stretch, group = np.zeros_like(part.task_id), part.name
    if firsts is not None:
        stretch = (part.task_id - firsts[part.run_id]) // STRETCH_TASKS
        group = (stretch * len(part.names) + part.name) * len(part.devices) + part.device
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=group[order[0]] - 1))
    lists = {name: _plain(column) for name, column in _columns(part, order, starts, spans=firsts is not None).items()}
    for place, first in enumerate(order[starts].tolist()):
        key: dict[str, Any] = {"run_id": part.run_id, "scheduler_name": part.names[int(part.name[first])]}
        if firsts is not None:
            key |= {"device": part.devices[int(part.device[first])], "stretch": int(stretch[first])}
        yield key | {name: column[place] for name, column in lists.items()}


def _spread_entries(part: _Part, first_task: int) -> Iterator[dict[str, Any]]:
    """Yield how the results of a part are spread, for each stretch and strategy."""
    stretch = (part.task_id - first_task) // STRETCH_TASKS
    group = stretch * len(part.names) + part.name
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=group[order[0]] - 1))
    latency_s = part.values[_LINES.index("latency")]
    columns = spread_columns(latency_s[order], part.fastest_s[order], part.deadline_s[order], starts)
    for place, first in enumerate(order[starts].tolist()):
        key = {"run_id": part.run_id, "scheduler_name": part.names[int(part.name[first])]}
        yield key | {"stretch": int(stretch[first])} | {name: column[place] for name, column in columns.items()}


def _columns(part: _Part, order: np.ndarray, starts: np.ndarray, *, spans: bool) -> dict[str, np.ndarray]:
    """Return each sum and end for the groups that begin at `starts` of the rows in order."""
    values, ids = part.values[:, order], part.task_id[order]
    finished = np.isfinite(values[_LINES.index("latency")])
    columns = {
        "results": np.diff(starts, append=len(ids)),
        "failed": np.add.reduceat((~finished).astype(np.int64), starts),
        "out_of_memory": np.add.reduceat(part.out_of_memory[order].astype(np.int64), starts),
        "first_task": np.minimum.reduceat(ids, starts),
        "last_task": np.maximum.reduceat(ids, starts),
        "last_finish": np.fmax.reduceat(values[_LINES.index("finish_time")], starts),
    }
    summed = np.where(finished, np.nan_to_num(values[_SUMMED_LINES]), 0.0)
    columns |= zip((f"sum_{name}" for name in SUMMED), np.add.reduceat(summed, starts, axis=1), strict=True)
    if spans:
        spanned = values[_SPANNED_LINES]
        columns |= zip((f"low_{name}" for name in SPANNED), np.fmin.reduceat(spanned, starts, axis=1), strict=True)
        columns |= zip((f"high_{name}" for name in SPANNED), np.fmax.reduceat(spanned, starts, axis=1), strict=True)
    return columns


def _plain(column: np.ndarray) -> list[Any]:
    return [None if value != value else value for value in column.tolist()]


def _joined(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one entry for each key: a batch may hold a run's rows in more than one part."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for entry in entries:
        key = tuple(entry.get(name) for name in ("run_id", "scheduler_name", "device", "stretch"))
        known = found.get(key)
        found[key] = entry if known is None else {name: _one(name, known[name], entry[name]) for name in entry}
    return list(found.values())


def _one(name: str, old: Any, new: Any) -> Any:
    if name in _COUNTS or name == RANGES or name.startswith("sum_"):
        return old + new
    if name.startswith(("first_", "last_", "low_", "high_")):
        known = [value for value in (old, new) if value is not None]
        least = name.startswith(("first_", "low_"))
        return (min(known) if least else max(known)) if known else None
    return new


async def _merge(connection: AsyncConnection, table: sa.Table, entries: Sequence[Mapping[str, Any]]) -> None:
    await connection.execute(_merge_statement(connection.dialect.name, table), list(entries))


@lru_cache(maxsize=8)
def _merge_statement(dialect: str, table: sa.Table) -> UpsertStatement:
    """Made once: to put it together takes longer than to send it."""
    insert = upsert_statement(dialect, table)
    changes: dict[str, Any] = {}
    for column in table.c:
        old, new = column, insert.excluded[column.key]
        if column.primary_key:
            continue
        if column.key == RANGES:
            changes[column.key] = sa.cast(old.op("||")(new), sa.LargeBinary)
        elif column.key in _COUNTS or column.key.startswith("sum_"):
            changes[column.key] = old + new
        else:
            better = new < old if column.key.startswith(("first_", "low_")) else new > old
            changes[column.key] = sa.case((sa.or_(old.is_(None), better), new), else_=old)
    return insert.on_conflict_do_update(index_elements=list(table.primary_key.columns), set_=changes)
