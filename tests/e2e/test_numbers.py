"""The numbers on the screen are those of the API, in every view and window, whatever the runs have been through.

That the API's are those of the stored rows is held by tests/api/test_windows.py, at the same kind of moment.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.service import PATIENCE_S, LiveService
from tests.api.test_windows import eventful
from tests.e2e.browser import Tab, eventually, home, tab_beside
from tests.e2e.test_learning import exported
from tests.e2e.test_views import await_bars, best_first, number
from tests.e2e.truth import snapshot, standings

STRATEGIES = "round_robin,greedy,hybrid_ml,earliest_finish,oracle"
METRICS = {"time": "avg_time", "latency": "avg_latency", "energy": "avg_energy", "cost": "avg_cost"}
WORDS = {"time": "execution time", "latency": "latency", "energy": "energy", "cost": "cost"}
WINDOWS = ("run", "shift", "latest")
SPOKES = {
    "Time": "avg_time",
    "Latency": "avg_latency",
    "Energy": "avg_energy",
    "Cost": "avg_cost",
    "Makespan": "makespan",
}
COMPARED = ("avg_latency", "longest_latency", "avg_time", "avg_wait", "avg_energy", "avg_cost", "makespan")
COLLECTED = {
    "Tasks": "tasks",
    "Results": "results",
    "Oracle labels": "training_records",
    "Runs": "runs",
    "Retrainings": "model_versions",
}


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """Two runs, the second with a shift, a task from outside, a pause and kill -9 behind it; it stands still."""
    live = LiveService(tmp_path_factory.mktemp("lived"), {"HMS_SCHEDULERS": STRATEGIES})
    live.start()
    try:
        tasks = eventful(live, "", "sqlite", enough=1500)["tasks_processed"]
        deadline_s = time.monotonic() + PATIENCE_S
        while snapshot(live)["update"]["bound"]["tasks"] != tasks:  # it and every gap to it are renewed now and then
            assert time.monotonic() < deadline_s, "the bound was not renewed"
            time.sleep(0.1)
        yield live
    finally:
        live.close()


@pytest.fixture(scope="module")
def stays(browser: Browser, lived: LiveService) -> Iterator[Page]:
    with home(browser, lived.url) as page:
        yield page


@pytest.fixture
def looker(stays: Page, lived: LiveService) -> Iterator[Tab]:
    with tab_beside(stays, lived.url) as opened:
        yield opened
        assert opened.complaints == []


def statistics(live: LiveService, window: str, **more: str) -> dict[str, Any]:
    """The statistics over a window."""
    found: dict[str, Any] = live.get("/api/stats", window="1000" if window == "latest" else window, **more)
    return found


_CELLS = "(all) => all.map((cell) => [cell.closest('tr').dataset.strategy, cell.dataset.column, cell.innerText])"


def compare_table(page: Page, rows: dict[str, dict[str, Any]]) -> None:
    """Every column of the average metrics, of every strategy."""
    cells = page.locator("tr[data-strategy] td[data-column]").evaluate_all(_CELLS)
    assert len(cells) >= 12 * len(rows)
    for name, column, text in cells:
        value, least = rows[name][column], (rows[name]["at_least"] or {}).get(column)
        if value is None and least is not None:
            assert number(text.removeprefix("≥ ")) == pytest.approx(least, rel=0.006), (name, column)
        elif value is None or text == "< 0.01 %":
            assert text == "–" or 0.0 < value < 1e-4, (name, column, text)
        else:
            shown = number(text.replace("+", ""))
            assert shown == pytest.approx(value, rel=0.006, abs=0.0051 if "%" in text else 1e-9), (name, column)


def compare_lines(shown: list[dict[str, str]], points: list[dict[str, Any]], field: str) -> None:
    """The lines of a chart over time, taken along, against the service's points; gaps have no values."""
    names = sorted(points[0][field])
    drawn = [row for row in shown if any(row[name] for name in names)]
    for row, point in zip(drawn, points[-len(drawn) :], strict=True):
        told = {name: float(row[name]) for name in names if row[name]}
        assert told == pytest.approx({name: value for name in names if (value := point[field].get(name)) is not None})


