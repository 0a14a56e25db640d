"""Runs that leave a stored one: the same stream from a task of it on, and the same rows where nothing was changed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from hybrid_ml_scheduler.storage import Integrity, Store, integrity, open_store
from tests.api.service import LiveService

STRATEGIES = "round_robin,random,greedy,earliest_finish,sjf,hybrid_ml,rl_agent,oracle"
TASK = {"size": 800, "compute_intensity": 0.7, "memory_required": 120}
TASK_FACTS = "size, compute_intensity, memory_required, arrival_time, kind, deadline, divisible, gpus_required"
RESULT_FACTS = (
    "gpu_fraction, device, gpu_id, actual_time, latency, wait, energy_consumption, execution_cost, ready_time, "
    "start_time, finish_time, cpu_part, gpu_part, cpu_start, gpu_start, out_of_memory, failed"
)


async def _rows(store: Store, run_id: int, first: int, last: int) -> tuple[list[Any], list[Any]]:
    named = {"run": run_id, "first": first, "last": last}
    mine = "run_id = :run AND task_id BETWEEN :first AND :last"
    tasks = sa.text(f"SELECT task_id - :first, {TASK_FACTS} FROM tasks WHERE {mine} ORDER BY task_id")
    results = sa.text(
        f"SELECT task_id - :first, scheduler_name, {RESULT_FACTS} FROM scheduler_results "
        f"WHERE task_id IN (SELECT task_id FROM tasks WHERE {mine}) ORDER BY task_id, scheduler_name"
    )
    async with store.reading() as connection:
        return (
            [tuple(row) for row in await connection.execute(tasks, named)],
            [tuple(row) for row in await connection.execute(results, named)],
        )


def stored(url: str, *places: tuple[int, int, int]) -> tuple[list[tuple[list[Any], list[Any]]], Integrity]:
    async def read() -> tuple[list[tuple[list[Any], list[Any]]], Integrity]:
        store = await open_store(url)
        try:
            return [await _rows(store, *place) for place in places], await integrity(store)
        finally:
            await store.close()

    return asyncio.run(read())


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_branch_with_nothing_changed_has_the_rows_of_the_run_it_left_to_the_last_bit(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path}/data/hybrid_scheduler.db"
    url = url if database == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    told = {"HMS_SCHEDULERS": STRATEGIES, "DATABASE_URL": url, "HMS_RETRAINING": "synchronous"}
    live = LiveService(tmp_path, told).start()
    try:
        live.post("/api/simulation/start", {"speed": 150})
        live.wait(lambda status: status["tasks_processed"] >= 60)
        live.post("/api/tasks", TASK, run="true")
        live.wait(lambda status: status["tasks_processed"] >= 90)
        live.client.patch("/api/simulation", json={"workload": "cpu_friendly"})
        live.wait(lambda status: status["tasks_processed"] >= 160)
        parent = live.held()
        shift = live.get("/api/events", run_id=parent["run_id"])["shifts"][0]["task_id"]
        place = shift - 20  # the shift comes after the branch, the task from outside before it
        status = live.post(f"/api/runs/{parent['run_id']}/branch", {"task_id": place})
        assert status["branch"]["run_id"] == parent["run_id"]
        live.wait(lambda status: status["tasks_processed"] >= 30)
        live.kill()  # whoever comes back goes on with the branch, and with what the script still holds
        live.start()
        count = parent["last_task_id"] - place + 1
        live.wait(lambda status: status["tasks_processed"] >= count)
        branch = live.held()
        card = live.get(f"/api/runs/{branch['run_id']}")
        first = card["branch"]["first_task_id"]
        assert card["branch"]["task_id"] == place
        ((tasks, results), (again, results_again)), whole = stored(
            url,
            (parent["run_id"], place, parent["last_task_id"]),
            (branch["run_id"], first, first + count - 1),
        )
        # Tasks that were decided late, or not yet, when the first run was held are compared where both have them.
        decided = {row[:2] for row in results}
        assert len(tasks) == count
        assert again == tasks
        assert [row for row in results_again if row[:2] in decided] == results
        assert whole.whole
        # What the screen counts is what is stored of the branch.
        standings = live.get("/api/standings", window="run")
        assert standings["tasks"] == card["tasks"] == branch["tasks_processed"]
        assert standings["begin_s"] == card["branch"]["simulated_time_s"]
    finally:
        live.close()
