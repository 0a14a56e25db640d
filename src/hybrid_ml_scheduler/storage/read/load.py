"""How busy the devices of one strategy were over the last simulated seconds, from where the parts of tasks ran."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from hybrid_ml_scheduler.core import NO_GPU, FloatColumn, held_gpus
from hybrid_ml_scheduler.storage.connect.store import Store
from hybrid_ml_scheduler.storage.connect.tables import runs, scheduler_results, tasks
from hybrid_ml_scheduler.storage.read.bands import SIDES, Side, Stretch, TaskRange, among, overlaps, reach_of
from hybrid_ml_scheduler.storage.read.history import end_tasks
from hybrid_ml_scheduler.storage.read.parts import last_finish
from hybrid_ml_scheduler.storage.records import BusyShares

__all__ = ["device_load"]

# Devices that did nothing lately are idle, not unknown, if one of so many tasks went there.
_LATELY = 2000


class _Part(NamedTuple):
    """A part of a task on one device."""

    device: str
    begin_s: float
    seconds: float


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

    With `last_task` they end with its arrival, and with the last finish where the run `is_over`. Where the tasks that
    ran in a step were removed from a long run, it is unknown (None), not idle.
    """
    async with store.reading() as connection:
        first, last = (await connection.execute(end_tasks(run_id))).one()
        if last is None:
            return BusyShares(edges_s=np.linspace(0.0, 0.0, steps + 1).tolist(), busy={})
        last = last if last_task is None else max(first, min(last, last_task))
        arrival = sa.select(tasks.c.arrival_time).where(tasks.c.task_id == last)
        end_s = float((await connection.execute(arrival)).scalar_one())
        if is_over:
            end_s = max(end_s, (await connection.execute(last_finish([scheduler], first, last))).scalar_one() or 0.0)
        begun = (await connection.execute(sa.select(runs.c.first_task).where(runs.c.run_id == run_id))).scalar_one()
        stretch = Stretch(max(0.0, end_s - span_s), end_s)
        parts, known = await _parts(
            connection, run_id, scheduler, (first, last), stretch, is_whole=begun is None or first <= begun
        )
        used = await _used(connection, scheduler, (max(first, last - _LATELY + 1), last))
    edges = np.linspace(*stretch, steps + 1)
    found: dict[str, list[float | None]] = {}
    for name in sorted({*used, *(part.device for part in parts)}):
        own = [(part.begin_s, part.begin_s + part.seconds) for part in parts if part.device == name]
        begin, end = np.array(own, dtype=np.float64).reshape(-1, 2).T
        shares = _busy(begin, end, edges, cpu_slots if name == "cpu" else 1).tolist()
        from_s = known["cpu" if name == "cpu" else "gpu"]
        found[name] = [None if edge < from_s else share for edge, share in zip(edges, shares, strict=False)]
    return BusyShares(edges_s=edges.tolist(), busy=found)


async def _parts(
    connection: AsyncConnection, run_id: int, scheduler: str, ends: TaskRange, stretch: Stretch, *, is_whole: bool
) -> tuple[list[_Part], dict[Side, float]]:
    """Return what ran in a stretch, however long ago it came, and since when each side is known."""
    results, found, known = scheduler_results.c, list[_Part](), dict[Side, float]()
    for side in SIDES:
        ranges, known[side] = await reach_of(connection, run_id, scheduler, side, ends, stretch, is_whole=is_whole)
        query = sa.select(results.device, results.gpu_id, results[f"{side}_start"], results[f"{side}_part"]).where(
            among(ranges), results.scheduler_name == scheduler, overlaps(side, stretch)
        )
        rows = (await connection.execute(query)).all()
        found += [_Part(name, row[2], row[3]) for row in rows for name in _names(side, row)]
    return found, known


def _names(side: Side, row: Any) -> list[str]:
    """The devices that a part holds: a gang holds several."""
    return ["cpu"] if side == "cpu" else [f"gpu_{gpu}" for gpu in held_gpus(row[1], row[0])]


async def _used(connection: AsyncConnection, scheduler: str, ends: tuple[int, int]) -> set[str]:
    """Return the devices that some tasks went to."""
    results = scheduler_results.c
    query = sa.select(results.device, results.gpu_id, sa.func.max(results.cpu_part)).where(
        results.task_id.between(*ends), results.scheduler_name == scheduler, results.finish_time.is_not(None)
    )
    rows = (await connection.execute(query.group_by(results.device, results.gpu_id))).all()
    gpus = {f"gpu_{gpu}" for row in rows if row[1] != NO_GPU for gpu in held_gpus(row[1], row[0])}
    return gpus | ({"cpu"} if any((row[2] or 0.0) > 0.0 for row in rows) else set())


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