def compare_statistics(page: Page, stats: dict[str, Any]) -> None:
    """Every bar of the histogram, every cell of the heat map and of the correlations."""
    bars = page.get_by_role("img", name=f"Histogram of {stats['tasks']:,} task sizes").locator("rect title")
    expect(bars).to_have_count(len(stats["sizes"]["counts"]))
    said = [re.search(r": ([\d,]+) tasks?$", text) for text in bars.all_text_contents()]
    assert [int(one[1].replace(",", "")) for one in said if one] == stats["sizes"]["counts"]
    filled = [cell for cell in stats["heat_map"]["cells"] if cell["tasks"] > 0]
    expect(page.locator("td[data-place]")).to_have_count(len(filled))
    titles = page.locator("td[data-place]").evaluate_all("(all) => all.map((cell) => cell.title)")
    for text, cell in zip(titles, sorted(filled, key=lambda c: (-c["intensity_low"], c["size_low"])), strict=True):
        told = re.search(r": (\w+) for most of ([\d,]+) tasks?, mean GPU share (\d+) %$", text)
        assert told is not None, text
        assert (told[1], int(told[2].replace(",", ""))) == (cell["best_device"], cell["tasks"])
        assert int(told[3]) == pytest.approx(100 * cell["optimal_gpu_fraction"], abs=0.501)
    table = page.get_by_role("region", name=re.compile("Correlations of")).locator("tbody tr")
    expect(table).to_have_count(len(stats["correlations"]["values"]))
    for line, values in zip(table.all(), stats["correlations"]["values"], strict=True):
        for text, value in zip(line.locator("td").all_inner_texts(), values, strict=True):
            assert text == "·" if value is None else abs(float(text.replace("−", "-")) - value) <= 0.0501


def compare_strategy(page: Page, live: LiveService, update: dict[str, Any], row: dict[str, Any]) -> None:
    """The load of the devices, their table, the latest decision and the five means of the strategy that is seen."""
    name = row["name"]
    load, cluster = live.get("/api/history/load", scheduler=name, span_s=60), update["clusters"][name]
    shown = eventually(
        page, lambda: exported(page, "Cluster load"), lambda found: len(found) == len(load["edges_s"]) - 1
    )
    for device, shares in load["busy"].items():
        assert [float(line[device]) if line[device] else None for line in shown] == shares, device
    columns = ("utilization", "run_utilization", "queue_length", "backlog_s")
    for device, line in zip(load["busy"], exported(page, "Devices and queues"), strict=True):
        assert line.pop("device") == device
        assert [float(text) for text in line.values()] == [cluster[device][column] for column in columns]
        seen = page.locator(f"tr[data-device='{device}'] td").all_inner_texts()
        wanted = [cluster[device][column] for column in columns]
        assert [number(text) for text in seen] == pytest.approx(wanted, rel=0.006, abs=0.0051), device
    (said,), audit = exported(page, "Decision audit"), update["audit"][name]
    assert (int(said["task_id"]), said["device"], said["reason_text"]) == (
        audit["task_id"],
        audit["device"],
        audit["reason_text"],
    )
    (means,) = exported(page, "Efficiency")
    assert {key: float(means[key]) for key in METRICS} == {key: row[field] for key, field in METRICS.items()}


def compare_loads(page: Page, rows: dict[str, dict[str, Any]], update: dict[str, Any]) -> None:
    """What every strategy gives to its devices, and for how long the longest queue is."""
    for name, row in rows.items():
        figures = page.locator(f"[data-load='{name}'] .figure .font-semibold")
        expect(figures).to_have_count(2)
        loads = [number(text) for text in figures.all_inner_texts()]
        assert loads == pytest.approx([row["cpu_load"], row["gpu_load"]], rel=0.006)
        longest_s = max(one["backlog_s"] for one in update["clusters"][name].values() if isinstance(one, dict))
        promised = page.locator(f"[data-load='{name}']").inner_text().partition("free in ")[2]
        assert number(promised) == pytest.approx(longest_s, rel=0.006, abs=1e-9)


def compare_runs(looker: Tab, cards: list[dict[str, Any]], names: list[str]) -> None:
    """Every figure of runs side by side."""
    chosen = ",".join(str(card["run_id"]) for card in cards)
    for field in COMPARED:
        page = looker.open(f"/runs?compare={chosen}&by={field}")
        for name in names:
            cells = page.get_by_role("region", name="Runs side by side").locator(f"tr[data-strategy='{name}'] td")
            expect(cells).to_have_count(len(cards))
            figures = [one[field] for card in cards for one in card["standings"] if one["name"] == name]
            for text, figure in zip(cells.all_inner_texts(), figures, strict=True):
                if figure is None:
                    assert text.strip().startswith("–"), field
                else:
                    assert number(text) == pytest.approx(figure, rel=0.006), field


