"""Stored runs in the browser: named, opened again with every widget, compared, removed; by keyboard too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.service import LiveService, service
from tests.e2e.browser import Tab, eventually, home, tab, tab_beside
from tests.e2e.test_access import PHONE, serious_problems
from tests.e2e.test_views import await_bars

STRATEGIES = "round_robin,greedy,hybrid_ml,oracle"


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A run with a shift that has ended, a second on the same tasks, and the present one."""
    environment = {"HMS_SCHEDULERS": STRATEGIES, "HMS_SPEED": "0", "HMS_SEED": "3"}
    with service(tmp_path_factory.mktemp("kept"), environment) as live:
        live.post("/api/simulation/start", {"new_run": True, "workload": "mixed", "speed": 0})
        live.wait(lambda status: status["tasks_processed"] >= 1100)
        live.client.patch("/api/simulation", json={"workload": "cpu_friendly"})
        begun = live.status()["tasks_processed"]
        live.wait(lambda status: status["tasks_processed"] >= begun + 300)
        live.post("/api/simulation/start", {"new_run": True, "workload": "mixed", "speed": 0})
        live.wait(lambda status: status["tasks_processed"] >= 1100)
        live.post("/api/simulation/start", {"new_run": True, "workload": "mixed", "speed": 20})
        live.held("pause")
        yield live


@pytest.fixture(scope="module")
def stays(browser: Browser, kept: LiveService) -> Iterator[Page]:
    """A tab that stays open in the lookers' profile."""
    with home(browser, kept.url) as page:
        yield page


@pytest.fixture
def looker(stays: Page, kept: LiveService) -> Iterator[Tab]:
    """A tab on these runs; a word on the console fails the test."""
    with tab_beside(stays, kept.url) as opened:
        yield opened
        assert opened.complaints == []


def past(live: LiveService) -> list[dict[str, object]]:
    """The runs that have ended, oldest first."""
    return [card for card in reversed(live.get("/api/runs")["runs"]) if not card["is_present"]]


@pytest.mark.parametrize("path", ["/", "/strategies/hybrid_ml", "/tasks", "/history"])
def test_every_view_of_a_past_run_shows_that_run(looker: Tab, kept: LiveService, path: str) -> None:
    card = past(kept)[0]
    page = looker.open(f"{path}?run={card['run_id']}")
    expect(page.locator(f"[data-stored-run='{card['run_id']}']")).to_be_visible()
    expect(page.locator(".skeleton")).to_have_count(0)
    shown = kept.get(f"/api/runs/{card['run_id']}/snapshot")["update"]
    if path == "/":
        page = looker.open(f"/?run={card['run_id']}&window=run&metric=latency")
        for row in shown["comparison"]:
            value = page.locator(f"[data-racer='{row['name']}']").get_attribute("data-value")
            assert float(value or "nan") == pytest.approx(row["avg_latency"])
    if path == "/tasks":
        total = kept.get("/api/history/ledger", run_id=card["run_id"])["total"]
        expect(page.locator("[data-ledger-total]")).to_have_attribute("data-ledger-total", str(total))
    if path == "/history":
        models = kept.get("/api/models", run_id=card["run_id"], limit=100)["models"]
        expect(page.locator("[data-version]")).to_have_count(len(models))
        assert page.locator("[data-markers]").first.get_attribute("data-markers") == "1"


def test_the_same_address_shows_the_same_numbers_after_a_reload_and_elsewhere(
    browser: Browser, looker: Tab, kept: LiveService
) -> None:
    address = f"/?run={past(kept)[0]['run_id']}&metric=latency"

    def numbers(one: Tab) -> list[str]:
        page = one.open(address)
        expect(page.locator("[data-racer]").first).to_be_visible()
        expect(page.get_by_role("region", name="Win/loss by latency")).to_be_visible()
        bars = [str(bar.get_attribute("data-value")) for bar in page.locator("[data-racer]").all()]
        wins = page.get_by_role("region", name="Win/loss by latency").locator("td").all_inner_texts()
        heading = page.get_by_role("heading", name="Recent form")
        heading.scroll_into_view_if_needed()  # what lies below the first screen is loaded when it is looked at
        form = page.locator("section", has=heading).locator("li")
        expect(form.first).to_be_visible()
        return [*bars, *wins, *form.all_inner_texts()]

    first = numbers(looker)
    assert numbers(looker) == first
    with tab(browser, kept.url) as other:
        assert numbers(other) == first


