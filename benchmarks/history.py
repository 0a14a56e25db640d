"""A million stored tasks: how long a page of the ledger, the list of runs and a comparison of runs take."""

from __future__ import annotations

import asyncio
import math
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np

from hybrid_ml_scheduler.core import stream
from hybrid_ml_scheduler.storage import (
    FACTS,
    NUMBERS,
    LedgerQuery,
    LedgerSort,
    Order,
    ResultColumns,
    RowBatch,
    Store,
    TaskBlock,
    create_run,
    ledger,
    open_store,
    paired_stretches,
    range_totals,
    run_totals,
    stored_runs,
    upgrade,
    write_batch,
)
from tests import services

__all__ = ["render", "run"]

SCHEDULERS = ("round_robin", "random", "greedy", "hybrid_ml", "rl_agent", "oracle")
TASKS, QUICK_TASKS = 1_000_000, 4_000
BLOCK = 5_000
ASKED, QUICK_ASKED = 60, 4
SORTS: tuple[LedgerSort, ...] = ("task_id", "latency", "time", "energy", "size", "gpu_fraction")
PROMISED_MS = 300.0  # for one answer


def block(run_id: int, first: int, count: int, place: int) -> TaskBlock:
    """Tasks and results as a race hands them over; two runs on the same place have the same tasks."""
    draw = stream(1, "history", place).random((6, count))
    tail = 0.05 * (1.0 - draw[4]) ** -0.7  # latencies have a long tail
    arrival = (place + np.arange(count)) / 6.0
    facts = dict(zip(FACTS, (100 + 4900 * draw[0], draw[1], 500 * draw[2], arrival, draw[3], tail), strict=True))
    return TaskBlock(
        run_id=run_id,
        task_id=np.arange(first, first + count),
        facts=np.array([facts[name] for name in FACTS]),
        results={name: _results(name, first, arrival, tail) for name in SCHEDULERS},
    )


def _results(name: str, first: int, arrival: np.ndarray, tail: np.ndarray) -> ResultColumns:
    own = stream(2, "history", name, first).random((4, len(tail)))
    time_s, wait_s = tail * (0.5 + own[0]), np.where(own[1] < 0.4, 0.0, own[1] * tail)
    fraction = np.round(np.clip(1.4 * own[2] - 0.2, 0.0, 1.0), 2)
    gpu = np.where(fraction > 0.0, (4 * own[3]).astype(np.int32), -1).astype(np.int32)
    start, nothing = arrival + wait_s, np.full(len(tail), np.nan)
    numbers = dict.fromkeys(NUMBERS, nothing) | {
        "gpu_fraction": fraction,
        "actual_time": time_s,
        "latency": time_s + wait_s,
        "wait": wait_s,
        "energy_consumption": 50.0 * time_s,
        "execution_cost": 1e-4 * time_s,
        "ready_time": arrival,
        "start_time": start,
        "finish_time": start + time_s,
        "cpu_part": time_s * (1.0 - fraction),
        "gpu_part": time_s * fraction,
        "cpu_start": start,
        "gpu_start": start,
    }
    whole = np.zeros(len(tail), dtype=bool)
    columns = np.array([numbers[key] for key in NUMBERS])
    return ResultColumns(gpu_id=gpu, out_of_memory=whole, failed=whole, numbers=columns)


async def filled(store: Store, tasks: int) -> float:
    """Fill the store with two runs on the same tasks; return tasks a second."""
    begin_s, half = time.perf_counter(), tasks // 2
    for number in range(2):
        run_id = await create_run(store, plan={}, seed=1, versions={})
        for place in range(0, half, BLOCK):
            count = min(BLOCK, half - place)
            await write_batch(store, RowBatch(blocks=[block(run_id, number * half + place, count, place)]))
    return tasks / (time.perf_counter() - begin_s)


Asked = Callable[[Store, int], Awaitable[Any]]


