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


METRICS = {
    "Execution time": "avg_time",
    "Latency": "avg_latency",
    "Energy": "avg_energy",
    "Cost": "avg_cost",
    "Makespan": "makespan",
}


@pytest.mark.parametrize("window", ["run", "shift", "latest"])
def test_the_race_shows_the_true_value_of_every_strategy_in_every_metric_and_window(
    watcher: Tab, standing: LiveService, window: str
) -> None:
    page = watcher.open(f"/?window={window}")
    rows = standings(standing, window)
    for label, field in METRICS.items():
        choice = page.get_by_role("group", name="Metric", exact=True).get_by_role("button", name=label)
        choice.click()
        expect(choice).to_have_attribute("aria-pressed", "true")
        truth = {name: row[field] for name, row in rows.items()}
        await_bars(page, truth)
        # Those whose values read alike share the first rank.
        leaders = {
            str(one.get_attribute("data-racer")) for one in page.get_by_role("link", name=re.compile(r"^1\. ")).all()
        }
        assert min(sorted(truth), key=lambda name: truth[name]) in leaders
        assert all(truth[name] == pytest.approx(min(truth.values()), rel=0.006) for name in leaders)


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


def test_the_race_agrees_with_the_database(watcher: Tab, standing: LiveService) -> None:
    page = watcher.open("/?metric=latency&window=run")
    stored = standing.get("/api/stats", window="run")["percentiles"]
    means = {row["scheduler"]: row["mean"] for row in stored if row["metric"] == "latency"}
    await_bars(page, means)


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


def test_the_summary_rounds_the_true_averages(watcher: Tab, standing: LiveService) -> None:
    page = watcher.open("/?window=run")
    for name, row in standings(standing).items():
        for column in ("avg_time", "avg_latency", "avg_energy", "avg_cost"):
            cell = page.locator(f"tr[data-strategy='{name}'] td[data-column='{column}']")
            assert number(cell.inner_text()) == pytest.approx(row[column], rel=0.006), (name, column)


def best_first(matrix: dict[str, Any]) -> list[int]:
    """Places in the matrix by wins minus losses."""
    share = matrix["share"]
    places = range(len(matrix["schedulers"]))
    leads = [sum((share[i][j] or 0) - (share[j][i] or 0) for j in places) for i in places]
    return sorted(places, key=lambda i: -leads[i])


def test_the_win_matrix_is_the_services(watcher: Tab, standing: LiveService) -> None:
    page = watcher.open("/?wins=time&window=latest")
    matrix = standing.get("/api/stats")["win_loss"]["time"]
    rows = page.get_by_role("region", name="Win/loss by execution time").locator("tbody tr")
    expect(rows).to_have_count(len(matrix["schedulers"]))
    order = best_first(matrix)
    for shown, i in zip(rows.all(), order, strict=True):
        shares = [matrix["share"][i][j] for j in order]
        wanted = ["·" if share is None else str(int(share * 100 + 0.5)) for share in shares]
        assert shown.locator("td").all_inner_texts() == wanted


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
    expect(why).to_contain_text("spread")
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


def test_history_counts_what_is_stored(watcher: Tab, standing: LiveService) -> None:
    page = watcher.open("/history")
    stored = standing.get("/api/history/trend")["collection"]
    for label, key in (("Tasks", "tasks"), ("Results", "results"), ("Oracle labels", "training_records")):
        expect(page.locator(f"[data-collected='{label}']")).to_have_text(f"{stored[key]:,}")
    models = standing.get("/api/models")["models"]
    expect(page.locator("[data-version]")).to_have_count(min(100, len(models)))
    newest = page.locator("[data-version]").first
    expect(newest).to_contain_text(f"{models[0]['samples']:,}")
    expect(page.get_by_role("img", name=re.compile("Long-term trend"))).to_be_visible()


def test_the_statistics_of_tasks_are_the_services(watcher: Tab, standing: LiveService) -> None:
    page = watcher.open("/tasks?window=latest")
    stats = standing.get("/api/stats")
    expect(page.get_by_role("img", name=f"Histogram of {stats['tasks']:,} task sizes")).to_be_visible()
    filled = [cell for cell in stats["heat_map"]["cells"] if cell["tasks"]]
    expect(page.locator("td[data-place]")).to_have_count(len(filled))
    found = stats["correlations"]
    row = page.get_by_role("region", name=re.compile("Correlations of")).locator("tbody tr").first
    texts = row.locator("td").all_inner_texts()
    for text, value in zip(texts, found["values"][0], strict=True):
        assert text == "·" if value is None else abs(float(text.replace("−", "-")) - value) <= 0.0501


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
