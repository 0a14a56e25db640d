"""The live service under load: tasks a second with every row stored, API latency meanwhile, viewers.

All in one run on this machine: the service (`hms serve`) in its own process, PostgreSQL as another one, the clients in
this one. Everything shares the machine's cores, so that the figures are those of a small server doing all of it.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import websockets

from benchmarks.live_rates import live_rates, rate_words
from hybrid_ml_scheduler.storage import Integrity, integrity, open_store
from tests import services
from tests.api.service import LiveService, service

__all__ = ["render", "run"]

STRATEGIES = "round_robin,random,greedy,hybrid_ml,rl_agent,oracle"
VIEWED_SPEED = 100.0
TASK = {"size": 800, "compute_intensity": 0.6, "memory_required": 100}
CALLS = {"status": ("GET", "/api/status"), "decision": ("POST", "/api/tasks"), "stats": ("GET", "/api/stats")}
_SEQ = re.compile(r'^\{"type":"simulation_update","seq":(\d+)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long each thing is watched, and by how many."""

    warm_up_s: float = 5.0
    measured_s: float = 30.0
    viewers: int = 500
    deaf: int = 50
    alone_s: float = 5.0
    viewed_s: float = 15.0


FULL = Effort()
QUICK = Effort(warm_up_s=0.1, measured_s=0.2, viewers=5, deaf=2, alone_s=0.1, viewed_s=0.6)


def run(*, quick: bool, base: Path | None = None) -> dict[str, Any]:
    """Measure on both databases, then with viewers; with another source tree only the rates beside it."""
    effort = QUICK if quick else FULL
    if base is not None:
        return {"beside_base": live_rates(base, STRATEGIES, quick=quick)}
    with services.postgres() as server, tempfile.TemporaryDirectory() as folder:
        found = {
            "postgresql": _rate("postgresql", server.url, effort),
            "sqlite": _rate("sqlite", f"sqlite:///{folder}/benchmark.db", effort),
        }
    _progress("viewers: the race alone, then before an audience")
    found["viewers"] = asyncio.run(_viewers(effort))
    return found


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _stored(live: LiveService) -> float:
    text = live.client.get("/api/metrics").text
    return float(next(line.split()[1] for line in text.splitlines() if line.startswith("hms_store_rows_total")))


def _rate(name: str, url: str, effort: Effort) -> dict[str, Any]:
    with (
        tempfile.TemporaryDirectory() as folder,
        service(Path(folder), {"HMS_SCHEDULERS": STRATEGIES, "DATABASE_URL": url}) as live,
    ):
        live.post("/api/simulation/start", {"speed": 0})
        _progress(f"{name}: warming up for {effort.warm_up_s:g} s, then measuring for {effort.measured_s:g} s")
        time.sleep(effort.warm_up_s)
        tasks, rows, begin = live.status()["tasks_processed"], _stored(live), time.perf_counter()
        latencies = _latencies(live.url, effort.measured_s)
        status, seconds = live.status(), time.perf_counter() - begin
        measured = (status["tasks_processed"] - tasks, _stored(live) - rows)
        stopped = live.post("/api/simulation/stop")
        live.wait(lambda now: now["backlog_rows"] == 0)
        _progress(f"{name}: {measured[0] / seconds:.0f} tasks/s; counting the rows in the database")
        counted = asyncio.run(_counted(url))
        return {
            "tasks_per_s": measured[0] / seconds,
            "rows_per_s": measured[1] / seconds,
            "measured_s": seconds,
            "tasks": stopped["tasks_processed"],
            "results_counted": counted.results,
            "every_row_stored": counted.whole
            and counted.tasks == stopped["tasks_processed"]
            and counted.results == counted.tasks * len(STRATEGIES.split(",")),
            "tasks_per_retraining": status["learning"]["hybrid_ml"]["tasks_per_update"],
            "retrainings_coalesced": status["learning"]["hybrid_ml"]["coalesced"],
            "tasks_per_agent_update": status["learning"]["rl_agent"]["tasks_per_update"],
            "api_ms": latencies,
        }


async def _counted(url: str) -> Integrity:
    """Count what the database really holds, and look for gaps, duplicates and orphans in it."""
    store = await open_store(url)
    try:
        return await integrity(store)
    finally:
        await store.close()


