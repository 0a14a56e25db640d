"""Widgets can be moved with the mouse and without, and stay where they were put."""

from __future__ import annotations

import csv
import io
import re
from functools import partial

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.service import LiveService
from tests.e2e.browser import Tab, eventually, settled, tab


def box(page: Page, widget: str) -> dict[str, float]:
    """Where a widget is."""
    found = page.locator(f"[data-widget='{widget}']").bounding_box()
    assert found is not None
    return {"x": found["x"], "y": found["y"] + page.evaluate("window.scrollY"), "width": found["width"]}


def places(page: Page) -> dict[str, list[int]]:
    """Where all widgets are."""
    found: dict[str, list[int]] = page.evaluate(
        "() => Object.fromEntries([...document.querySelectorAll('[data-widget]')].map((one) => {"
        "const at = one.getBoundingClientRect();"
        "return [one.dataset.widget, [at.x, at.y + scrollY, at.width, at.height].map(Math.round)]; }))"
    )
    return found


# Widgets whose menu is not on the line of their title, or that reach beyond the window.
ASTRAY = """() => [...document.querySelectorAll("main section.glass")].filter((one) => {
    const title = one.querySelector("h2")?.getBoundingClientRect();
    const menu = one.querySelector("[aria-label^='Menu of']")?.getBoundingClientRect();
    const box = one.getBoundingClientRect();
    const apart = title && menu && (menu.top > title.bottom || menu.bottom < title.top);
    return apart || box.left < 0 || box.right > window.innerWidth + 1;
}).map((one) => one.querySelector("h2")?.textContent)"""


def test_the_keyboard_moves_and_resizes_and_the_place_is_remembered(watcher: Tab, standing: LiveService) -> None:
    page = settled(watcher.open("/"))
    before = box(page, "scatter")
    handle = page.get_by_role("button", name="Move or resize Workload")
    handle.focus()
    page.keyboard.press("Shift+ArrowLeft")
    expect(page.get_by_text("3 wide")).to_be_attached()
    page.keyboard.press("ArrowDown")
    eventually(page, lambda: box(page, "scatter"), lambda at: at["width"] < before["width"] and at["y"] > before["y"])
    after = box(settled(page), "scatter")
    page.reload()
    expect(page.locator("[data-widget='scatter']")).to_be_visible()
    assert box(settled(page), "scatter") == pytest.approx(after, abs=2)
    page.get_by_role("button", name="Reset this layout").click()
    eventually(page, lambda: box(page, "scatter"), lambda at: at == pytest.approx(before, abs=2))


def test_dragging_a_title_moves_the_widget_for_good(watcher: Tab, standing: LiveService) -> None:
    page = settled(watcher.open("/history"))
    before = box(page, "models")
    title = page.get_by_role("heading", name="Retraining history")
    grip = title.bounding_box()
    assert grip is not None
    page.mouse.move(grip["x"] + 30, grip["y"] + 8)
    page.mouse.down()
    page.mouse.move(grip["x"] + 300, grip["y"] + 20, steps=5)
    page.mouse.move(grip["x"] + 640, grip["y"] + 24, steps=8)
    page.mouse.up()
    eventually(page, lambda: box(page, "models"), lambda at: at["x"] > before["x"] + 200)
    after = box(settled(page), "models")
    page.reload()
    expect(page.locator("[data-widget='models']")).to_be_visible()
    assert box(settled(page), "models")["x"] == pytest.approx(after["x"], abs=2)


WIDGETS = {
    "/": ["Performance race", "Workload", "Live log", "Average metrics", "Win/loss matrix", "Recent form"],
    "/strategies/hybrid_ml": [
        "Cluster load",
        "Against the oracle",
        "Decision audit",
        "Efficiency",
        "CPU/GPU",
        "Devices",
    ],
    "/tasks": ["Ledger", "Best device", "Task sizes", "Correlations"],
    "/history": ["Long-term trend", "Retraining history", "Error after", "Data collection"],
}


def taken_along(page: Page, title: str, kind: str) -> bytes:
    """What a widget's menu gives as a file."""
    page.get_by_role("button", name=f"Menu of {title}").click()
    with page.expect_download() as saved:
        page.locator("[popover]:popover-open").get_by_role("button", name=f"Export {kind}").click()
    return saved.value.path().read_bytes()


