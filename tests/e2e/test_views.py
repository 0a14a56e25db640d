"""Every view shows what the service says, to the digit."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.api.service import LiveService
from tests.e2e.browser import Tab, eventually
from tests.e2e.truth import snapshot, standings


def number(text: str) -> float:
    """The number in a figure such as `1,234 ms`, with its unit's factor."""
    found = re.match(r"([−-]?[\d,.]+)\s*(µs|ms|s|kJ|J|µ\$|%)?", text.strip().lstrip("●").strip())
    assert found, text
    factor = {"µs": 1e-6, "ms": 1e-3, "kJ": 1e3, "µ$": 1e-6, "%": 0.01}.get(found[2] or "", 1.0)
    return float(found[1].replace(",", "").replace("−", "-")) * factor


def bars(page: Page) -> dict[str, float]:
    """Strategy to value, as the race holds them."""
    return {
        str(bar.get_attribute("data-racer")): float(bar.get_attribute("data-value") or "nan")
        for bar in page.locator("[data-racer]").all()
    }


def await_bars(page: Page, truth: dict[str, float]) -> None:
    """Wait until the race shows these values and no others."""
    eventually(page, lambda: bars(page), lambda shown: shown == pytest.approx(truth, rel=1e-9))


def test_a_shift_makes_the_chart_begin_anew_and_every_widget_follows_one_switch(
    watcher: Tab, running: LiveService
) -> None:
    page = watcher.open("/")
    running.client.patch("/api/simulation", json={"workload": "heavy"})
    running.wait(lambda status: status["workload"]["preset"] == "heavy")
    windows = page.get_by_role("group", name="Tasks that count")
    expect(windows.first.get_by_role("button", name="Since shift")).to_have_attribute("aria-pressed", "true")
    before = running.status()["last_task_id"]
    running.wait(lambda status: status["last_task_id"] > before + 10)
    running.held("pause")
    rows = standings(running, "shift")
    assert {row["tasks"] for row in rows.values()} != {row["tasks"] for row in standings(running).values()}
    await_bars(page, {name: row["avg_latency"] for name, row in rows.items()})
    for window in ("Whole run", "Latest 1,000"):
        windows.last.get_by_role("button", name=window).click()  # of the summary; the race follows
        expect(windows.first.get_by_role("button", name=window)).to_have_attribute("aria-pressed", "true")
        truth = standings(running, "run" if window == "Whole run" else "latest")
        await_bars(page, {name: row["avg_latency"] for name, row in truth.items()})
        for name, row in truth.items():
            for column in ("avg_latency", "p95_latency"):
                cell = page.locator(f"tr[data-strategy='{name}'] td[data-column='{column}']")
                assert number(cell.inner_text()) == pytest.approx(row[column], rel=0.006), (name, column)
    page.get_by_role("navigation", name="Views").get_by_role("link", name="Strategies").click()
    expect(page.get_by_role("heading", name="Against the oracle")).to_be_visible()
    expect(page.get_by_role("button", name="Latest 1,000")).to_have_attribute("aria-pressed", "true")


def test_the_sentence_the_bars_and_the_screen_reader_name_the_same_leader_with_the_same_figures(
    watcher: Tab, standing: LiveService
) -> None:
    page = watcher.open("/?window=run")
    rows = standings(standing)
    await_bars(page, {name: row["avg_latency"] for name, row in rows.items()})
    leader = page.get_by_role("link", name=re.compile(r"^1\. ")).first
    row = rows[str(leader.get_attribute("data-racer"))]
    said = re.fullmatch(r"1\. (.+): (.+), running (.+), waiting (.+)", str(leader.get_attribute("aria-label")))
    assert said is not None
    sentence = page.locator("[data-lead]")
    expect(sentence).to_contain_text(re.compile(rf"^.*{said[1]}.* (leads|are level)"))
    expect(sentence).to_contain_text(f"latency {said[2]}")
    assert number(said[2]) == pytest.approx(row["avg_latency"], rel=0.006)
    assert number(said[3]) == pytest.approx(row["avg_time"], rel=0.006)
    shares = {
        str(bar.get_attribute("data-bar")): float(bar.locator("[data-running]").get_attribute("data-running") or "nan")
        for bar in page.locator("[data-bar]").all()
    }
    wanted = {name: min(100.0, 100 * one["avg_time"] / one["avg_latency"]) for name, one in rows.items()}
    assert shares == pytest.approx(wanted, rel=1e-6)


