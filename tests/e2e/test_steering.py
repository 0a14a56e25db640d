"""A person steers the race and sees that it obeys."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.api.service import LiveService
from tests.e2e.browser import Tab, tab


def test_pause_stops_the_counter_and_resume_lets_it_run(watcher: Tab, running: LiveService) -> None:
    page = watcher.open("/")
    page.get_by_role("region", name="Race controls").get_by_role("button", name="Pause").click()
    expect(page.get_by_text("The race is stopped")).to_be_visible()
    running.wait(lambda status: status["is_paused"])
    expect(page.locator("[data-figure='tasks-processed']")).to_have_text(f"{running.status()['tasks_processed']:,}")
    before = watcher.tasks()
    page.wait_for_timeout(1500)
    assert watcher.tasks() == before == running.status()["tasks_processed"]
    page.get_by_role("region", name="Race controls").get_by_role("button", name="Resume").click()
    expect(page.locator("[data-figure='tasks-processed']")).not_to_have_text(f"{before:,}")


def test_what_was_read_before_a_pause_is_read_once_more(watcher: Tab, running: LiveService) -> None:
    page = watcher.open("/?window=run")
    running.client.patch("/api/simulation", json={"speed": 100})
    matrix = page.locator("section", has=page.get_by_role("heading", name="Win/loss matrix"))
    expect(matrix).to_contain_text(re.compile(r"Per cent of the [\d,]+ tasks of this run"))
    page.wait_for_timeout(1500)
    running.held("pause")
    tasks = running.get("/api/stats", window="run")["win_loss"]["latency"]["tasks"]
    expect(matrix).to_contain_text(f"Per cent of the {tasks:,} tasks of this run")


def test_speed_and_load_reach_the_service(watcher: Tab, running: LiveService) -> None:
    page = watcher.open("/")
    page.get_by_label("Speed").select_option(label="50 tasks/s")
    running.wait(lambda status: status["speed"] == 50)
    slider = page.get_by_role("slider", name="Load")
    slider.focus()
    before = running.status()["workload"]["arrival_rate"]
    slider.press("ArrowRight")
    running.wait(lambda status: status["workload"]["arrival_rate"] > before)
    page.get_by_label("Speed").select_option(label="10 tasks/s")
    running.wait(lambda status: status["speed"] == 10)


def test_a_shift_is_marked_on_every_chart_over_time(watcher: Tab, running: LiveService) -> None:
    page = watcher.open("/")
    # A strategy's chart shows the last simulated minute: slowly, so that the shift is still in it when it is looked at.
    running.client.patch("/api/simulation", json={"speed": 2})
    before = len(running.get("/api/history/trend")["shifts"])
    page.get_by_role("heading", name="Recent form").scroll_into_view_if_needed()
    expect(page.locator("[data-markers]")).to_have_attribute("data-markers", str(before))
    page.get_by_role("button", name="CPU-friendly").click()
    expect(page.get_by_role("button", name="CPU-friendly")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("[data-markers]")).to_have_attribute("data-markers", str(before + 1))
    expect(page.get_by_text(re.compile("Workload: CPU-friendly")).first).to_be_visible()
    page.get_by_role("link", name="Strategies", exact=True).click()
    expect(page.get_by_role("navigation", name="Strategies")).to_be_visible()
    load = page.get_by_role("img", name=re.compile("Load of the devices"))
    expect(load).to_have_attribute("data-markers", re.compile(r"[1-9]"))
    running.held("pause")
    name = re.search(r"under (\w+) over", load.get_attribute("aria-label") or "")
    assert name is not None
    shifts = running.get("/api/history/load", scheduler=name[1], span_s=60)["shifts"]
    assert shifts[-1]["workload"] == "cpu_friendly"
    expect(load).to_have_attribute("data-markers", str(len(shifts)))
    running.post("/api/simulation/resume")
    page.get_by_role("link", name="History").click()
    running.client.patch("/api/simulation", json={"speed": 20})
    trend = page.get_by_role("img", name=re.compile("Long-term trend"))
    expect(trend).to_have_attribute("data-markers", re.compile(r"[1-9]"))
    expect(trend).to_contain_text("CPU-friendly")


def test_nothing_is_removed_or_begun_anew_without_a_question(watcher: Tab, standing: LiveService) -> None:
    page = watcher.open("/history")
    before = standing.get("/api/history/trend")["collection"]["tasks"]
    for button, question in (("Clear history", "Clear the whole history?"), ("Begin a new run", "Begin a new run?")):
        page.get_by_role("button", name=button).click()
        dialog = page.get_by_role("dialog", name=question)
        expect(dialog).to_be_visible()
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)
    assert standing.get("/api/history/trend")["collection"]["tasks"] == before
    assert standing.status()["run_id"] == 1


COVERED = """() => {
  const box = document.querySelector('[data-ticker]').getBoundingClientRect();
  const others = document.querySelectorAll("nav, header button, header h1, main section, [aria-label='Race controls']");
  return [...others].filter((other) => {
    const it = other.getBoundingClientRect();
    return it.left < box.right && box.left < it.right && it.top < box.bottom && box.top < it.bottom;
  }).map((other) => other.outerHTML.slice(0, 120));
}"""


@pytest.mark.parametrize("width", [1440, 820, 390])
def test_a_retraining_is_announced_where_it_covers_nothing(browser: Browser, running: LiveService, width: int) -> None:
    with tab(browser, running.url, viewport={"width": width, "height": 900}) as opened:
        page = opened.open("/")
        running.client.patch("/api/simulation", json={"speed": 100})
        told = re.compile("hybrid_ml (retrained|keeps its model)")  # whether the new model takes over or not
        expect(page.locator("[data-ticker]").get_by_text(told)).to_be_visible()
        running.client.patch("/api/simulation", json={"speed": 20})
        assert page.evaluate(COVERED) == []


def test_the_first_visit_explains_the_kitchen_once_and_again_on_request(browser: Browser, race: LiveService) -> None:
    with tab(browser, race.url, first_visit=True) as visitor:
        page = visitor.open("/")
        tour = page.get_by_role("region", name="How to read the race")
        expect(tour).to_contain_text("one prep cook and four chefs")
        tour.get_by_role("button", name="Next").click()
        expect(tour).to_contain_text("The walk to the chef is the transfer")
        tour.get_by_role("button", name="Close the explanation").click()
        expect(tour).to_have_count(0)
        page.reload()
        expect(page.locator("[data-phase='live']")).to_be_visible()
        expect(tour).to_have_count(0)
        page.get_by_role("button", name="Explain this with a kitchen").click()
        expect(tour.get_by_role("button", name="Next")).to_be_focused()
        page.keyboard.press("Escape")
        expect(tour).to_have_count(0)
        assert visitor.complaints == []


def test_the_theme_is_remembered_and_reaches_the_charts(browser: Browser, race: LiveService) -> None:
    with tab(browser, race.url, first_visit=True, color_scheme="light") as visitor:
        page = visitor.open("/")
        expect(page.locator("html")).to_have_attribute("data-theme", "light")
        page.get_by_role("button", name="Switch to the dark theme").click()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        ground = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ground')")
        page.reload()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        assert ground == page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--ground')")