def compare_ledger(page: Page, ledger: dict[str, Any]) -> None:
    """Every column of the page of the ledger, as it is taken along and as it is read."""
    rows = eventually(page, lambda: exported(page, "Ledger"), lambda found: len(found) == len(ledger["rows"]))
    seen = page.locator("section[aria-label='Ledger rows'] tbody tr")
    for i, (row, truth) in enumerate(zip(rows, ledger["rows"], strict=True)):
        for column, text in row.items():
            value = truth[column]
            assert text == value if isinstance(value, str) else float(text or "nan") == value, (i, column)
    texts = {key: seen.locator(f"td[data-column='{key}']").all_inner_texts() for key in ("time", "latency", "energy")}
    for column, told in texts.items():
        truths = [row[column] for row in ledger["rows"]]
        assert [number(text) for text in told] == pytest.approx(truths, rel=0.006, abs=1e-9), column


def compare_models(page: Page, live: LiveService, models: dict[str, Any], last: int) -> None:
    """The retrainings and their errors: on the screen, from the service, and as they are stored."""
    figures = ("task_id", "samples", "present_error", "held_out_error", "duration_s")
    for line, one in zip(exported(page, "Retraining history"), models["models"], strict=True):
        assert [float(line[key]) if line[key] else None for key in figures] == [one[key] for key in figures]
    judged = sorted((m for m in models["models"] if m["held_out_error"] is not None), key=lambda m: int(m["task_id"]))
    judged = [one for one in judged if one["task_id"] <= last]
    errors = eventually(page, lambda: exported(page, "Error after"), lambda found: len(found) == len(judged))
    for line, one in zip(errors, judged, strict=True):
        new, before = line[one["scheduler"]], line[f"{one['scheduler']} before"]
        assert int(line["task_id"]) == one["task_id"]
        assert [float(text) if text else None for text in (new, before)] == [
            one["held_out_error"],
            one["present_error"],
        ]
    query = (
        "SELECT version, boundary, samples, held_out_error, present_error, outcome FROM model_versions WHERE run_id = ?"
    )
    with sqlite3.connect(live.folder / "data" / "hybrid_scheduler.db") as connection:
        rows = {row[0]: row for row in connection.execute(query, (live.status()["run_id"],))}
    connection.close()
    assert (len(rows), models["total"] > 0) == (models["total"], True)
    keys = ("version", "task_id", "samples", "held_out_error", "present_error", "outcome")
    for one in models["models"]:
        assert tuple(one[key] for key in keys) == rows[one["version"]]


def compare_scatter_and_log(page: Page, live: LiveService) -> None:
    """The dots of the scatter and the lines of the log are those of the socket."""
    tasks = snapshot(live)["recent_tasks"]
    page.mouse.move(0, 0)  # a dot below the mouse would be told of instead
    expect(page.get_by_text(f"Latest {len(tasks)} tasks; purple")).to_be_visible()
    dots = [tuple(map(float, row.values())) for row in exported(page, "Workload")]
    assert dots == [(task["id"], task["size"], task["intensity"], task["memory"]) for task in tasks]
    lines, _ = eventually(
        page,
        lambda: ([tuple(row.values()) for row in exported(page, "Live log")], told_lines(live)),
        lambda both: len(both[0]) > 0 and sorted(both[0]) == sorted(both[1]),
    )
    seen = page.get_by_role("region", name="Log lines").locator("li > span").all_text_contents()
    assert seen == [line[2] for line in lines]


def told_lines(live: LiveService) -> list[tuple[str, ...]]:
    """What the socket tells a viewer who comes now: the notices, and the lines that do not repeat them."""
    told = snapshot(live)
    notices = told["notifications"][-60:]
    spoken = {one["message"] for one in notices}
    wanted = [*notices, *(line for line in told["log"] if line["message"] not in spoken)]
    return [(one["at"], one["level"], one["message"]) for one in wanted]