def test_the_proven_bound_and_every_gap_stand_in_the_race(watcher: Tab, standing: LiveService) -> None:
    bound = snapshot(standing)["update"]["bound"]
    for metric in ("time", "makespan"):
        page = watcher.open(f"/?metric={metric}&window=run")
        note = page.locator("[data-bound]")
        assert float(note.get_attribute("data-bound") or "nan") == pytest.approx(bound["makespan_s"])
        expect(note).to_contain_text("proven that no strategy")
        for name, row in standings(standing).items():
            shown = page.locator(f"[data-racer='{name}'] [data-gap]").get_attribute("data-gap")
            assert float(shown or "nan") == pytest.approx(row[f"{metric}_gap"])
    for nothing in ("metric=energy&window=run", "metric=time&window=latest"):  # no bound is proven for these
        watcher.open(f"/?{nothing}")
        expect(page.locator("[data-racer]").first).to_be_visible()
        assert page.locator("[data-gap]").count() == 0, nothing


def best_first(matrix: dict[str, Any]) -> list[int]:
    """Places in the matrix by wins minus losses."""
    share = matrix["share"]
    places = range(len(matrix["schedulers"]))
    leads = [sum((share[i][j] or 0) - (share[j][i] or 0) for j in places) for i in places]
    return sorted(places, key=lambda i: (all(one is None for one in share[i]), -leads[i]))


def test_each_strategy_has_its_details_a_plugins_too(watcher: Tab, standing: LiveService) -> None:
    page = watcher.open("/strategies?window=run")
    update = snapshot(standing)["update"]
    assert "last_in_line" in {row["name"] for row in update["comparison"]}
    for row in update["comparison"]:
        page.get_by_role("navigation", name="Strategies").locator(
            f"a[href='/strategies/{row['name']}?window=run']"
        ).click()
        expect(page.locator("code", has_text=row["name"])).to_be_visible()
        assert number(watcher.figure("efficiency")) == pytest.approx(row["efficiency"], abs=6e-4)
        for place, decided in row["decisions"].items():
            expect(page.locator(f"dd[data-place='{place}']")).to_contain_text(f"{decided:,}")
        for device, load in update["clusters"][row["name"]].items():
            if isinstance(load, dict):
                cells = page.locator(f"tr[data-device='{device}'] td").all_inner_texts()
                assert number(cells[1]) == pytest.approx(load["run_utilization"], abs=0.006)
                assert int(cells[2]) == load["queue_length"]
        expect(page.get_by_role("img", name=re.compile("of the oracle's value"))).to_be_visible()


def test_the_forest_says_why(watcher: Tab, standing: LiveService) -> None:
    page = watcher.open("/strategies/hybrid_ml")
    audit = snapshot(standing)["update"]["audit"]["hybrid_ml"]
    why = page.get_by_role("region", name="Why the latest decision")
    expect(why).to_contain_text(audit["reason_text"])
    expect(why).to_contain_text("believed seconds")
    expect(why).to_contain_text(f"GPU share {round(audit['gpu_fraction'] * 100)} %")


def test_the_agent_shows_the_value_of_every_action(watcher: Tab, standing: LiveService) -> None:
    page = watcher.open("/strategies/rl_agent")
    values = snapshot(standing)["update"]["audit"]["rl_agent"]["reason"]["q_values"]
    shown = page.get_by_role("figure").filter(has_text=re.compile("q behind the best", re.IGNORECASE)).locator("li")
    expect(shown).to_have_count(len(values))
    for line, value in zip(shown.all(), values.values(), strict=True):
        said = line.inner_text().splitlines()[-1].replace("≈ 0", "0")
        behind = max(values.values()) - value
        assert number(said) == pytest.approx(behind, rel=0.01, abs=1e-3 * max(abs(one) for one in values.values()))


@pytest.mark.parametrize("path", ["/", "/strategies/rl_agent", "/node", "/tasks", "/history"])
def test_every_widget_explains_what_it_shows(watcher: Tab, standing: LiveService, path: str) -> None:
    page = watcher.open(path)
    expect(page.locator("main section.glass").first).to_be_visible()
    buttons = page.get_by_role("button", name=re.compile("^What .* shows$"))
    assert buttons.count() == page.locator("main section.glass").count()
    for button in buttons.all():
        button.click()
        told = page.locator("[popover]:popover-open")
        expect(told).to_be_visible()
        assert len(told.inner_text()) > 60
        page.keyboard.press("Escape")
        expect(told).to_have_count(0)