def rows_of(page: Page, title: str) -> list[list[str]]:
    """A widget's CSV."""
    return list(csv.reader(io.StringIO(taken_along(page, title, "CSV").decode())))


@pytest.mark.parametrize("path", WIDGETS)
def test_every_widget_can_be_taken_along_as_csv_and_as_picture(watcher: Tab, standing: LiveService, path: str) -> None:
    page = settled(watcher.open(path))
    for title in WIDGETS[path]:
        # A widget that has only just been opened may still wait for what it shows.
        rows = eventually(page, partial(rows_of, page, title), lambda found: len(found) >= 2)
        assert {len(row) for row in rows} == {len(rows[0])}, f"{title}: the CSV is ragged"
        picture = eventually(page, partial(taken_along, page, title, "PNG"), lambda found: len(found) > 5000)
        assert picture.startswith(b"\x89PNG"), title
        drawing = taken_along(page, title, "SVG").decode()
        assert title.split()[0] in drawing, f"{title}: its words are not in the drawing"
        assert "seed 11 · workload" in drawing, f"{title}: the drawing does not say where it comes from"


def test_a_widget_is_hidden_added_again_and_shown_over_the_whole_window_by_keyboard_alone(
    watcher: Tab, standing: LiveService
) -> None:
    page = settled(watcher.open("/"))
    log = page.locator("[data-widget='log']")
    page.get_by_role("button", name="Menu of Live log").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Hide this widget").filter(visible=True).focus()
    page.keyboard.press("Enter")
    expect(log).to_have_count(0)
    page.reload()
    expect(page.locator("[data-widget='race']")).to_be_visible()
    expect(log).to_have_count(0)
    page.locator("[data-layout-bar]").get_by_role("button", name="Live log").focus()
    page.keyboard.press("Enter")
    expect(log).to_be_visible()
    page.get_by_role("button", name="Full screen of Performance race").focus()
    page.keyboard.press("Enter")
    race = page.locator("section[data-full='true']")
    expect(race).to_be_visible()
    box = race.bounding_box()
    assert box is not None
    assert box["width"] > 1390
    assert box["height"] > 950
    page.keyboard.press("Escape")
    expect(race).to_have_count(0)
    expect(page.locator("[data-widget='race']")).to_be_visible()


def test_a_layout_is_sent_as_a_link_and_stands_alike_in_another_browser(
    browser: Browser, watcher: Tab, standing: LiveService
) -> None:
    page = settled(watcher.open("/"))
    page.get_by_role("button", name=re.compile("^Move or resize Workload")).focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_role("button", name="Menu of Live log").click()
    page.get_by_role("button", name="Hide this widget").filter(visible=True).click()
    page.get_by_role("button", name="Copy link to this layout").click()
    page.wait_for_url(re.compile(r"layout="))
    mine = places(settled(page))
    with tab(browser, standing.url) as other:
        theirs = other.open(page.url.removeprefix(standing.url))
        expect(theirs.locator("[data-widget='log']")).to_have_count(0)
        assert places(settled(theirs)) == mine
        theirs.get_by_role("button", name="Reset this layout").click()
        expect(theirs.locator("[data-widget='log']")).to_be_visible()
        assert "layout=" not in theirs.url


@pytest.mark.parametrize("width", [360, 1024, 2560])
def test_no_width_leaves_anything_beyond_its_edge_or_a_menu_away_from_its_title(
    browser: Browser, standing: LiveService, width: int
) -> None:
    with tab(browser, standing.url, viewport={"width": width, "height": 900}) as opened:
        for path in ("/", "/node"):
            page = settled(opened.open(path))
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
            assert page.evaluate(ASTRAY) == [], path
            title, pill = (page.locator(f"header {one}").bounding_box() for one in ("h1", "[data-phase]"))
            assert title is not None
            assert pill is not None
            assert pill["y"] < title["y"] + title["height"], f"{path}: the state stands on a line of its own"
            main = page.locator("main").bounding_box()
            assert main is not None
            assert main["width"] > 0.94 * width - 30, "the width is used"
