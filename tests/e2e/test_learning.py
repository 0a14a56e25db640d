"""Learning is seen: who adapted, what was believed and what happened, and what not knowing costs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.service import LiveService, service
from tests.e2e.browser import eventually, settled, tab
from tests.e2e.test_access import serious_problems
from tests.e2e.test_layout import taken_along
from tests.e2e.test_views import number

STRATEGIES = "greedy,oracle,earliest_finish,earliest_finish@exact,earliest_finish@nominal"


@pytest.fixture(scope="module")
def unknown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A race on hidden durations that have drifted, held where everything is stored."""
    environment = {"HMS_SCHEDULERS": STRATEGIES, "HMS_WORKLOAD": "unknown", "HMS_KNOWLEDGE": "learned"}
    with service(tmp_path_factory.mktemp("unknown"), {**environment, "HMS_SPEED": "400"}) as live:
        live.post("/api/simulation/start")
        live.wait(lambda status: status["tasks_processed"] > 400)
        assert live.client.patch("/api/simulation", json={"drift": {"factor": 4.0}}).status_code == 200
        before = live.status()["tasks_processed"]
        live.wait(lambda status: status["tasks_processed"] > before + 400)
        live.held("pause")
        yield live


def exported(page: Page, title: str) -> list[dict[str, str]]:
    """A widget's rows as a person takes them along."""
    return list(csv.DictReader(io.StringIO(taken_along(page, title, "CSV").decode())))


def test_every_figure_of_the_view_is_the_services(browser: Browser, unknown: LiveService) -> None:
    with tab(browser, unknown.url) as opened:
        page = settled(opened.open("/learning"))
        adapted = unknown.get("/api/learning/adaptation")
        assert adapted["shift"]["message"].startswith("Drift")
        rows = eventually(page, lambda: exported(page, "Recovery after the change"), lambda found: len(found) == 5)
        for row, one in zip(rows, adapted["strategies"], strict=True):
            assert row["scheduler"] == one["name"]
            assert float(row["after_s"]) == pytest.approx(one["after_s"])
            assert (row["recovery_tasks"] or None) == (
                None if one["recovery_tasks"] is None else str(one["recovery_tasks"])
            )
        points = exported(page, "Who adapted")
        assert [float(row["greedy"]) for row in points if row["greedy"]] == pytest.approx(
            [value for value in adapted["regret"]["greedy"] if value is not None]
        )
        page.get_by_label("Whose beliefs").select_option("earliest_finish")
        beliefs = unknown.get("/api/learning/beliefs", scheduler="earliest_finish")
        assert {cell["device"] for cell in beliefs["cells"]} == {"cpu", "gpu"}
        shown = eventually(
            page,
            lambda: exported(page, "Believed against happened"),
            lambda found: [row["scheduler"] for row in found] == ["earliest_finish"] * len(beliefs["cells"]),
        )
        for row, cell in zip(shown, beliefs["cells"], strict=True):
            assert (row["kind"], row["device"]) == (cell["kind"], cell["device"])
            assert float(row["believed"]) == pytest.approx(cell["believed"])
            assert float(row["happened"]) == pytest.approx(cell["happened"])
            place = beliefs["devices"].index(cell["device"])
            seen = page.locator(f"tr[data-kind='{cell['kind']}'] td").nth(place).inner_text().split()
            assert [number(text.lstrip("×")) for text in seen[:2]] == pytest.approx(
                [cell["believed"], cell["happened"]], rel=0.006
            )
        assert opened.complaints == []


def test_the_price_of_not_knowing_is_the_quotient_of_two_latencies_of_one_window(
    browser: Browser, unknown: LiveService
) -> None:
    with tab(browser, unknown.url) as opened:
        page = settled(opened.open("/learning?window=run"))
        means = {row["name"]: row["avg_latency"] for row in unknown.get("/api/standings", window="run")["comparison"]}
        (row,) = eventually(page, lambda: exported(page, "The price of not knowing"), lambda found: len(found) == 1)
        assert row["scheduler"] == "earliest_finish"
        assert float(row["learned_price"]) == pytest.approx(means["earliest_finish"] / means["earliest_finish@exact"])
        assert float(row["nominal_price"]) == pytest.approx(
            means["earliest_finish@nominal"] / means["earliest_finish@exact"]
        )
        for level, name in (("learned", "earliest_finish"), ("exact", "earliest_finish@exact")):
            seen = page.locator(f"li[data-strategy='earliest_finish'] dd[data-level='{level}']").inner_text()
            assert number(seen) == pytest.approx(means[name], rel=0.006)
        assert serious_problems(page) == []


def test_beliefs_of_a_run_are_kept_when_another_one_begins(browser: Browser, unknown: LiveService) -> None:
    before = unknown.get("/api/learning/beliefs", scheduler="earliest_finish")
    unknown.post("/api/simulation/start", {"new_run": True})
    assert unknown.get("/api/learning/beliefs", scheduler="earliest_finish", run_id=1) == before
    with tab(browser, unknown.url) as opened:
        page = opened.open("/learning?run=1&believer=earliest_finish")
        expect(page.locator("tr[data-kind]")).to_have_count(len({cell["kind"] for cell in before["cells"]}))
        assert opened.complaints == []
