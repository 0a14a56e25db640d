"""The figures of every window are those of the stored rows, whatever the run has been through."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from hybrid_ml_scheduler.storage import open_store
from tests.api.service import PATIENCE_S, LiveService
from tests.conftest import alone_in

NUM_GPUS = 4
COLUMNS = (
    "task_id, scheduler_name, actual_time, latency, wait, energy_consumption, execution_cost, cpu_part, gpu_part,"
    " finish_time, gpu_fraction, gpu_id, failed, out_of_memory, optimal_time, arrival_time"
)
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

    async def read() -> list[dict[str, Any]]:
        store = await open_store(url)
        try:
            async with store.reading() as connection:
                query = sa.text(
                    f"SELECT {COLUMNS} FROM scheduler_results JOIN tasks USING (task_id)"
                    " JOIN training_data USING (task_id) WHERE tasks.run_id = :run"
                )
                return [dict(row) for row in (await connection.execute(query, {"run": run_id})).mappings()]
        finally:
            await store.close()

    return asyncio.run(read())


def eventful(live: LiveService, url: str, database: str) -> Any:
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
    live.wait(lambda now: now["tasks_processed"] > 2600)
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
    exact = len(rows) <= 1000
    p95 = np.percentile([row["latency"] for row in done], 95)
    assert shown["p95_latency"] == pytest.approx(p95, rel=1e-9 if exact else 0.01)
    assert shown["cpu_load"] == pytest.approx(sum(row["cpu_part"] for row in done) / length_s, rel=1e-9)
    gpu_s = sum(row["gpu_part"] for row in done)
    assert shown["gpu_load"] == pytest.approx(gpu_s / length_s / NUM_GPUS, rel=1e-9)
    split = sum(row["gpu_id"] is not None and row["gpu_id"] >= 0 and row["cpu_part"] > 0 for row in done)
    assert shown["decisions"]["split"] == split
    oracle_s, own_s = (sum(row[name] for row in done) for name in ("optimal_time", "actual_time"))
    assert shown["efficiency"] == pytest.approx(oracle_s / own_s, rel=1e-9)


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
        stats = {name: live.get("/api/stats", window=name) for name in ("run", "shift")}
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
        assert (found["covers"], found["first_task_id"], found["window_tasks"]) == (name, first[name], found["tasks"])
        means = {one["scheduler"]: one["mean"] for one in found["percentiles"] if one["metric"] == "latency"}
        wanted = {row["name"]: row["avg_latency"] for row in shown[name]["comparison"]}
        assert means == pytest.approx(wanted, rel=1e-9)
