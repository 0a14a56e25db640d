"""A page of a service that follows: it shows the race of another, and offers nothing that only that one could do."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.api.service import service
from tests.e2e.browser import tab


def test_a_followed_race_is_shown_and_cannot_be_steered(browser: Browser, tmp_path: Path, redis_url: str) -> None:
    shared = {"DATABASE_URL": f"sqlite:///{tmp_path / 'history.db'}", "REDIS_URL": redis_url, "HMS_SPEED": "50"}
    with service(tmp_path / "runs", shared) as leader:
        leader.post("/api/simulation/start")
        leader.wait(lambda status: status["tasks_processed"] >= 60)
        followed = service(tmp_path / "follows", {**shared, "HMS_FOLLOW": "1"})
        with followed as follower, tab(browser, follower.url) as opened:
            page = opened.open("/")
            expect(page.get_by_text("it is steered there")).to_be_visible()
            expect(page.locator("[data-racer]")).to_have_count(4)
            tasks = leader.held("pause")["tasks_processed"]
            expect(page.locator("[data-figure='tasks-processed']")).to_have_text(f"{tasks:,}")
            for name in ("Pause", "Resume", "Stop the race", "Begin a new run"):
                expect(page.get_by_role("button", name=name)).to_have_count(0)
            page.goto(follower.url + "/history")
            expect(page.get_by_text("Results Parquet")).to_be_visible()
            expect(page.get_by_text("Clear history")).to_have_count(0)
            leader.kill()
            expect(page.get_by_text("has not been heard since")).to_be_visible()
            expect(page.get_by_text("The race is out of sight")).to_be_visible()
            expect(page.locator("[data-phase]")).to_contain_text("Out of sight")
            leader.start()
            expect(page.get_by_text("has not been heard since")).to_have_count(0)
            expect(page.locator("[data-phase]")).to_contain_text("Paused")
            assert opened.complaints == []
