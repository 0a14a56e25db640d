"""Killed at any instant: nothing missing, nothing twice, and what is computed again is what was stored."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from hybrid_ml_scheduler.schedulers.tuned import TunedRule, save_tuned
from hybrid_ml_scheduler.storage import Integrity, integrity, open_store
from tests.api.service import LiveService
from tests.conftest import alone_in

STRATEGIES = "round_robin,random,greedy,hybrid_ml,rl_agent,oracle,hetero_prio,rl_hold"  # the last two hold tasks
KILLS, SOAK_KILLS = 2, 100
TASK = {"size": 800, "compute_intensity": 0.7, "memory_required": 120}


def checked(url: str) -> Integrity:
    async def check() -> Integrity:
        store = await open_store(url)
        try:
            return await integrity(store)
        finally:
            await store.close()

    return asyncio.run(check())


def database_url(folder: Path) -> str:
    return f"sqlite+aiosqlite:///{folder}/data/hybrid_scheduler.db"


@pytest.fixture
def kills(request: pytest.FixtureRequest) -> int:
    return SOAK_KILLS if request.config.getoption("--soak") else KILLS


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_killed_at_random_instants_it_resumes_without_gap_duplicate_or_orphan(
    database: str, tmp_path: Path, kills: int, request: pytest.FixtureRequest
) -> None:
    rng = random.Random(11)
    url = database_url(tmp_path) if database == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    live = LiveService(tmp_path, {"HMS_SCHEDULERS": STRATEGIES, "DATABASE_URL": url})
    live.start()
    try:
        live.post("/api/simulation/start", {"speed": 0})
        stored = 0
        for _ in range(kills):
            time.sleep(rng.uniform(0.05, 0.8))
            if rng.random() < 0.5:
                live.client.patch("/api/simulation", json={"arrival_rate": rng.uniform(3, 7)})
            for _ in range(rng.randrange(5)):
                live.post("/api/tasks", TASK, run="true")
            live.kill()
            if database == "postgresql":
                alone_in(url)
            found = checked(url)
            assert found.whole, found
            assert found.tasks >= stored
            stored = found.tasks
            live.start()
            status = live.status()
            assert status["state"] == "running"
            assert status["tasks_processed"] >= stored
        live.held()
        # Health stays degraded by a row that was computed again with another value.
        live.health("ok", "database")
    finally:
        live.close()
    assert checked(url).whole


def test_it_comes_back_paused_if_it_was_paused_and_with_its_pace_and_workload(tmp_path: Path) -> None:
    live = LiveService(tmp_path, {"HMS_SCHEDULERS": "greedy,random"})
    live.start()
    try:
        live.post("/api/simulation/start", {"speed": 80})
        live.client.patch("/api/simulation", json={"workload": "light", "arrival_rate": 2.5, "speed": 90})
        live.wait(lambda now: now["tasks_processed"] > 20)
        before = live.held("pause")
        live.kill()
        live.start()
        after = live.status()
        for name in ("state", "run_id", "speed", "workload", "tasks_processed", "seed", "schedulers"):
            assert after[name] == before[name], name
        live.post("/api/simulation/stop")
        live.kill()
        live.start()
        assert live.status()["state"] == "stopped"
    finally:
        live.close()


def history(folder: Path, tasks: int) -> list[tuple[Any, ...]]:
    """The first tasks of the stored history, without what only the wall clock decides."""
    with sqlite3.connect(f"file:{folder}/data/hybrid_scheduler.db?mode=ro", uri=True) as connection:
        results = connection.execute(
            "SELECT t.*, r.scheduler_name, r.gpu_fraction, r.device, r.actual_time, r.latency, r.wait,"
            " r.energy_consumption, r.execution_cost, r.start_time, r.finish_time,"
            " l.optimal_gpu_fraction, l.optimal_time"
            " FROM tasks t JOIN scheduler_results r USING (task_id) JOIN training_data l USING (task_id)"
            " WHERE t.task_id < ? ORDER BY t.task_id, r.scheduler_name",
            (tasks,),
        ).fetchall()
    connection.close()
    return results


def stored_whole(live: LiveService, tasks: int, strategies: int) -> list[tuple[Any, ...]]:
    """The first tasks as soon as all strategies have placed them: rows of a task that somebody holds come late."""
    live.wait(lambda _: len(history(live.folder, tasks)) >= tasks * strategies)
    live.held()
    return history(live.folder, tasks)


@pytest.mark.parametrize(("workload", "knowledge", "wanted"), [("mixed", "exact", 400), ("unknown", "learned", 300)])
def test_with_synchronous_retraining_a_killed_run_equals_one_that_was_never_interrupted(
    tmp_path: Path, workload: str, knowledge: str, wanted: int
) -> None:
    # With so little patience tasks are overdue all the time.
    save_tuned(TunedRule(strategy="sjf", options={"aging": 1.0}), tmp_path / "aged.json")
    strategies = f"{STRATEGIES},{tmp_path / 'aged.json'}"
    hidden = {"HMS_WORKLOAD": workload, "HMS_KNOWLEDGE": knowledge}
    environment = {"HMS_SCHEDULERS": strategies, "HMS_RETRAINING": "synchronous", "HMS_SPEED": "0", **hidden}
    rng = random.Random(2)
    whole, killed = (LiveService(tmp_path / name, environment) for name in ("whole", "killed"))
    killed.forks = False  # each of its processes has another hash seed, as a user's have
    try:
        whole.start().post("/api/simulation/start")
        first = stored_whole(whole, wanted, 9)
        killed.start().post("/api/simulation/start")
        for _ in range(2):
            time.sleep(rng.uniform(0.1, 0.5))
            killed.kill()
            killed.start()
        second = stored_whole(killed, wanted, 9)
    finally:
        whole.close()
        killed.close()
    assert first == second