def test_runs_are_named_compared_and_removed_by_keyboard(looker: Tab, kept: LiveService) -> None:
    first, second = (int(str(card["run_id"])) for card in past(kept)[:2])
    page = looker.open("/runs")
    page.get_by_role("button", name=f"Name and note of Run {first}").press("Enter")
    dialog = page.get_by_role("dialog", name=f"Name and note of run {first}")
    page.keyboard.type("Baseline")
    assert serious_problems(page) == []
    page.keyboard.press("Enter")
    expect(dialog).to_have_count(0)
    expect(page.locator(f"[data-run='{first}']")).to_contain_text(f"Run {first}: Baseline")
    for run in (first, second):
        page.locator(f"[data-run='{run}']").get_by_role("checkbox").press("Space")
    expect(page).to_have_url(f"{kept.url}/runs?compare={first}%2C{second}")
    panel = page.get_by_role("region", name="Runs side by side")
    expect(panel.locator("tbody tr")).to_have_count(4)
    expect(panel.locator("[data-strategy='greedy'] [data-difference]")).to_contain_text("no difference shown")
    assert serious_problems(page) == []
    before = len(past(kept))
    page.get_by_role("button", name=f"Remove Run {second}").press("Enter")
    page.get_by_role("button", name="Remove this run").press("Enter")
    expect(page.locator(f"[data-run='{second}']")).to_have_count(0)
    assert len(past(kept)) == before - 1


def test_a_run_that_is_not_there_is_told_and_the_way_back_leads_to_the_race(looker: Tab, kept: LiveService) -> None:
    page = looker.page
    page.goto(f"{kept.url}/?run=4711")
    expect(page.locator("[data-stored-run='4711']")).to_contain_text("There is no run 4711")
    page.get_by_role("button", name="Back to the race").click()
    expect(page.locator("[data-racer]").first).to_be_visible()
    looker.complaints.clear()  # the browser itself writes down that an address was not found


def test_a_moment_that_a_run_never_had_is_said_and_nothing_waits_for_it(looker: Tab, kept: LiveService) -> None:
    card = past(kept)[0]
    run, page = card["run_id"], looker.page
    page.goto(f"{kept.url}/?run={run}&at=99999999")
    expect(page.locator(f"[data-stored-run='{run}']")).to_contain_text("99999999")
    expect(page.locator("main .skeleton, main [aria-busy='true'], main section[data-widget]")).to_have_count(0)
    slider = page.get_by_role("slider", name="Moment of the run")
    expect(slider).to_have_value(str(card["last_task_id"]))  # it knows how long the run is
    slider.press("Home")
    expect(page.locator("[data-racer]").first).to_be_visible()
    looker.complaints.clear()  # the browser itself writes down that an address was not found


def test_a_phone_shows_the_runs_in_one_column(browser: Browser, kept: LiveService) -> None:
    with tab(browser, kept.url, **PHONE) as opened:
        page = opened.open("/runs")
        expect(page.locator("[data-run]").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.get_by_role("link", name="Open Run").first.bounding_box()["x"] < 390  # type: ignore[index]
        assert serious_problems(page) == []


def test_a_past_run_is_replayed_and_left_at_any_of_its_tasks_by_keyboard(looker: Tab, kept: LiveService) -> None:
    card = past(kept)[0]
    run, first = int(str(card["run_id"])), int(str(card["first_task_id"]))
    page = looker.open(f"/?run={run}&window=run&metric=latency&at={first + 498}")
    bar = page.locator("[data-replay]")
    slider = page.get_by_role("slider", name="Moment of the run")
    slider.press("ArrowRight")
    expect(bar).to_have_attribute("data-replay", str(first + 499))
    expect(page.locator("[data-replay-words]")).to_contain_text("Task 500 of")
    moment = kept.get(f"/api/runs/{run}/snapshot", task_id=first + 499)["update"]
    ledger = kept.get("/api/history/ledger", run_id=run, last_task=first + 499, limit=1000, scheduler="greedy")["rows"]
    latencies = [row["latency"] for row in ledger]
    truth = {row["name"]: row["avg_latency"] for row in moment["comparison"]}
    assert truth["greedy"] == pytest.approx(sum(latencies) / len(latencies))
    await_bars(page, truth)
    assert serious_problems(page) == []
    page.get_by_role("button", name="Replay").press("Enter")
    eventually(page, lambda: int(bar.get_attribute("data-replay") or 0), lambda at: at > first + 600)
    page.get_by_role("button", name="Branch from here").press("Enter")  # the replay stands still meanwhile
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("checkbox", name="Earliest finish", exact=True)).to_be_visible()
    dialog.get_by_role("checkbox", name="Earliest finish", exact=True).press("Space")
    assert serious_problems(page) == []
    dialog.get_by_role("button", name="Begin the branch").press("Enter")
    status = kept.wait(lambda status: status["branch"] is not None)
    assert status["branch"]["run_id"] == run
    assert "earliest_finish" in status["schedulers"]
    expect(page.locator("[data-stored-run]")).to_have_count(0)
    expect(page.locator("[data-racer='earliest_finish']")).to_be_visible()
    page.goto(f"{kept.url}/runs")
    expect(page.locator(f"[data-run='{status['run_id']}']")).to_contain_text(f"It left run {run} at task")