def _latencies(url: str, seconds: float) -> dict[str, dict[str, float]]:
    """Ask in turn, one call after the other, and return the percentiles of each call."""
    taken: dict[str, list[float]] = {name: [] for name in CALLS}
    with httpx.Client(base_url=url, timeout=30.0) as client:
        deadline = time.perf_counter() + seconds  # to make a client takes a while by itself
        while time.perf_counter() < deadline:
            for name, (method, path) in CALLS.items():
                begin = time.perf_counter()
                answer = client.request(method, path, json=TASK if method == "POST" else None)
                taken[name].append(1000 * (time.perf_counter() - begin))
                assert answer.status_code == 200, answer.text
            time.sleep(0.01)
    return {
        name: {"calls": len(values), "p50": float(np.percentile(values, 50)), "p99": float(np.percentile(values, 99))}
        for name, values in taken.items()
    }


async def _viewers(effort: Effort) -> dict[str, Any]:
    """The race at a fixed pace: alone, and before an audience of which some never read."""
    with tempfile.TemporaryDirectory() as folder, service(Path(folder), {"HMS_SCHEDULERS": STRATEGIES}) as live:
        live.post("/api/simulation/start", {"speed": VIEWED_SPEED})
        await asyncio.sleep(0.6 * effort.alone_s)
        alone = await _speed(live, effort.alone_s)
        deaf = [await _deaf(live.port) for _ in range(effort.deaf)]
        address = live.url.replace("http", "ws") + "/ws"
        watchers = [asyncio.create_task(_watch(address)) for _ in range(effort.viewers - effort.deaf)]
        await asyncio.sleep(effort.alone_s)
        process = psutil.Process(live.pid)
        before = process.memory_info().rss
        watched = await _speed(live, effort.viewed_s)
        after = process.memory_info().rss
        for task in watchers:
            task.cancel()
        seen = [numbers for numbers in await asyncio.gather(*watchers) if numbers]
        for writer in deaf:
            writer.transport.abort()
        gaps = sum(b - a - 1 for numbers in seen for a, b in itertools.pairwise(numbers))
        return {
            "viewers": effort.viewers,
            "never_reading": effort.deaf,
            "watching": len(seen),
            "speed_alone": alone,
            "speed_watched": watched,
            "updates_seen": sum(map(len, seen)),
            "updates_missed": gaps,
            "rss_mb": after / 2**20,
            "rss_growth_percent": 100.0 * (after - before) / before,
        }


async def _speed(live: LiveService, seconds: float) -> float:
    first, begin = live.status()["tasks_processed"], time.perf_counter()
    await asyncio.sleep(seconds)
    return float(live.status()["tasks_processed"] - first) / (time.perf_counter() - begin)


async def _watch(address: str) -> list[int]:
    """Collect the numbers of all updates until told to stop."""
    numbers: list[int] = []
    try:
        async with websockets.connect(address, compression=None, max_size=None, open_timeout=60) as socket:
            async for message in socket:
                found = _SEQ.match(str(message))
                numbers += [int(found.group(1))] if found else []
    except asyncio.CancelledError:
        return numbers
    return numbers


async def _deaf(port: int) -> asyncio.StreamWriter:
    _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    writer.write(
        b"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    return writer


def render(result: dict[str, Any]) -> str:
    """Return the figures as text."""
    if "beside_base" in result:
        return rate_words(result["beside_base"])
    lines = []
    for name in ("postgresql", "sqlite"):
        one = result[name]
        lines.append(
            f"{name:11} {one['tasks_per_s']:7.0f} tasks/s {one['rows_per_s']:8.0f} rows/s"
            f"  over {one['measured_s']:.0f} s; every row of {one['tasks']:,} tasks stored: {one['every_row_stored']}"
        )
        lines.append(
            f"{'':11} a retraining every {one['tasks_per_retraining'] or 0:.0f} tasks ({one['retrainings_coalesced']}"
            f" coalesced), an agent update every {one['tasks_per_agent_update'] or 0:.1f}"
        )
        for call, values in one["api_ms"].items():
            lines.append(
                f"{'':11} {call:9} p50 {values['p50']:6.1f} ms  p99 {values['p99']:6.1f} ms  ({values['calls']} calls)"
            )
    seen = result["viewers"]
    lines.append(
        f"viewers     {seen['watching']} watching, {seen['never_reading']} never reading:"
        f" {seen['speed_alone']:.1f} tasks/s alone, {seen['speed_watched']:.1f} watched;"
        f" {seen['updates_missed']} of {seen['updates_seen'] + seen['updates_missed']} updates missed;"
        f" RSS {seen['rss_mb']:.0f} MB, {seen['rss_growth_percent']:+.1f} %"
    )
    return "\n".join(lines)
