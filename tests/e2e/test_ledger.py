"""The ledger sorts and filters all rows, and each of them leads to the decisions behind it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.api.service import LiveService
from tests.e2e.browser import Tab
from tests.e2e.test_access import serious_problems
from tests.e2e.test_views import number

ROWS = "section[aria-label='Ledger rows'] tbody tr"


def shown_tasks(page: Page) -> list[int]:
    """The task ids of the ledger, as shown."""
    return [int(text) for text in page.locator(f"{ROWS} td[data-column='task_id']").all_inner_texts()]


def test_sorting_holds_over_all_rows_and_stands_in_the_url(watcher: Tab, standing: LiveService) -> None:
    page = watcher.open("/tasks")
    head = page.get_by_role("columnheader", name="Latency", exact=True)
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    truth = standing.get("/api/history/ledger", sort="latency", order="desc")
    expect(page.locator(ROWS).first).to_have_attribute("data-task", str(truth["rows"][0]["task_id"]))
    assert shown_tasks(page) == [row["task_id"] for row in truth["rows"]]
    expect(page.locator("[data-ledger-total]")).to_have_attribute("data-ledger-total", str(truth["total"]))
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    least = standing.get("/api/history/ledger", sort="latency", order="asc")["rows"][0]
    expect(page.locator(ROWS).first).to_have_attribute("data-task", str(least["task_id"]))
    assert "sort=latency" in page.url
    assert "order=asc" in page.url


def test_filters_and_pages_are_part_of_the_address(watcher: Tab, standing: LiveService) -> None:
    run = standing.status()["run_id"]
    page = watcher.open("/tasks?by=greedy")
    page.get_by_role("button", name="Next").click()
    truth = standing.get("/api/history/ledger", scheduler="greedy", offset=50, run_id=run)
    expect(page.locator(ROWS).first).to_have_attribute("data-task", str(truth["rows"][0]["task_id"]))
    assert set(page.locator(f"{ROWS} td[data-column='scheduler']").all_inner_texts()) == {"Greedy"}
    assert "after=" in page.url
    page.get_by_role("button", name="Previous").click()
    first = standing.get("/api/history/ledger", scheduler="greedy", run_id=run)
    expect(page.locator(ROWS).first).to_have_attribute("data-task", str(first["rows"][0]["task_id"]))
    page.get_by_label("Filter by device").select_option("cpu")
    expect(page).to_have_url(re.compile(r"by=greedy&on=cpu$"))
    page.get_by_label("From this task on").fill("10")
    page.get_by_label("Up to this task").fill("40")
    expect(page).to_have_url(re.compile(r"by=greedy&on=cpu&from=10&to=40$"))
    some = standing.get("/api/history/ledger", scheduler="greedy", device="cpu", first_task=10, last_task=40)
    expect(page.locator("[data-ledger-total]")).to_have_attribute("data-ledger-total", str(some["total"]))


def test_a_click_opens_every_strategys_decision_and_back_closes_it(watcher: Tab, standing: LiveService) -> None:
    page = watcher.open("/tasks")
    row = page.locator(ROWS).nth(20)
    task = int(row.get_attribute("data-task") or "-1")
    row.click()
    drawer = page.get_by_role("dialog", name=f"Decisions for task {task}")
    audit = standing.get(f"/api/tasks/{task}")
    expect(drawer.locator("li[data-strategy]")).to_have_count(len(audit["strategies"]))
    expect(drawer.locator("[data-oracle]")).to_contain_text(f"{round(audit['oracle']['gpu_fraction'] * 100)} %")
    forest = drawer.locator("li[data-strategy='hybrid_ml']")
    expect(forest).to_contain_text(f"GPU share {round(audit['strategies']['hybrid_ml']['gpu_fraction'] * 100)} %")
    expect(forest).to_contain_text("believed seconds")
    expect(forest.get_by_role("img", name=re.compile("Gantt strip of 5 devices"))).to_be_visible()
    assert f"task={task}" in page.url
    page.go_back()
    expect(drawer).to_have_count(0)


def test_an_address_with_a_task_opens_its_decisions_at_once(watcher: Tab, standing: LiveService) -> None:
    task = standing.status()["last_task_id"] - 3
    page = watcher.open(f"/?task={task}")
    drawer = page.get_by_role("dialog", name=f"Decisions for task {task}")
    expect(drawer.locator("li[data-strategy]").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    assert "task=" not in page.url


def test_previous_and_next_lead_through_the_tasks(watcher: Tab, standing: LiveService) -> None:
    last = standing.status()["last_task_id"]
    page = watcher.open(f"/tasks?task={last - 1}")
    page.get_by_role("button", name=f"Next task, {last}").press("Enter")
    drawer = page.get_by_role("dialog", name=f"Decisions for task {last}")
    expect(drawer.locator("li[data-strategy]").first).to_be_visible()
    expect(page.get_by_role("button", name=f"Next task, {last + 1}")).to_be_disabled()
    page.get_by_role("button", name=f"Previous task, {last - 1}").press("Enter")
    expect(page.get_by_role("dialog", name=f"Decisions for task {last - 1}")).to_be_visible()
    assert f"task={last - 1}" in page.url


def test_every_strategy_answers_for_a_task_of_ones_own(watcher: Tab, standing: LiveService) -> None:
    page = watcher.open("/tasks")
    form = page.get_by_role("form", name="A task of your own")
    form.get_by_label("Intensity").fill("7")
    expect(form.get_by_role("status")).to_contain_text("Intensity is a number from 0 to 1.")
    expect(form.get_by_role("button", name="Ask every strategy")).to_be_disabled()
    form.get_by_label("Intensity").fill("0.9")
    form.get_by_role("button", name="Ask every strategy").press("Enter")
    rows = page.get_by_role("region", name="What every strategy would do").locator("tr[data-advice]")
    task = {"size": 800, "compute_intensity": 0.9, "memory_required": 120}
    truth = standing.post("/api/tasks", task)["decisions"]
    expect(rows).to_have_count(len(truth))
    order = sorted(truth.values(), key=lambda one: (one["predicted_latency"], one["scheduler"]))
    assert [row.get_attribute("data-advice") for row in rows.all()] == [one["scheduler"] for one in order]
    for row, one in zip(rows.all(), order, strict=True):
        cells = row.locator("td").all_inner_texts()
        wanted = [one[f"predicted_{key}"] for key in ("latency", "time", "energy", "cost")]
        assert [number(text) for text in cells[2:6]] == pytest.approx(wanted, rel=0.006, abs=1e-9), one["scheduler"]
        assert number(cells[1]) == pytest.approx(one["gpu_fraction"], abs=0.0051)
        assert cells[6] == one["reason_text"]
    assert serious_problems(page) == []
