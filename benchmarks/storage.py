"""Rows a second into SQLite and PostgreSQL: our batches beside SQLAlchemy Core and a plain ORM, in the same run."""

from __future__ import annotations

import asyncio
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import registry

from hybrid_ml_scheduler.core import stream
from hybrid_ml_scheduler.storage import (
    CheckpointRow,
    ResultRow,
    RowBatch,
    Store,
    StoreWriter,
    TaskRow,
    TrainingRow,
    comparative_history,
    create_run,
    data_counts,
    integrity,
    ledger,
    next_task_id,
    open_store,
    statistics,
    trend,
    upgrade,
    write_batch,
)
from hybrid_ml_scheduler.storage.connect.tables import scheduler_results, tasks, training_data
from hybrid_ml_scheduler.storage.records import LedgerQuery
from tests import services

__all__ = ["render", "run"]

SCHEDULERS = ("round_robin", "random", "greedy", "hybrid_ml", "rl_agent", "oracle")
ROWS_PER_TASK = 2 + len(SCHEDULERS)
BATCH_TASKS = 500
CHECKPOINT_BYTES = 200_000
# The ORM gets fewer batches: it is that much slower, and every figure is a rate.
BATCHES = {"batches": 20, "core executemany": 8, "orm add_all": 3, "writer": 20, "writer beside a busy thread": 12}
QUICK_BATCHES = dict.fromkeys(BATCHES, 1)
QUERIES: dict[str, Callable[[Store], Awaitable[Any]]] = {
    "comparative_history(100)": lambda store: comparative_history(store, limit=100),
    "statistics(1000)": lambda store: statistics(store),
    "ledger by latency": lambda store: ledger(store, LedgerQuery(sort="latency")),
    "trend(100)": lambda store: trend(store),
    "data_counts": lambda store: data_counts(store),
}

Row = TaskRow | ResultRow | TrainingRow


def made(run_id: int, first: int) -> RowBatch:
    """A batch as the arena hands it over, checkpoint included."""
    values = stream(1, "benchmark", first).random((BATCH_TASKS, 6)).tolist()
    ids = range(first, first + BATCH_TASKS)
    return RowBatch(
        tasks=[TaskRow(i, run_id, 5000 * v[0], v[1], 500 * v[2], i / 6) for i, v in zip(ids, values, strict=True)],
        results=[result(i, name, v) for i, v in zip(ids, values, strict=True) for name in SCHEDULERS],
        training=[TrainingRow(i, 5000 * v[0], v[1], 500 * v[2], v[3], v[4]) for i, v in zip(ids, values, strict=True)],
        checkpoint=CheckpointRow(run_id, first + BATCH_TASKS, bytes(CHECKPOINT_BYTES), 0.0),
    )


def result(i: int, name: str, v: Sequence[float]) -> ResultRow:
    """One strategy's row."""
    begin, end = i / 6 + v[4], i / 6 + v[4] + v[3]
    measured = (v[3], v[3] + v[4], v[4], 50 * v[5], 1e-4 * v[5])
    return ResultRow(
        i, name, v[1], "cpu+gpu_1", 1, *measured, i / 6, begin, end, v[3], v[4], begin, begin, False, False
    )


def run(*, quick: bool) -> dict[str, Any]:
    """Measure both databases, one after the other."""
    sizes = QUICK_BATCHES if quick else BATCHES
    found: dict[str, Any] = {"batch_tasks": BATCH_TASKS, "rows_per_task": ROWS_PER_TASK, "databases": {}}
    with tempfile.TemporaryDirectory() as folder:
        found["databases"]["SQLite"] = asyncio.run(measured(f"sqlite:///{Path(folder) / 'benchmark.db'}", sizes))
    with services.postgres() as server:
        found["databases"]["PostgreSQL"] = asyncio.run(measured(server.url, sizes))
    return found


