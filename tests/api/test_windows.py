"""The figures of every window are those of the stored rows, whatever the run has been through."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.api.service import PATIENCE_S, LiveService
from tests.api.stored_truth import (
    NUM_GPUS,
    ask_beside,
    busy_s,
    compare_card,
    compare_change,
    compare_clusters,
    compare_decisions,
    compare_latest_tasks,
    compare_log,
    compare_waiting,
    parts_of,
    read_rows,
)
from tests.conftest import alone_in

COLUMNS = (
    "task_id, scheduler_name, actual_time, latency, wait, energy_consumption, execution_cost, cpu_part, gpu_part,"
    " finish_time, gpu_fraction, gpu_id, failed, out_of_memory, optimal_time, arrival_time, tasks.size,"
    " tasks.compute_intensity, tasks.memory_required, device, cpu_start, gpu_start, optimal_gpu_fraction, ready_time"
)
STORED = {"time": "actual_time", "latency": "latency", "energy": "energy_consumption", "cost": "execution_cost"}
MEANS = {
    "avg_time": "actual_time",
    "avg_latency": "latency",
    "avg_wait": "wait",
    "avg_energy": "energy_consumption",
    "avg_cost": "execution_cost",
    "avg_gpu_fraction": "gpu_fraction",
}


def stored(url: str, run_id: int) -> list[dict[str, Any]]:
    """Every row of a run, one for each task and strategy."""
    query = (
        f"SELECT {COLUMNS} FROM scheduler_results JOIN tasks USING (task_id)"
        " JOIN training_data USING (task_id) WHERE tasks.run_id = :run"
    )
    return read_rows(url, query, run=run_id)


def eventful(live: LiveService, url: str, database: str, enough: int = 2600) -> Any:
    """A second run with a shift, a pause and a crash behind it, held where everything is stored."""
    live.post("/api/simulation/start", {"speed": 0})
    live.wait(lambda now: now["tasks_processed"] > 200)
    live.held()
    live.post("/api/simulation/start", {"new_run": True, "seed": 3, "speed": 900})
    live.wait(lambda now: now["tasks_processed"] > 600)
    live.client.patch("/api/simulation", json={"workload": "heavy"})
    live.post("/api/tasks", {"size": 800, "compute_intensity": 0.7, "memory_required": 120}, run="true")
    live.wait(lambda now: now["tasks_processed"] > 900)
    live.held("pause")
    live.post("/api/simulation/resume")
    live.wait(lambda now: now["tasks_processed"] > 1200)
    live.kill()
    if database == "postgresql":
        alone_in(url)
    live.start()
    live.wait(lambda now: now["tasks_processed"] > enough)
    status = live.held("pause")
    deadline_s = time.monotonic() + PATIENCE_S
    while live.get("/api/standings")["last_task_id"] != status["last_task_id"]:  # shown twice a second
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    return status


def compare(shown: dict[str, Any], rows: list[dict[str, Any]], length_s: float) -> None:
    """Hold one strategy's row of a window against the stored rows."""
    done = [row for row in rows if not row["failed"]]
    assert shown["tasks"] == len(done)
    assert shown["failed"] == len(rows) - len(done)
    assert shown["oom_count"] == sum(bool(row["out_of_memory"]) for row in rows)
    for name, column in MEANS.items():
        assert shown[name] == pytest.approx(np.mean([row[column] for row in done]), rel=1e-9, abs=1e-12), name
    # Beyond a thousand tasks the number of that rank is told within half a per cent, and nothing between two of them.
    exact, latencies = len(rows) <= 1000, [row["latency"] for row in done]
    ranked = np.percentile(latencies, [95, 99.9, 100], method="linear" if exact else "lower")
    tail = [shown["p95_latency"], shown["p99_9_latency"], shown["longest_latency"]]
    assert tail == pytest.approx(ranked, rel=1e-9 if exact else 0.0051)
    slowdowns = [row["latency"] / max(row["optimal_time"], 0.01) for row in done]
    assert shown["avg_slowdown"] == pytest.approx(np.mean(slowdowns), rel=1e-9)
    assert shown["longest_slowdown"] == pytest.approx(max(slowdowns), rel=1e-9)
    assert shown["cpu_load"] == pytest.approx(sum(row["cpu_part"] for row in done) / length_s, rel=1e-9)
    gpu_s = sum(row["gpu_part"] for row in done)
    assert shown["gpu_load"] == pytest.approx(gpu_s / length_s / NUM_GPUS, rel=1e-9)
    split = sum(row["gpu_id"] is not None and row["gpu_id"] >= 0 and row["cpu_part"] > 0 for row in done)
    alone = sum(row["device"] == "cpu" for row in done)
    assert shown["decisions"] == {"split": split, "cpu": alone, "gpu": len(done) - split - alone}
    oracle_s, own_s = (sum(row[name] for row in done) for name in ("optimal_time", "actual_time"))
    assert shown["efficiency"] == pytest.approx(oracle_s / own_s, rel=1e-9)


