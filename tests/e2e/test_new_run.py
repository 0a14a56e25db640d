"""A person begins a new run with other strategies, from the controls and from a race that cannot go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.api.service import service
from tests.e2e.browser import Tab, settled, tab
from tests.e2e.test_access import serious_problems

FAILING = """
from hybrid_ml_scheduler.core import Decision


class Boom:
    \"\"\"Decides a few tasks and then no more.\"\"\"

    name = "boom"

    def __init__(self):
        self.left = 5

    def decide(self, task, cluster):
        self.left -= 1
        if self.left < 0:
            raise ValueError("no more")
        return Decision(gpu_fraction=0.0)


class Coin(Boom):
    \"\"\"Never ends.\"\"\"

    name = "coin"

    def decide(self, task, cluster):
        return Decision(gpu_fraction=0.5, gpu=0)
"""


def racing(page: Page) -> list[str]:
    """The names of the racers on the page."""
    return [one.get_attribute("data-racer") or "" for one in page.locator("[data-racer]").all()]


def colours(page: Page) -> list[str]:
    """The colours of the strategies that a new run may have."""
    boxes = page.get_by_role("dialog").locator("li span[aria-hidden]")
    return [str(one.evaluate("it => getComputedStyle(it).backgroundColor")) for one in boxes.all()]


def test_a_halted_race_is_left_by_a_new_run_without_the_strategy_that_failed(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(FAILING)
    own = f"{tmp_path / 'own.py'}:Boom,{tmp_path / 'own.py'}:Coin"
    environment = {"HMS_SCHEDULERS": f"greedy,oracle,{own}", "HMS_SPEED": "50"}
    with service(tmp_path / "runs", environment) as live, tab(browser, live.url) as opened:
        live.post("/api/simulation/start")
        live.wait(lambda status: status["problem"] is not None)
        page = opened.open("/")
        expect(page.get_by_text("The race cannot go on")).to_be_visible()
        for name in ("Continue", "Mixed", "Stop the race"):
            expect(page.get_by_role("button", name=name)).to_be_disabled()
        page.get_by_role("status").get_by_role("button", name="Begin a new run").click()
        dialog = page.get_by_role("dialog", name="Begin a new run?")
        expect(dialog.get_by_role("checkbox", checked=True)).to_have_count(4)
        shown = colours(page)
        assert len(set(shown)) == len(shown) > 4, "no two strategies look the same"
        dialog.get_by_role("checkbox", name="Boom").uncheck()
        dialog.get_by_role("checkbox", name="Earliest finish").check()
        dialog.get_by_role("button", name="Begin", exact=True).click()
        expect(page.get_by_text("The race cannot go on")).to_have_count(0)
        expect(page.locator("[data-racer='earliest_finish']")).to_be_visible()
        live.wait(lambda status: status["run_id"] == 2 and status["tasks_processed"] > 10)
        assert (
            sorted(racing(page))
            == ["coin", "earliest_finish", "greedy", "oracle"]
            == sorted(live.status()["schedulers"])
        )
        assert opened.complaints == []


def test_a_new_run_needs_a_strategy_and_takes_a_seed_by_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    with service(tmp_path, {"HMS_SCHEDULERS": "greedy,oracle", "HMS_SEED": "5"}) as live, tab(browser, live.url) as one:
        live.post("/api/simulation/start")
        page = with_dialog(one)
        dialog, begin = page.get_by_role("dialog"), page.get_by_role("button", name="Begin", exact=True)
        expect(dialog.get_by_role("checkbox", name="Greedy")).to_be_focused()
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        expect(dialog.get_by_role("checkbox", checked=True)).to_have_count(0)
        expect(dialog).to_contain_text("Choose at least one strategy.")
        expect(begin).to_be_disabled()
        page.keyboard.press("Space")
        dialog.get_by_label("Seed").focus()
        page.keyboard.press("ControlOrMeta+A")
        page.keyboard.type("77x")
        expect(begin).to_be_disabled()
        page.keyboard.press("Backspace")
        page.keyboard.press("Enter")
        live.wait(lambda status: (status["run_id"], status["seed"], status["schedulers"]) == (2, 77, ["oracle"]))
        expect(page.get_by_role("button", name="Begin a new run")).to_be_focused()
        assert one.complaints == []


def with_dialog(opened: Tab) -> Page:
    """The race with the question about a new run, asked by keyboard."""
    page = opened.open("/")
    page.get_by_role("button", name="Begin a new run").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name="Begin a new run?")).to_be_visible()
    return page


def test_a_new_run_gets_the_node_and_the_workload_that_were_chosen(browser: Browser, tmp_path: Path) -> None:
    environment = {"HMS_SCHEDULERS": "greedy,oracle", "HMS_SPEED": "50"}
    with service(tmp_path, environment) as live, tab(browser, live.url) as opened:
        before = live.post("/api/simulation/start")["run_id"]
        page = opened.open("/")
        page.get_by_role("button", name="Begin a new run").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("GPUs of the node").fill("99")
        expect(dialog.get_by_role("status")).to_contain_text("1 to 64 GPUs")
        expect(dialog.get_by_role("button", name="Begin")).to_be_disabled()
        dialog.get_by_label("GPUs of the node").fill("2")
        dialog.get_by_label("Workload").select_option("light")
        dialog.get_by_label("Load, tasks per second").fill("3")
        dialog.get_by_role("button", name="Begin").click()
        status = live.wait(lambda found: found["run_id"] != before)
        assert (status["num_gpus"], status["workload"]) == (2, {"preset": "light", "arrival_rate": 3, "trace": None})
        assert opened.complaints == []


JOBS = "submitted,run_s,what\n" + "".join(f"{row / 2},{0.2 + row % 7 / 5},job{row % 3}\n" for row in range(30))


def test_a_trace_of_ones_own_is_read_raced_to_its_end_and_said_to_be_complete(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text(JOBS)
    environment = {"HMS_SCHEDULERS": "greedy,oracle", "HMS_SPEED": "1000"}
    narrow: dict[str, Any] = {"viewport": {"width": 360, "height": 800}}
    with service(tmp_path / "runs", environment) as live, tab(browser, live.url, **narrow) as opened:
        live.post("/api/simulation/start")
        page = with_dialog(opened)
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("Files of your own").click()
        dialog.get_by_label("Upload a trace").set_input_files(tmp_path / "jobs.csv")
        expect(dialog).to_contain_text("is the beginning of no known dialect")
        for label, column in (("Arrival", "submitted"), ("Seconds on a CPU", "run_s"), ("Kind of work", "what")):
            dialog.get_by_role("combobox", name=label, exact=True).select_option(column)
        dialog.get_by_role("button", name="Read it").click()
        read = dialog.get_by_role("region", name="What jobs.csv holds")
        expect(read).to_contain_text("30 tasks, 3 kinds of work, over")
        dialog.get_by_label("Arrivals").select_option("target_load")
        dialog.get_by_role("textbox", name="Load of the GPUs").fill("0.5")
        assert serious_problems(settled(page)) == []
        page.evaluate("document.documentElement.dataset.theme = 'light'")
        assert serious_problems(settled(page), "color-contrast") == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        dialog.get_by_role("button", name="Begin", exact=True).click()
        done = live.wait(lambda status: status["state"] == "complete")
        assert (done["workload"]["preset"], done["tasks_processed"]) == ("jobs.csv", 30)
        banner = page.get_by_role("status").filter(has_text="have been placed, and no other will come")
        expect(banner).to_contain_text("All 30 tasks of jobs.csv")
        page.reload()
        expect(banner).to_be_visible()
        assert [one for one in opened.complaints if "422" not in one] == []
