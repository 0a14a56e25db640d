"""One stretch and one crosshair for all charts of a view, with the mouse and without."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.api.service import LiveService
from tests.e2e.browser import Tab, settled


def zooms(page: Page) -> set[str]:
    """The stretches that the charts of the view show; nothing is all there is."""
    return {str(one.get_attribute("data-zoom")) for one in page.locator("[data-zoom]").all()}


def one_zoom(page: Page) -> str:
    """The stretch that every chart of the view shows, once all of them were drawn anew."""
    # Asked and answered in one step: between two, a chart may be drawn for the next stretch.
    shown = page.wait_for_function(
        """() => {
            const shown = new Set([...document.querySelectorAll("[data-zoom]")].map((each) => each.dataset.zoom));
            return shown.size === 1 && !shown.has("") ? [...shown] : null;
        }"""
    ).json_value()
    return str(shown[0])


def drag(page: Page, name: str, begin: float, end: float) -> None:
    """Draw over a chart, from one share of its width to another."""
    box = page.get_by_role("img", name=re.compile(name)).first.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + begin * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + (begin + end) / 2 * box["width"], y, steps=3)
    page.mouse.move(box["x"] + end * box["width"], y, steps=3)
    page.mouse.up()


def test_a_stretch_drawn_over_one_node_is_shown_by_every_chart_of_the_view_and_is_in_the_address(
    watcher: Tab, standing: LiveService
) -> None:
    page = settled(watcher.open("/node"))
    expect(page.locator("[data-zoom]")).to_have_count(3)
    assert zooms(page) == {""}
    drag(page, "^Devices of", 0.3, 0.6)
    page.wait_for_url(re.compile("zoom=around_"))
    shown = one_zoom(page)
    low, high = map(float, shown.split("_"))
    assert low < 0 < high, "now is inside"
    page.reload()
    expect(page.locator(f"[data-zoom='{shown}']")).to_have_count(3)
    page.get_by_role("button", name="Show all").first.click()
    expect(page.locator("[data-zoom='']")).to_have_count(3)


def test_the_history_is_zoomed_by_keyboard_alone_and_its_charts_point_at_one_moment(
    watcher: Tab, standing: LiveService
) -> None:
    page = settled(watcher.open("/history"))
    expect(page.get_by_role("img", name=re.compile("Long-term trend"))).to_be_visible()
    closer = page.get_by_role("group", name=re.compile("Zoom of Long-term trend")).get_by_role("button", name="Zoom in")
    closer.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("zoom=simulated_"))
    expect(page.locator("[data-zoom='']")).to_have_count(0)
    assert one_zoom(page)
    page.get_by_role("button", name="Show all").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-zoom]:not([data-zoom=''])")).to_have_count(0)
    box = page.get_by_role("img", name=re.compile("Long-term trend")).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + box["height"] / 2)
    # The second chart is there once two retrainings have been judged; whatever is there points at the same moment.
    expect(page.locator("[data-crosshair]")).to_have_count(page.locator("[data-zoom]").count())
    page.mouse.move(5, 5)
    expect(page.locator("[data-crosshair]")).to_have_count(0)