class Rows:
    """The stored rows of a window as columns, by strategy; each task once in `tasks`."""

    def __init__(self, rows: list[dict[str, Any]], first: int, last: int = 2**62) -> None:
        inside = [row for row in rows if first <= row["task_id"] <= last]
        self.names = sorted({row["scheduler_name"] for row in inside})
        self.of = {name: [row for row in inside if row["scheduler_name"] == name] for name in self.names}
        self.tasks = list({row["task_id"]: row for row in inside}.values())

    def column(self, name: str, key: str) -> np.ndarray:
        by_task = {row["task_id"]: row[key] for row in self.of[name]}
        values = [by_task.get(row["task_id"]) for row in self.tasks]
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def compare_statistics(found: dict[str, Any], rows: Rows) -> None:
    """Every figure of the statistics against the rows: win/loss, percentiles, correlations, sizes, heat map."""
    assert (found["tasks"], found["window_tasks"]) == (len(rows.tasks), len(rows.tasks))
    for metric, column in STORED.items():
        values = {name: rows.column(name, column) for name in rows.names}
        matrix = found["win_loss"][metric]
        for line, mine in zip(matrix["share"], matrix["schedulers"], strict=True):
            for share, other in zip(line, matrix["schedulers"], strict=True):
                both = np.isfinite(values[mine]) & np.isfinite(values[other])
                wins = (values[mine][both] < values[other][both]).sum()
                assert share == (None if mine == other else pytest.approx(wins / both.sum())), (metric, mine, other)
        for one in (row for row in found["percentiles"] if row["metric"] == metric):
            known = values[one["scheduler"]][np.isfinite(values[one["scheduler"]])]
            shown = [one[key] for key in ("mean", "p50", "p95", "p99", "p99_9", "longest")]
            assert shown == pytest.approx([known.mean(), *np.percentile(known, [50, 95, 99, 99.9, 100])], rel=1e-9)
    chosen = found["correlations"]["scheduler"]
    columns = [rows.column(chosen, STORED.get(name, name)) for name in found["correlations"]["names"]]
    done = np.isfinite(np.array(columns)).all(axis=0)
    wanted = np.corrcoef(np.array(columns)[:, done])
    for i, line in enumerate(found["correlations"]["values"]):
        for j, value in enumerate(line):
            assert value is None or value == pytest.approx(wanted[i, j], abs=1e-6)
    sizes = [row["size"] for row in rows.tasks]
    bounds = found["sizes"]["bounds"]
    counts = [sum(low <= size < high for size in sizes) for low, high in itertools.pairwise(bounds)]
    counts[-1] += sum(size == bounds[-1] for size in sizes)
    assert found["sizes"]["counts"] == counts
    for cell in found["heat_map"]["cells"]:
        last = (cell["size_high"] == bounds[-1], cell["intensity_high"] == 1.0)
        there = [
            row["optimal_gpu_fraction"]
            for row in rows.tasks
            if _inside(row["size"], cell["size_low"], cell["size_high"], last[0])
            and _inside(row["compute_intensity"], cell["intensity_low"], cell["intensity_high"], last[1])
        ]
        assert cell["tasks"] == len(there)
        assert cell["optimal_gpu_fraction"] == (pytest.approx(np.mean(there)) if there else None)


def _inside(value: float, low: float, high: float, is_last: bool) -> bool:
    return low <= value < high or (is_last and value == high)