def queries(tasks: int) -> dict[str, Asked | tuple[Asked, Asked]]:
    """What is asked, one answer each; the number varies sort, order and filter from one time to the next.

    Of two, the first is asked before, untimed, and the second goes on from it.
    """
    places: dict[int, Any] = {}

    def page(number: int, **more: Any) -> LedgerQuery:
        order: Order = "desc" if number % 4 < 2 else "asc"
        return LedgerQuery(limit=50, sort=SORTS[number % len(SORTS)], order=order, run_id=1 + number % 2, **more)

    def strategy(number: int) -> str:
        return SCHEDULERS[number // 3 % len(SCHEDULERS)]

    async def turned_to(store: Store, number: int) -> None:
        places[number] = (await ledger(store, page(number, scheduler=strategy(number)))).next

    async def following(store: Store, number: int) -> None:
        await ledger(store, page(number, scheduler=strategy(number), after=places[number]))

    return {
        "page, one strategy": lambda store, n: ledger(store, page(n, scheduler=strategy(n))),
        "page, one device": lambda store, n: ledger(store, page(n, device=("cpu", "gpu_2", "cpu+gpu_1")[n % 3])),
        "page, a range of tasks": lambda store, n: ledger(store, page(n, first_task=n * 1000 % (tasks // 4))),
        "the next page": (turned_to, following),
        "list of runs": lambda store, n: _listed(store),
        "comparison of two runs": lambda store, n: _compared(store),
        "standings of a moment": lambda store, n: range_totals(store, 1, n % 499, tasks // 2 - 1 - 7 * n),
    }


async def _listed(store: Store) -> None:
    found, _ = await stored_runs(store, limit=50)
    await run_totals(store, [one.run_id for one in found])


async def _compared(store: Store) -> None:
    await run_totals(store, [1, 2])
    await paired_stretches(store, 1, 2)


async def measured(url: str, *, tasks: int, asked: int) -> dict[str, Any]:
    """Fill one database and ask it."""
    await upgrade(url)
    store = await open_store(url, command_timeout_s=120.0)
    rate = await filled(store, tasks)
    found: dict[str, Any] = {}
    for name, query in queries(tasks).items():
        times_ms = await _timed(store, query, asked)
        found[name] = {"p50_ms": percentile(times_ms, 0.5), "p95_ms": percentile(times_ms, 0.95)}
    await store.close()
    return {"tasks_per_s": rate, "queries": found}


async def _timed(store: Store, query: Asked | tuple[Asked, Asked], asked: int) -> list[float]:
    before, own = query if isinstance(query, tuple) else (None, query)
    times_ms: list[float] = []
    for number in (0, *range(asked)):  # the first answer is not counted
        if before is not None:
            await before(store, number)
        begin_s = time.perf_counter()
        await own(store, number)
        times_ms.append(1000.0 * (time.perf_counter() - begin_s))
    return times_ms[1:]


def percentile(values: list[float], share: float) -> float:
    """The value that this share of all does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def run(*, quick: bool) -> dict[str, Any]:
    """Measure both databases, one after the other."""
    size = {"tasks": QUICK_TASKS, "asked": QUICK_ASKED} if quick else {"tasks": TASKS, "asked": ASKED}
    found: dict[str, Any] = {"tasks": size["tasks"], "results": size["tasks"] * len(SCHEDULERS), "databases": {}}
    with tempfile.TemporaryDirectory() as folder:
        found["databases"]["SQLite"] = asyncio.run(measured(f"sqlite:///{Path(folder) / 'history.db'}", **size))
    with services.postgres() as server:
        found["databases"]["PostgreSQL"] = asyncio.run(measured(server.url, **size))
    return found


def render(result: dict[str, Any]) -> str:
    """The figures as text."""
    lines = [f"{result['tasks']:,} stored tasks, {result['results']:,} results; milliseconds, p50 and p95"]
    for name, found in result["databases"].items():
        lines.append(f"\n{name} (filled with {found['tasks_per_s']:,.0f} tasks/s)")
        for query, times in found["queries"].items():
            kept = "" if times["p95_ms"] <= PROMISED_MS else f"   above {PROMISED_MS:.0f} ms"
            lines.append(f"  {query:<26}{times['p50_ms']:9.1f}{times['p95_ms']:9.1f}{kept}")
    return "\n".join(lines)
