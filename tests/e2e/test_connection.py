"""The service goes away and comes back; the tab notices both by itself."""

from __future__ import annotations

import contextlib
from pathlib import Path

from playwright.sync_api import Browser, Page, TimeoutError, expect

from tests.api.service import LiveService, service
from tests.e2e.browser import Tab, tab


def _before_the_first_race(opened: Tab, live: LiveService) -> Page:
    """Every view says that nothing is there yet; then the race is started by its button."""
    page = opened.open("/")
    expect(page.get_by_text("No race yet")).to_be_visible()
    expect(page.get_by_text("Nobody is racing yet")).to_be_visible()
    for path, words in (
        ("/tasks", "No decision yet"),
        ("/tasks?on=cpu", "No decision matches"),
        ("/history", "Too little history"),
        ("/strategies/nosuch", "There is no strategy nosuch here"),
        ("/x", "no such view"),
    ):
        page.goto(live.url + path)
        expect(page.get_by_text(words)).to_be_visible()
    page.goto(live.url)
    page.get_by_role("button", name="Start the race").click()
    expect(page.locator("[data-racer]")).to_have_count(4)
    assert opened.complaints == []
    return page


def test_from_the_empty_state_through_a_crash_and_back(browser: Browser, tmp_path: Path) -> None:
    with service(tmp_path, {"HMS_SPEED": "50"}) as live, tab(browser, live.url) as opened:
        page = _before_the_first_race(opened, live)
        live.wait(lambda status: status["tasks_processed"] >= 60)
        live.kill()
        expect(page.locator("[data-phase='reconnecting'], [data-phase='down']")).to_be_visible()
        expect(page.get_by_text("What you see is the last that was known.")).to_be_visible()
        assert opened.tasks() > 0
        expect(page.get_by_text("The service does not answer")).to_be_visible()
        live.start()
        # The tab may have come back before a person finds the button; either way it must be live again.
        with contextlib.suppress(TimeoutError):
            page.get_by_role("button", name="Try now").click(timeout=1000)
        expect(page.locator("[data-phase='live']")).to_be_visible()
        expect(page.get_by_text("The service does not answer")).to_have_count(0)
        assert live.status()["is_running"], "after a crash the service comes back in the state it was in"
        expect(page.locator("[data-racer]")).to_have_count(4)
        tasks = live.held("pause")["tasks_processed"]
        expect(page.locator("[data-figure='tasks-processed']")).to_have_text(f"{tasks:,}")
        # A call in flight when the service is killed is reset; a later one is refused; one cut in its answer is empty.
        expected = ("ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "WebSocket")
        assert [text for text in opened.complaints if not any(word in text for word in expected)] == []


SLOW = """
import time
from pathlib import Path

from hybrid_ml_scheduler import Decision


class Slow:
    name = "slow"

    def decide(self, task, cluster):
        while Path("{0}").exists():
            time.sleep(0.01)
        return Decision(gpu_fraction=1.0)
"""


def test_a_race_that_is_not_heard_is_not_called_live_and_it_is_said_why(browser: Browser, tmp_path: Path) -> None:
    stop = tmp_path / "stop"
    (tmp_path / "slow.py").write_text(SLOW.format(stop))
    with (
        service(tmp_path, {"HMS_SCHEDULERS": "greedy,slow.py:Slow", "HMS_SPEED": "50"}) as live,
        tab(browser, live.url) as opened,
    ):
        live.post("/api/simulation/start")
        page = opened.open("/")
        pill = page.locator("[data-phase='live']")
        expect(pill).to_contain_text("Live")
        stop.touch()
        banner = page.get_by_role("status").filter(has_text="No news of the race")
        expect(banner).to_contain_text("a strategy may be stuck in its own code")
        expect(pill).to_contain_text("Waiting")
        stop.unlink()
        expect(banner).to_have_count(0)
        expect(pill).to_contain_text("Live")
        assert opened.complaints == []