def compare_trend(found: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Every point of the trend against the rows."""
    assert sum(point["tasks"] for point in found["points"]) == len({row["task_id"] for row in rows})
    for point in found["points"]:
        own = Rows(rows, point["first_task_id"], point["last_task_id"])
        assert point["simulated_time_s"] == max(row["arrival_time"] for row in own.tasks)
        for metric, column in STORED.items():
            means = {name: float(np.nanmean(own.column(name, column))) for name in own.names}
            assert point[f"avg_{metric}"] == pytest.approx(means, rel=1e-9)


def compare_devices(node: dict[str, Any], load: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """The Gantt of the node and the load over time against the parts of the rows."""
    (motion,) = node["strategies"]
    assert node["now_s"] == load["edges_s"][-1] == max(row["arrival_time"] for row in rows)
    parts = parts_of(rows, motion["scheduler"])
    seen = {part for part in parts if part[3] > node["begin_s"] and part[2] < node["end_s"]}
    assert motion["left_out"] == 0
    columns = motion["parts"]
    shown = zip(columns["device"], columns["task_id"], columns["begin_s"], columns["end_s"], strict=True)
    assert set(shown) == seen
    waiting = [sum(part[0] == place and part[2] > node["now_s"] for part in parts) for place in range(NUM_GPUS + 1)]
    assert motion["waiting_now"] == waiting
    for device, shares in load["busy"].items():
        place = 0 if device == "cpu" else int(device[-1]) + 1
        for low, high, share in zip(load["edges_s"], load["edges_s"][1:], shares, strict=False):
            assert share == pytest.approx(busy_s(parts, place, low, high) / (high - low), abs=1e-6), (device, low)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_after_two_runs_a_shift_a_pause_and_a_crash_every_window_equals_a_query_over_the_rows(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    sqlite = f"sqlite+aiosqlite:///{tmp_path}/data/hybrid_scheduler.db"
    url = sqlite if database == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    live = LiveService(tmp_path, {"DATABASE_URL": url})
    live.start()
    try:
        status = eventful(live, url, database)
        boundary = live.get("/api/events")["shifts"][0]["task_id"]
        last = status["last_task_id"]
        first = {"run": last - status["tasks_processed"] + 1, "shift": boundary, "latest": last - 999}
        shown = {name: live.get("/api/standings", window=name) for name in first}
        asked = {"run": "run", "shift": "shift", "latest": 1000}
        stats = {name: live.get("/api/stats", window=window, scheduler="greedy") for name, window in asked.items()}
        trend = live.get("/api/history/trend", points=40)
        node = live.get("/api/node", scheduler="greedy", seconds=20)
        load = live.get("/api/history/load", scheduler="greedy")
        ledger = live.get("/api/history/ledger", run_id=status["run_id"], scheduler="random", sort="latency", limit=20)
        cards = live.get("/api/runs")["runs"]
        replayed = live.get(f"/api/runs/{status['run_id']}/snapshot", task_id=boundary + 300)
        beside = ask_beside(live, status)
    finally:
        live.close()
    rows = stored(url, status["run_id"])
    assert {row["scheduler_name"] for row in rows} == set(status["schedulers"])
    for name, window in shown.items():
        assert (window["name"], window["first_task_id"], window["last_task_id"]) == (name, first[name], last)
        assert window["tasks"] == last - first[name] + 1
        for row in window["comparison"]:
            own = [one for one in rows if one["scheduler_name"] == row["name"] and one["task_id"] >= first[name]]
            compare(row, own, window["end_s"] - window["begin_s"])
            finish = max(one["finish_time"] for one in own if not one["failed"])
            assert row["makespan"] == pytest.approx(finish - window["begin_s"], rel=1e-12)
    for name, found in stats.items():
        assert (found["covers"], found["first_task_id"]) == (name, first[name])
        compare_statistics(found, Rows(rows, first[name]))
    compare_trend(trend, rows)
    compare_trend(beside["recent"], [row for row in rows if row["task_id"] > last - 1000])
    compare_devices(node, load, rows)
    compare_waiting(node, rows)
    compare_clusters(beside["told"]["update"]["clusters"], rows, node["now_s"])
    compare_latest_tasks(beside["told"]["recent_tasks"], rows, last)
    notices = read_rows(url, "SELECT * FROM notifications WHERE run_id = :run", run=status["run_id"])
    compare_log(beside["told"], beside["events"], notices, rows)
    compare_decisions(ledger, beside["audit"], rows)
    compare_change(beside["change"], rows)
    others = [row for row in rows if row["scheduler_name"] == "random"]
    assert ledger["total"] == len(others)
    slowest = sorted((row["latency"] for row in others if not row["failed"]), reverse=True)[:20]
    assert [row["latency"] for row in ledger["rows"]] == slowest
    of_runs = {card["run_id"]: stored(url, card["run_id"]) for card in cards}
    assert len(of_runs) == 2
    for card in (*cards, *beside["runs"]):
        compare_card(card, of_runs[card["run_id"]])
    collected = trend["collection"]
    assert collected["tasks"] == collected["training_records"] == sum(card["tasks"] for card in cards)
    assert (collected["results"], collected["runs"]) == (sum(map(len, of_runs.values())), 2)
    # A moment of the past, as a replay shows it: only the tasks up to then count.
    moment, until = replayed["update"], [row for row in rows if row["task_id"] <= boundary + 300]
    compare_clusters(moment["clusters"], until, moment["simulated_time_s"])
    compare_latest_tasks(replayed["recent_tasks"], until, boundary + 300)
    for name in ("shift", "latest"):
        window = moment["windows"][name]
        begin = {"shift": boundary, "latest": boundary + 300 - 999}[name]
        assert (window["first_task_id"], window["last_task_id"]) == (max(first["run"], begin), boundary + 300)
        for row in window["comparison"]:
            own_rows = [one for one in rows if one["scheduler_name"] == row["name"]]
            inside = [one for one in own_rows if window["first_task_id"] <= one["task_id"] <= boundary + 300]
            compare(row, inside, window["end_s"] - window["begin_s"])
