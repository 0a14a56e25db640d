"""What a tab of the dashboard costs: CPU time of the renderer's main thread, and its heap after half an hour.

The default race is watched in a real browser, first view, nothing touched. The share is the difference of the browser's
own `ThreadTime` (CPU time of the renderer's main thread, Chrome DevTools `Performance.getMetrics`) over wall time. The
heap is what is in use after two collections. `HMS_HEAP_MINUTES` says how long it is watched (0: not at all).
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import CDPSession, Page, sync_playwright

from tests.api.service import LiveService
from tests.e2e.browser import launched, tab

__all__ = ["render", "run"]

SPEEDS = {"100 tasks/s": 100, "full speed": 0}
PROMISED = {"100 tasks/s": 0.15, "full speed": 0.20}
SETTLED_S, QUICK_SETTLED_S = 6.0, 0.5
WATCHED_S, QUICK_WATCHED_S = 25.0, 1.0
HEAP_EVERY_S = 60.0
WARM_TASKS = 1200


@contextmanager
def default_race(folder: Path) -> Iterator[LiveService]:
    """The service as a new user starts it."""
    live = LiveService(folder)
    for name in ("HMS_SCHEDULERS", "HMS_WORKLOAD", "HMS_KNOWLEDGE"):
        live.environment.pop(name)
    try:
        live.start()
        yield live
    finally:
        live.close()


def metrics(session: CDPSession) -> dict[str, float]:
    """The browser's own measurements of the tab."""
    return {entry["name"]: entry["value"] for entry in session.send("Performance.getMetrics")["metrics"]}


def main_thread(page: Page, session: CDPSession, seconds: float) -> dict[str, float]:
    """The share of a core that the main thread used, and the share of the time that it was in tasks."""
    before = metrics(session)
    page.wait_for_timeout(seconds * 1000)
    after = metrics(session)
    passed = after["Timestamp"] - before["Timestamp"]
    return {
        "of_a_core": (after["ThreadTime"] - before["ThreadTime"]) / passed,
        "in_tasks": (after["TaskDuration"] - before["TaskDuration"]) / passed,
    }


def heap_mb(session: CDPSession) -> float:
    """Megabytes in use after everything that can be thrown away was."""
    session.send("HeapProfiler.collectGarbage")
    session.send("HeapProfiler.collectGarbage")
    return float(session.send("Runtime.getHeapUsage")["usedSize"]) / 1e6


def watched_heap(page: Page, session: CDPSession, minutes: float) -> list[float]:
    """The heap once a minute."""
    sizes, end_s = [heap_mb(session)], time.monotonic() + 60.0 * minutes
    while (left_s := end_s - time.monotonic()) > 0.0:
        page.wait_for_timeout(1000 * min(HEAP_EVERY_S, left_s))
        sizes.append(heap_mb(session))
        print(f"\r{left_s / 60:.0f} minutes left, {sizes[-1]:.2f} MB", end="", file=sys.stderr)
    print(file=sys.stderr)
    return sizes


def run(*, quick: bool) -> dict[str, Any]:
    """Watch the race at two speeds and, unless quick, the heap for half an hour."""
    settle_s, watch_s = (QUICK_SETTLED_S, QUICK_WATCHED_S) if quick else (SETTLED_S, WATCHED_S)
    minutes = 0.0 if quick else float(os.environ.get("HMS_HEAP_MINUTES", "30"))
    found: dict[str, Any] = {"main_thread": {}, "heap_mb": [], "heap_minutes": minutes}
    with (
        tempfile.TemporaryDirectory() as folder,
        default_race(Path(folder)) as live,
        sync_playwright() as playwright,
        launched(playwright) as browser,
        tab(browser, live.url) as opened,
    ):
        live.post("/api/simulation/start", {"speed": 0})
        live.wait(lambda status: status["tasks_processed"] >= (20 if quick else WARM_TASKS))
        page = opened.open("/")
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        for name, speed in SPEEDS.items():
            live.client.patch("/api/simulation", json={"speed": speed})
            page.wait_for_timeout(settle_s * 1000)
            found["main_thread"][name] = main_thread(page, session, watch_s)
        if minutes:
            live.client.patch("/api/simulation", json={"speed": 100})
            page.wait_for_timeout(60_000)  # everything that has a bound is full by then
            found["heap_mb"] = watched_heap(page, session, minutes)
    return found


def render(result: dict[str, Any]) -> str:
    """The figures as text."""
    lines = ["Main thread of a tab on the default race (CPU time ÷ wall time, time in tasks ÷ wall time)"]
    for name, share in result["main_thread"].items():
        kept = "" if share["of_a_core"] <= PROMISED[name] else f"   above {PROMISED[name]:.0%}"
        lines.append(f"  {name:<14}{share['of_a_core']:7.1%}{share['in_tasks']:9.1%}{kept}")
    if sizes := result["heap_mb"]:
        growth = sum(sizes[-3:]) / sum(sizes[:3]) - 1.0
        lines.append(
            f"Heap over {result['heap_minutes']:g} minutes: {sizes[0]:.2f} MB at first, {sizes[-1]:.2f} MB at last, "
            f"{growth:+.1%} (means of three)"
        )
    return "\n".join(lines)