async def measured(url: str, sizes: Mapping[str, int]) -> dict[str, Any]:
    """Every way of writing on one database, then the dashboard's queries on what was written."""
    await upgrade(url)
    store = await open_store(url)
    run_id = await create_run(store, plan={}, seed=1, versions={})
    ways: dict[str, Callable[[list[RowBatch]], Awaitable[None]]] = {
        "batches": lambda batches: by_batches(store, batches),
        "core executemany": lambda batches: by_core(store, batches),
        "orm add_all": lambda batches: by_orm(store, batches),
        "writer": lambda batches: by_writer(url, batches),
        "writer beside a busy thread": lambda batches: beside_busy_thread(url, batches),
    }
    rates = {}
    for name, way in ways.items():
        first = await next_task_id(store) if name == "batches" else await newest(store) + 1
        batches = [made(run_id, first + BATCH_TASKS * place) for place in range(sizes[name])]
        begin_s = time.perf_counter()
        await way(batches)
        rates[name] = len(batches) * BATCH_TASKS / (time.perf_counter() - begin_s)
    whole = (await integrity(store)).whole
    queries = {name: await latency_s(store, query) for name, query in QUERIES.items()}
    await store.close()
    return {"tasks_per_s": rates, "query_s": queries, "history_is_whole": whole}


async def newest(store: Store) -> int:
    """The highest id in the table; the peers do not keep our totals."""
    async with store.reading() as connection:
        return int((await connection.execute(sa.select(sa.func.max(tasks.c.task_id)))).scalar_one())


async def by_batches(store: Store, batches: list[RowBatch]) -> None:
    """Our way, directly."""
    for batch in batches:
        await write_batch(store, batch)


async def by_core(store: Store, batches: list[RowBatch]) -> None:
    """SQLAlchemy Core: one executemany a table."""
    for batch in batches:
        async with store.writing() as connection:
            for table, rows in tables_of(batch):
                await connection.execute(sa.insert(table), [plain(row) for row in rows])


async def by_orm(store: Store, batches: list[RowBatch]) -> None:
    """A plain ORM: objects, add_all, commit."""
    classes = mapped()
    for batch in batches:
        async with AsyncSession(store.engine) as session:
            for table, rows in tables_of(batch):
                session.add_all([classes[table.name](**plain(row)) for row in rows])
                await session.flush()
            await session.commit()


def tables_of(batch: RowBatch) -> list[tuple[sa.Table, Sequence[Row]]]:
    """The three large tables with their rows."""
    return [(tasks, batch.tasks), (scheduler_results, batch.results), (training_data, batch.training)]


def plain(row: Row) -> dict[str, Any]:
    """A row as the peers take it; they write JSON themselves."""
    values = row._asdict()
    return values | {"dependencies": []} if "dependencies" in values else values


def mapped() -> dict[str, Any]:
    """A class for each of the three large tables."""
    mapper = registry()
    classes = {}
    for table in (tasks, scheduler_results, training_data):
        classes[table.name] = type(table.name.title(), (), {})
        mapper.map_imperatively(classes[table.name], table)
    return classes


async def by_writer(url: str, batches: list[RowBatch]) -> None:
    """Our way through the writer's thread, until every row is stored."""
    writer = StoreWriter(url)
    writer.start()
    for batch in batches:
        writer.put(batch)
    if not writer.close(timeout_s=120.0):
        raise RuntimeError("The writer did not store everything.")


async def beside_busy_thread(url: str, batches: list[RowBatch]) -> None:
    """The same while another thread computes in Python without pause, as a race at full speed does."""
    stop = threading.Event()

    def compute() -> None:
        number = 0
        while not stop.is_set():
            for step in range(10_000):
                number += step

    busy = threading.Thread(target=compute)
    busy.start()
    try:
        await by_writer(url, batches)
    finally:
        stop.set()
        busy.join()


async def latency_s(store: Store, query: Callable[[Store], Awaitable[Any]]) -> float:
    """The best of five."""
    times = []
    for _ in range(5):
        begin_s = time.perf_counter()
        await query(store)
        times.append(time.perf_counter() - begin_s)
    return min(times)


def render(result: dict[str, Any]) -> str:
    """The figures as a table."""
    lines = [f"Storing tasks with {len(SCHEDULERS)} results and a label each, {result['batch_tasks']} a batch:"]
    for name, found in result["databases"].items():
        orm = found["tasks_per_s"]["orm add_all"]
        lines += ["", f"{name:31} {'tasks/s':>10} {'rows/s':>10} {'x ORM':>7}"]
        for way, rate in found["tasks_per_s"].items():
            lines.append(f"  {way:29} {rate:10,.0f} {rate * result['rows_per_task']:10,.0f} {rate / orm:7.1f}")
        lines += [f"  {query:29} {seconds * 1000:10.1f} ms" for query, seconds in found["query_s"].items()]
        lines.append(f"  history is whole: {'yes' if found['history_is_whole'] else 'NO'}")
    return "\n".join(lines)
