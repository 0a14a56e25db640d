"""The dashboard is light: to load, to draw, and to leave open."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, CDPSession, Response, expect

from tests.api.service import LiveService, service
from tests.e2e.browser import PATIENCE_MS, Tab, tab
from tests.e2e.conftest import STRATEGIES
from tests.e2e.truth import snapshot

FIRST_VIEW_BYTES = 260_000
BUSIEST_SHARE = 0.35
MOST_GROWTH = 0.10
WATCHED_S = 6.0
# Half an hour at two updates a second, after enough of them to fill every bounded list and to warm up the browser.
FORWARDED = 3600
FULL_AFTER = 2500
DRAWN_EVERY_MS = 450.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """What a tab cost while ten updates a second came."""

    in_tasks: float
    of_a_core: float


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
    """One tab, watched at ten updates a second."""
    environment = {"HMS_SCHEDULERS": STRATEGIES, "HMS_SPEED": "50", "HMS_UPDATE_INTERVAL_S": "0.1"}
    with service(tmp_path_factory.mktemp("hurried"), environment) as live, tab(browser, live.url) as opened:
        live.post("/api/simulation/start")
        page = opened.open("/")
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        page.wait_for_timeout(2000)
        before = figures(session)
        page.wait_for_timeout(WATCHED_S * 1000)
        after = figures(session)
        passed = after["Timestamp"] - before["Timestamp"]
        return Watch(
            in_tasks=(after["TaskDuration"] - before["TaskDuration"]) / passed,
            of_a_core=(after["ThreadTime"] - before["ThreadTime"]) / passed,
        )


# The page's own socket hears nothing but what the test says. Updates are made in the page: through the browser's
# protocol each of them would cost more than drawing it.
_OWN_SOCKET = """
window.WebSocket = class extends EventTarget {
    static OPEN = 1;
    readyState = 1;
    constructor() {
        super();
        window.say = (text) => this.onmessage(new MessageEvent("message", { data: text }));
        setTimeout(() => this.onopen(new Event("open")), 0);
    }
    send() {}
    close() {}
};"""
# A real update as it would be `step` half seconds later.
_LATER = """([update, begin, end]) => {
    for (let step = begin; step < end; step += 1) {
        const processed = update.tasks_processed + 5 * step;
        const first = update.task.id + 5 * step;
        say(JSON.stringify({
            ...update,
            seq: update.seq + step,
            at: new Date(Date.parse(update.at) + 500 * step).toISOString(),
            simulated_time_s: update.simulated_time_s + step,
            tasks_processed: processed,
            status: { ...update.status, tasks_processed: processed },
            recent_tasks: update.recent_tasks.map((task, place) => ({ ...task, id: first + place })),
        }));
    }
}"""


def test_the_first_view_loads_little_and_nothing_of_the_other_views(browser: Browser, race: LiveService) -> None:
    with tab(browser, race.url) as opened:  # a profile that has loaded nothing yet
        weighed(opened)


def weighed(opened: Tab) -> None:
    """Hold what the first view loads against what it may."""
    loaded: dict[str, int] = {}

    def weigh(response: Response) -> None:
        if "/api/" not in response.url:
            loaded[response.url.rpartition("/")[2]] = response.request.sizes()["responseBodySize"]

    opened.page.on("response", weigh)
    page = opened.open("/")
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


def test_half_an_hour_of_updates_leaves_the_heap_flat(browser: Browser, standing: LiveService) -> None:
    first = snapshot(standing)
    update = {**first["update"], "recent_tasks": first["recent_tasks"][-5:]}
    with tab(browser, standing.url) as opened:
        opened.page.add_init_script(_OWN_SOCKET)
        opened.page.goto(standing.url)
        opened.page.wait_for_function("'say' in window")
        session = opened.page.context.new_cdp_session(opened.page)
        opened.page.evaluate("(text) => say(text)", json.dumps(first))

        def forward(begin: int, end: int, together: int) -> float:
            for step in range(begin, end, together):
                opened.page.evaluate(_LATER, [update, step, min(step + together, end)])
                opened.page.wait_for_timeout(DRAWN_EVERY_MS)
            expected = update["tasks_processed"] + 5 * (end - 1)
            expect(opened.page.locator("[data-figure='tasks-processed']")).to_have_text(
                f"{expected:,}", timeout=5 * PATIENCE_MS
            )
            return heap(session)

        # By now everything that has a bound is full, and what the browser compiles is compiled.
        early = forward(1, FULL_AFTER, together=500)
        late = forward(FULL_AFTER, FULL_AFTER + FORWARDED, together=150)
        growth = late / early - 1
        print(f"heap: {early / 1e6:.2f} MB, after {FORWARDED} updates (half an hour) {growth:+.1%}")
        assert growth < MOST_GROWTH
        assert opened.complaints == []