@pytest.mark.parametrize("window", WINDOWS)
def test_the_race_shows_every_figure_of_a_window(looker: Tab, lived: LiveService, window: str) -> None:
    rows, stats = standings(lived, window), statistics(lived, window)
    for metric, field in {**METRICS, "makespan": "makespan"}.items():
        page = looker.open(f"/?window={window}&metric={metric}&wins={metric if metric in METRICS else 'latency'}")
        truth = {name: (row["at_least"] or row)[field] for name, row in rows.items()}
        await_bars(page, truth)
        if metric not in METRICS:
            compare_table(page, standings(lived, window))
            continue
        matrix = stats["win_loss"][metric]
        lines = page.get_by_role("region", name=f"Win/loss by {WORDS[metric]}").locator("tbody tr")
        expect(lines).to_have_count(len(matrix["schedulers"]))
        order = best_first(matrix)
        for shown, i in zip(lines.all(), order, strict=True):
            shares = [matrix["share"][i][j] for j in order]
            wanted = ["·" if share is None else str(int(share * 100 + 0.5)) for share in shares]
            expect(shown.locator("td")).to_have_text(wanted)


def test_tasks_node_history_runs_and_strategies_show_the_services_figures(looker: Tab, lived: LiveService) -> None:
    status, update = lived.status(), snapshot(lived)["update"]
    for window in WINDOWS:
        stats = statistics(lived, window, scheduler="greedy")
        page = looker.open(f"/tasks?window={window}&of=greedy")
        compare_statistics(page, stats)
        page = looker.open(f"/strategies/greedy?window={window}")
        row = standings(lived, window)["greedy"]
        assert number(looker.figure("efficiency")) == pytest.approx(row["efficiency"], abs=6e-4)
        for place, decided in row["decisions"].items():
            expect(page.locator(f"dd[data-place='{place}']")).to_contain_text(f"{decided:,}")
        oracle = standings(lived, window)["oracle"]
        shown = {line["measure"]: line["ratio_to_oracle"] for line in exported(page, "Against the oracle")}
        for measure, field in SPOKES.items():
            assert float(shown[measure]) == pytest.approx(row[field] / oracle[field]), (window, measure)
    compare_strategy(page, lived, update, standings(lived, WINDOWS[-1])["greedy"])
    ledger = lived.get("/api/history/ledger", run_id=status["run_id"], scheduler="greedy", sort="latency", limit=50)
    page = looker.open("/tasks?by=greedy&sort=latency")
    expect(page.locator("[data-ledger-total]")).to_have_attribute("data-ledger-total", str(ledger["total"]))
    compare_ledger(page, ledger)
    for window in WINDOWS:
        compare_loads(looker.open(f"/node?window={window}"), standings(lived, window), update)
    page = looker.open("/history")
    stored = lived.get("/api/history/trend")["collection"]
    for label, key in COLLECTED.items():
        expect(page.locator(f"[data-collected='{label}']")).to_have_text(f"{stored[key]:,}")
    stretches = lived.get("/api/history/trend", points=160)
    whole = [one for one in stretches["points"] if one["tasks"] * 2 >= stretches["tasks_per_point"]]
    compare_lines(exported(page, "Long-term trend"), whole, "avg_latency")
    models = lived.get("/api/models", run_id=status["run_id"], limit=100)
    expect(page.locator("[data-version]")).to_have_count(len(models["models"]))
    compare_models(page, lived, models, status["last_task_id"])
    cards = lived.get("/api/runs")["runs"]
    page = looker.open(f"/runs?compare={','.join(str(card['run_id']) for card in cards)}")
    compare_runs(looker, cards, status["schedulers"])
    for card in cards:
        line = page.locator(f"[data-run='{card['run_id']}']")
        expect(line).to_contain_text(f"{card['tasks']:,}")
        placed = [one["avg_latency"] for one in card["standings"] if "avg_latency" not in one["undecided"]]
        if placed:
            assert number(line.locator("td").nth(6).inner_text()) == pytest.approx(min(placed), rel=0.006)
        else:
            expect(line.locator("td").nth(6)).to_contain_text("Open while tasks wait")
    assert looker.tasks() == update["tasks_processed"]
    page = looker.open("/")
    recent = lived.get("/api/history/trend", points=60, latest=1000)["points"]
    shown_lines = eventually(page, lambda: exported(page, "Recent form"), lambda found: len(found) >= len(recent))
    compare_lines(shown_lines, recent, "avg_latency")
    compare_scatter_and_log(page, lived)


