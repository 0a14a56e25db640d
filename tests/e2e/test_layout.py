"""Widgets can be moved with the mouse and without, and stay where they were put."""

from __future__ import annotations

import csv
import io
from functools import partial

import pytest
from playwright.sync_api import Page, expect

from tests.api.service import LiveService
from tests.e2e.browser import Tab, eventually, settled


def box(page: Page, widget: str) -> dict[str, float]:
    """Where a widget is."""
    found = page.locator(f"[data-widget='{widget}']").bounding_box()
    assert found is not None
    return {"x": found["x"], "y": found["y"] + page.evaluate("window.scrollY"), "width": found["width"]}


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
def test_every_widget_can_be_taken_along_as_csv_and_as_picture(watcher: Tab, running: LiveService, path: str) -> None:
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
