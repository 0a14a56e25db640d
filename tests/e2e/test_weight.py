"""The dashboard is light: to load, to draw, and to leave open."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, CDPSession, Response, expect

from tests.api.service import LiveService, service
from tests.e2e.browser import Tab, tab
from tests.e2e.conftest import STRATEGIES

FIRST_VIEW_BYTES = 250_000
BUSIEST_SHARE = 0.35
MOST_GROWTH = 0.10
WATCHED_S = 10.0
FORWARDED_S = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What a tab cost while ten updates a second came, and what half a simulated hour left behind."""

    in_tasks: float
    of_a_core: float
    early_bytes: float
    late_bytes: float
    complaints: list[str]


def figures(session: CDPSession) -> dict[str, float]:
    """The browser's own measurements of the tab."""
    return {entry["name"]: entry["value"] for entry in session.send("Performance.getMetrics")["metrics"]}


def heap(session: CDPSession) -> float:
    """Bytes in use after everything that can be thrown away was."""
    session.send("HeapProfiler.collectGarbage")
    session.send("HeapProfiler.collectGarbage")
    return float(session.send("Runtime.getHeapUsage")["usedSize"])


@pytest.fixture(scope="module")
def watch(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Watch:
    """One tab, watched at ten updates a second and then fast-forwarded."""
    environment = {"HMS_SCHEDULERS": STRATEGIES, "HMS_SPEED": "50", "HMS_UPDATE_INTERVAL_S": "0.1"}
    with service(tmp_path_factory.mktemp("hurried"), environment) as live, tab(browser, live.url) as opened:
        live.post("/api/simulation/start")
        page = opened.open("/")
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        page.wait_for_timeout(3000)
        before = figures(session)
        page.wait_for_timeout(WATCHED_S * 1000)
        after = figures(session)
        passed = after["Timestamp"] - before["Timestamp"]
        early = heap(session)
        begin_s = live.status()["simulated_time_s"]
        live.client.patch("/api/simulation", json={"speed": 0})
        live.wait(lambda status: status["simulated_time_s"] >= begin_s + FORWARDED_S, within_s=60.0)
        page.wait_for_timeout(2000)
        return Watch(
            in_tasks=(after["TaskDuration"] - before["TaskDuration"]) / passed,
            of_a_core=(after["ThreadTime"] - before["ThreadTime"]) / passed,
            early_bytes=early,
            late_bytes=heap(session),
            complaints=opened.complaints,
        )


def test_the_first_view_loads_little_and_nothing_of_the_other_views(watcher: Tab, race: LiveService) -> None:
    loaded: dict[str, int] = {}

    def weigh(response: Response) -> None:
        if "/api/" not in response.url:
            loaded[response.url.rpartition("/")[2]] = response.request.sizes()["responseBodySize"]

    watcher.page.on("response", weigh)
    page = watcher.open("/")
    expect(page.locator("[data-racer]").first).to_be_visible()
    expect(page.get_by_role("region", name="Win/loss by latency")).to_be_visible()
    total = sum(loaded.values())
    print(f"first view: {total / 1000:.1f} kB in {len(loaded)} files")
    assert total <= FIRST_VIEW_BYTES, loaded
    assert not [name for name in loaded if name.startswith(("HistoryView", "TasksView", "CategoricalChart"))]


def test_ten_updates_a_second_leave_the_main_thread_free(watch: Watch) -> None:
    print(f"main thread: {watch.in_tasks:.1%} of the time in tasks, {watch.of_a_core:.1%} of a core")
    # On a crowded machine a task also waits for its core; that waiting is not the dashboard's work.
    assert min(watch.in_tasks, watch.of_a_core) < BUSIEST_SHARE


def test_half_an_hour_of_updates_leaves_the_heap_flat(watch: Watch) -> None:
    growth = watch.late_bytes / watch.early_bytes - 1
    print(f"heap: {watch.early_bytes / 1e6:.2f} MB, after half a simulated hour {growth:+.1%}")
    assert growth < MOST_GROWTH
    assert watch.complaints == []