def test_the_devices_and_queues_of_two_strategies_are_drawn_from_the_services_parts(
    looker: Tab, lived: LiveService
) -> None:
    names = ("greedy", "hybrid_ml")
    motion = lived.get("/api/node", scheduler=names, seconds=30)
    page = looker.open("/node?left=greedy&right=hybrid_ml&span=30")
    for name, one in zip(names, motion["strategies"], strict=True):
        said = page.locator(f"[data-motion='{name}']").inner_text().split("; ")
        for words, free_s, waiting in zip(said, one["free_in_s"], one["waiting_now"], strict=True):
            assert words.endswith("free") == (free_s <= 0.0), words
            if free_s > 0.0:
                assert number(words.partition("busy for ")[2]) == pytest.approx(free_s, rel=0.006)
                assert (f"{waiting} waiting" in words) == (waiting > 0), words
    for title, one in zip(("Node of Greedy", "Node of Hybrid ML"), motion["strategies"], strict=True):
        rows, parts = exported(page, title), one["parts"]
        assert [int(row["task_id"]) for row in rows] == parts["task_id"]
        assert [row["device"] for row in rows] == [motion["devices"][place] for place in parts["device"]]
        assert [float(row["end_s"]) for row in rows] == pytest.approx(parts["end_s"])
    rows = exported(page, "Queue length")
    assert [float(row["seconds_before_now"]) for row in rows] == pytest.approx(
        [at - motion["now_s"] for at in motion["times_s"]], abs=1e-6
    )
    legend = page.get_by_role("region", name="Queue length").locator("ul .figure").all_inner_texts()
    for name, one, newest in zip(names, motion["strategies"], legend, strict=True):
        assert [int(row[name]) for row in rows] == one["waiting"]
        assert newest == f"{one['waiting'][-1]:,}"


def test_the_audit_of_a_task_shows_what_every_strategy_did_with_it(looker: Tab, lived: LiveService) -> None:
    task = lived.status()["last_task_id"] - 40
    audit = lived.get(f"/api/tasks/{task}")
    page = looker.open(f"/tasks?task={task}")
    drawer = page.get_by_role("dialog", name=f"Decisions for task {task}")
    expect(drawer.locator("li[data-strategy]")).to_have_count(len(audit["strategies"]))
    facts = drawer.locator("dl").first.locator("dd").all_inner_texts()
    assert facts[0] == f"{round(audit['task']['size']):,}"
    for name, one in audit["strategies"].items():
        shown = drawer.locator(f"li[data-strategy='{name}'] dl").first.locator("dd").all_inner_texts()
        wanted = [one[key] for key in ("time", "latency", "wait", "energy", "cost")]
        assert [number(text) for text in shown[:5]] == pytest.approx(wanted, rel=0.006, abs=1e-9), name
        assert float(shown[5].rstrip("×")) == pytest.approx(one["time"] / audit["oracle"]["time"], abs=0.006)


def test_learning_shows_the_loss_around_the_shift_as_the_service_counts_it(looker: Tab, lived: LiveService) -> None:
    adapted = lived.get("/api/learning/adaptation")
    page = looker.open("/learning")
    lines = page.get_by_role("region", name="Recovery of every strategy").locator("tbody tr")
    expect(lines).to_have_count(len(adapted["strategies"]))
    for line, one in zip(lines.all(), adapted["strategies"], strict=True):
        assert line.get_attribute("data-strategy") == one["name"]
        cells = line.locator("td").all_inner_texts()
        for text, key in zip(cells, ("before_s", "after_s", "worst_s", "settled_s"), strict=False):
            assert text == "–" if one[key] is None else number(text) == pytest.approx(one[key], rel=0.006, abs=1e-9)
        recovery = one["recovery_tasks"]
        assert cells[4].startswith({None: "not yet", 0: "at once"}.get(recovery, f"{recovery or 0:,} task"))
    points = eventually(page, lambda: exported(page, "Who adapted"), lambda found: len(found) > 1)
    for name, losses in adapted["regret"].items():
        assert [float(row[name]) for row in points if row[name]] == pytest.approx([x for x in losses if x is not None])
