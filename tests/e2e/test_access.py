"""Keyboard, screen reader, phone: everybody gets in."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.service import LiveService
from tests.e2e.browser import Tab, settled, tab
from tests.e2e.conftest import DASHBOARD

AXE = DASHBOARD / "node_modules" / "axe-core" / "axe.min.js"
VIEWS = ("/", "/strategies/hybrid_ml", "/node", "/tasks", "/learning", "/history", "/runs", "/recommend")
NAME_OF_FOCUS = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText ?? ''"
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "is_mobile": True,
    "has_touch": True,
    "device_scale_factor": 2,
}


def serious_problems(page: Page, *rules: str) -> list[str]:
    """What axe calls serious or critical; injected past the content policy, as an extension would be."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8") + "; null")
    only = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    found = page.evaluate("(options) => axe.run(document, options).then((r) => r.violations)", only)
    return [
        f"{problem['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for problem in found
        if problem["impact"] in ("serious", "critical")
        for node in problem["nodes"]
    ]


def test_axe_finds_no_serious_problem_in_any_view_of_either_theme(watcher: Tab, standing: LiveService) -> None:
    last = standing.status()["last_task_id"]
    few = f"/tasks?from={last - 1}"  # axe looks at every cell, and the rows of further tasks are like these
    audit = f"{few}&task={last}"
    for view in (*VIEWS, audit):
        page = watcher.open(few if view == "/tasks" else view)
        expect(page.locator("li[data-strategy]" if view == audit else "main section.glass").first).to_be_visible()
        assert serious_problems(settled(page)) == [], view  # what was locked until the race was heard is not faint
        # By its button, for the strategies' colours are made for the theme too.
        page.get_by_role("button", name="Switch to the light theme").dispatch_event("click")
        expect(page.locator("html")).to_have_attribute("data-theme", "light")
        assert serious_problems(settled(page), "color-contrast") == [], f"{view}, light"


def test_axe_finds_no_serious_problem_in_the_tour(browser: Browser, race: LiveService) -> None:
    with tab(browser, race.url, first_visit=True) as opened:
        page = opened.open("/")
        expect(page.get_by_role("region", name="How to read the race")).to_be_visible()
        assert serious_problems(page) == []


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_axe_finds_no_serious_problem_in_the_question_about_a_new_run(
    browser: Browser, race: LiveService, theme: str
) -> None:
    with tab(browser, race.url, theme=theme, **PHONE) as opened:
        page = opened.open("/")
        page.get_by_role("button", name="Begin a new run").click()
        expect(page.get_by_role("dialog").get_by_role("checkbox").first).to_be_visible()
        assert serious_problems(settled(page)) == []


@pytest.mark.parametrize("view", VIEWS)
def test_a_phone_gets_one_column_that_fits(browser: Browser, standing: LiveService, view: str) -> None:
    with tab(browser, standing.url, **PHONE) as opened:
        page = settled(opened.open(view))
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        left = {round(widget.bounding_box()["x"]) for widget in page.locator("main section.glass").all()}  # type: ignore[index]
        assert len(left) == 1, "the widgets do not stand in one column"
        assert opened.complaints == []


def test_everything_in_the_race_is_reached_by_tab_alone(watcher: Tab, standing: LiveService) -> None:
    page = watcher.open("/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the view")).to_be_focused()
    reached: set[str] = set()
    for _ in range(90):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(NAME_OF_FOCUS))
    wanted = ["Race", "Strategies", "Tasks", "History", "Resume", "CPU-friendly", "Makespan"]
    assert [name for name in wanted if name not in reached] == []
    assert any(name.startswith("1. ") for name in reached)
    assert any(name.startswith("Move or resize") for name in reached)


def test_the_race_tells_its_order_to_a_screen_reader(watcher: Tab, standing: LiveService) -> None:
    page = watcher.open("/?metric=time&window=run")
    links = page.get_by_role("list", name="Race, best first").get_by_role("link")
    spoken = sorted(str(link.get_attribute("aria-label")) for link in links.all())
    assert [text.split(".")[0] for text in spoken] == [str(rank) for rank in range(1, len(spoken) + 1)]
    assert all("above the bound" in text for text in spoken)
