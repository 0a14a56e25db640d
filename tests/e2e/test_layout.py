"""Widgets can be moved with the mouse and without, and stay where they were put."""

from __future__ import annotations

import csv
import io

import pytest
from playwright.sync_api import Page, expect

from tests.api.service import LiveService
from tests.e2e.browser import Tab


def box(page: Page, widget: str) -> dict[str, float]:
    """Where a widget is."""
    found = page.locator(f"[data-widget='{widget}']").bounding_box()
    assert found is not None
    return {"x": found["x"], "y": found["y"] + page.evaluate("window.scrollY"), "width": found["width"]}


def test_the_keyboard_moves_and_resizes_and_the_place_is_remembered(watcher: Tab, standing: LiveService) -> None:
    page = watcher.open("/")
    before = box(page, "scatter")
    handle = page.get_by_role("button", name="Move or resize Workload")
    handle.focus()
    page.keyboard.press("Shift+ArrowLeft")
    expect(page.get_by_text("3 wide")).to_be_attached()
    page.keyboard.press("ArrowDown")
    page.wait_for_timeout(400)
    after = box(page, "scatter")
    assert after["width"] < before["width"]
    assert after["y"] > before["y"]
    page.reload()
    expect(page.locator("[data-widget='scatter']")).to_be_visible()
    page.wait_for_timeout(400)
    assert box(page, "scatter") == pytest.approx(after, abs=2)
    page.get_by_role("button", name="Reset this layout").click()
    page.wait_for_timeout(400)
    assert box(page, "scatter") == pytest.approx(before, abs=2)


def test_dragging_a_title_moves_the_widget_for_good(watcher: Tab, standing: LiveService) -> None:
    page = watcher.open("/history")
    before = box(page, "models")
    title = page.get_by_role("heading", name="Retraining history")
    grip = title.bounding_box()
    assert grip is not None
    page.mouse.move(grip["x"] + 30, grip["y"] + 8)
    page.mouse.down()
    page.mouse.move(grip["x"] + 300, grip["y"] + 20, steps=5)
    page.mouse.move(grip["x"] + 640, grip["y"] + 24, steps=8)
    page.mouse.up()
    page.wait_for_timeout(400)
    after = box(page, "models")
    assert after["x"] > before["x"] + 200
    page.reload()
    expect(page.locator("[data-widget='models']")).to_be_visible()
    page.wait_for_timeout(400)
    assert box(page, "models")["x"] == pytest.approx(after["x"], abs=2)


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


@pytest.mark.parametrize("path", WIDGETS)
def test_every_widget_can_be_taken_along_as_csv_and_as_picture(watcher: Tab, running: LiveService, path: str) -> None:
    page = watcher.open(path)
    page.wait_for_timeout(700)
    for title in WIDGETS[path]:
        menu = page.get_by_role("button", name=f"Menu of {title}")
        menu.click()
        with page.expect_download() as saved:
            page.locator("[popover]:popover-open").get_by_role("button", name="Export CSV").click()
        text = saved.value.path().read_text(encoding="utf-8")
        rows = list(csv.reader(io.StringIO(text)))
        assert len(rows) >= 2, f"{title}: the CSV is empty"
        assert {len(row) for row in rows} == {len(rows[0])}, f"{title}: the CSV is ragged"
        menu.click()
        with page.expect_download() as saved:
            page.locator("[popover]:popover-open").get_by_role("button", name="Export PNG").click()
        picture = saved.value.path().read_bytes()
        assert picture.startswith(b"\x89PNG"), title
        assert len(picture) > 5000, f"{title}: the picture is blank"
