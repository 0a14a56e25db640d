"""How busy the devices of one strategy were over the last simulated seconds, from where the parts of tasks ran."""

from __future__ import annotations

from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.core import NO_GPU, FloatColumn, held_gpus
from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import scheduler_results, tasks
from hybrid_ml_scheduler.storage.records import BusyShares

__all__ = ["device_load"]

# A queue may be long: parts that run now can belong to tasks that came long ago.
_MOST_TASKS = 5000


async def device_load(
    store: Store,
    *,
    scheduler: str,
    run_id: int,
    span_s: float = 60.0,
    steps: int = 120,
    last_task: int | None = None,
    is_over: bool = False,
    cpu_slots: int = 1,
) -> BusyShares:
    """Return the busy share of each device in equal steps that end with the run's newest stored arrival.

    With `last_task` they end with its arrival, and with the last finish where the run `is_over`. A step that began
    before all that was read is unknown (None), not idle.
    """
    async with store.reading() as connection:
        own = tasks.c.run_id == run_id
        own = own if last_task is None else sa.and_(own, tasks.c.task_id <= last_task)
        ids = sa.select(tasks.c.task_id).where(own).order_by(tasks.c.task_id.desc())
        newest = sa.select(tasks.c.arrival_time).where(own).order_by(tasks.c.task_id.desc())
        end_s = (await connection.execute(newest.limit(1))).scalar_one_or_none()
        first = (await connection.execute(ids.offset(_MOST_TASKS - 1).limit(1))).scalar_one_or_none()
        rows = await _rows(connection, scheduler, ids.order_by(None), first) if end_s is not None else []
    edges = np.linspace(max(0.0, (end_s or 0.0) - span_s), end_s or 0.0, steps + 1)
    if not rows:
        return BusyShares(edges_s=edges.tolist(), busy={})
    parts = _parts(rows)
    if is_over:
        end_s = max(end_s or 0.0, *(float(end.max()) for _, end in parts.values()))
        edges = np.linspace(max(0.0, end_s - span_s), end_s, steps + 1)
    known_from_s = 0.0 if first is None else max(float(one[0].min()) for one in parts.values())
    unknown = edges[:-1] < known_from_s
    busy = {
        name: np.where(unknown, np.nan, _busy(begin, end, edges, cpu_slots if name == "cpu" else 1))
        for name, (begin, end) in sorted(parts.items())
    }
    known = {name: [None if share != share else share for share in column.tolist()] for name, column in busy.items()}
    return BusyShares(edges_s=edges.tolist(), busy=known)


async def _rows(connection: AsyncConnection, scheduler: str, ids: sa.Select[Any], first: int | None) -> list[Any]:
    results = scheduler_results.c
    own = ids if first is None else ids.where(tasks.c.task_id >= first)
    columns = (results.device, results.gpu_id, results.cpu_start, results.cpu_part, results.gpu_start, results.gpu_part)
    query = sa.select(*columns).where(results.scheduler_name == scheduler, results.task_id.in_(own))
    return [tuple(row) for row in await connection.execute(query)]


def _parts(rows: list[Any]) -> dict[str, tuple[FloatColumn, FloatColumn]]:
    """Return when the parts on each device began and ended."""
    table = np.array([row[1:] for row in rows] + _beside_the_lead(rows), dtype=np.float64)
    gpu, cpu_start, cpu_part, gpu_start, gpu_part = table.T
    found = {"cpu": (cpu_start, cpu_part, np.isfinite(cpu_start) & (cpu_part > 0))}
    for number in np.unique(gpu[gpu >= 0]).astype(int).tolist():
        found[f"gpu_{number}"] = (gpu_start, gpu_part, np.isfinite(gpu_start) & (gpu_part > 0) & (gpu == number))
    return {name: (start[own], start[own] + part[own]) for name, (start, part, own) in found.items() if own.any()}


def _beside_the_lead(rows: list[Any]) -> list[tuple[float | None, ...]]:
    """Return the parts of gangs on their further GPUs; there is nothing of the CPU in them."""
    return [(gpu, None, 0.0, *row[4:]) for row in rows if row[1] != NO_GPU for gpu in held_gpus(row[1], row[0])[1:]]


def _busy(begin: FloatColumn, end: FloatColumn, edges: FloatColumn, slots: int) -> FloatColumn:
    """Return the share of every step in which the device worked; of several slots, the mean over them."""
    # All seconds since the beginnings, less all seconds since the ends: what lies side by side counts as often.
    done = _since(begin, edges) - _since(end, edges)
    widths = np.maximum(np.diff(edges), 1e-12)
    share: FloatColumn = np.clip(np.diff(done) / widths / slots, 0.0, 1.0)
    return share


def _since(moments: FloatColumn, edges: FloatColumn) -> FloatColumn:
    """Return for every edge the seconds that have passed since each moment before it, summed."""
    order = np.sort(moments)
    passed = np.searchsorted(order, edges, side="right")
    summed: FloatColumn = passed * edges - np.concatenate([[0.0], np.cumsum(order)])[passed]
    return summed
