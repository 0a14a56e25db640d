"""A person asks which node and which policy keep a promise, and finds the answer again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from hybrid_ml_scheduler.studies.recommending.question import DEFAULT_POLICIES
from tests.api.service import service
from tests.e2e.browser import settled, tab
from tests.e2e.test_access import serious_problems
from tests.e2e.test_views import number


def compare_trials(page: Page, trials: list[dict[str, Any]]) -> None:
    """Every figure of every policy on every node."""
    rows = page.locator("section[aria-label='Every policy on every node'] tbody tr").all()
    for row, trial in zip(rows, trials, strict=True):
        node, _, _, price, mean, interval, runs = row.locator("td").all_inner_texts()
        assert (node, price, runs) == (trial["node"], f"${trial['price_usd_h']:.2f}", str(trial["seeds"]))
        assert number(mean) == pytest.approx(trial["mean"], rel=0.006)
        ends = [] if interval == "–" else [number(text) for text in interval.split(" to ")]
        assert ends == pytest.approx(trial["interval"] or [], rel=0.006)


def test_the_answer_is_the_apis_marked_as_modelled_and_the_same_after_a_reload(
    browser: Browser, tmp_path: Path
) -> None:
    size = {"width": 360, "height": 800}
    with service(tmp_path, {"HMS_SCHEDULERS": "greedy"}) as live, tab(browser, live.url, viewport=size) as opened:
        live.post("/api/simulation/start")
        page = opened.open("/recommend")
        page.get_by_label("GPUs of a node").fill("1, x")
        expect(page.get_by_role("button", name="Recommend", exact=True)).to_be_disabled()
        page.get_by_label("GPUs of a node").fill("1, 2")
        page.get_by_label("Tasks", exact=True).fill("200")
        page.get_by_label("Seconds", exact=True).fill("500")
        page.get_by_text("Your own prices, other policies").click()
        page.get_by_role("group", name="Dollars an hour for one GPU").get_by_label("T4", exact=True).fill("0.5")
        page.get_by_label("Round robin").uncheck()
        expect(page.get_by_role("button", name="Recommend", exact=True)).to_be_enabled()
        page.get_by_label("Seconds", exact=True).press("Enter")
        expect(page.locator("[data-answer='first']")).to_be_visible()
        (found,) = live.get("/api/recommendations")["recommendations"]
        assert found["state"] == "done"
        assert set(found["demand"]["policies"]) == set(DEFAULT_POLICIES) - {"round_robin"}
        assert {one.get("price_usd_h") for one in found["demand"]["nodes"]} == {None, 0.5, 1.0}
        for _ in range(2):
            expect(page.locator("[data-answer='first']")).to_have_text(found["record"]["sentences"][0])
            expect(page.locator("[data-source='modelled']")).to_have_count(2)
            expect(page.locator("svg [data-node]")).to_have_count(6)
            expect(page.locator("section[aria-label='Every policy on every node'] tbody tr")).to_have_count(
                len(found["record"]["trials"])
            )
            compare_trials(page, found["record"]["trials"])
            page.reload()
        assert serious_problems(settled(page)) == []
        page.get_by_role("button", name="Switch to the light theme").dispatch_event("click")
        assert serious_problems(settled(page), "color-contrast") == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert opened.complaints == []
