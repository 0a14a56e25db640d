"""Runs that end and begin: nothing of the old one is lost, nothing half-made is left, and there is always a way out."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hybrid_ml_scheduler.api.dependencies import Services
from hybrid_ml_scheduler.service.control import opening, run_storing
from hybrid_ml_scheduler.service.control.run_control import RunControl
from hybrid_ml_scheduler.storage import Integrity, StoreUnavailableError, integrity, open_store
from tests.api.conftest import Opener

TASK = {"size": 800, "compute_intensity": 0.7, "memory_required": 120}
PATIENCE_S = 120.0
FAILING = """
from hybrid_ml_scheduler import Decision


class Fails:
    name = "fails"

    def decide(self, task, cluster):
        if task.task_id == 30:
            raise RuntimeError("no")
        return Decision(gpu_fraction=0.5)


class Boom:
    name = "boom"

    def __init__(self):
        raise RuntimeError("not today")

    def decide(self, task, cluster):
        return Decision(gpu_fraction=0.5)


class Unprepared(Fails):
    name = "unprepared"

    def __init__(self):
        pass

    def prepare(self, context):
        raise KeyError("not today")


class Mine(Fails):
    name = "mine"

    def decide(self, task, cluster):
        return Decision(gpu_fraction=1.0)
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(FAILING, encoding="utf-8")
    return tmp_path / "data" / "hybrid_scheduler.db"


async def checked(database: Path) -> Integrity:
    store = await open_store(f"sqlite+aiosqlite:///{database}")
    try:
        return await integrity(store)
    finally:
        await store.close()


def stored(database: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(database)
    try:
        with connection:
            return connection.execute(query).fetchall()
    finally:
        connection.close()


async def status_of(client: httpx.AsyncClient) -> Any:
    return (await client.get("/api/status")).json()


async def until(client: httpx.AsyncClient, holds: Callable[[Any], bool]) -> Any:
    deadline_s, pause_s = time.monotonic() + PATIENCE_S, 0.01
    while not holds(status := await status_of(client)):
        assert time.monotonic() < deadline_s, status
        await asyncio.sleep(pause_s)
        pause_s = min(1.1 * pause_s, 0.25)  # a slow machine must not run into the limit on calls
    return status


async def post(client: httpx.AsyncClient, path: str, body: Any = None, expected: int = 200) -> Any:
    answer = await client.post(path, json=body)
    assert answer.status_code == expected, answer.text
    return answer.json()


def services_of(client: httpx.AsyncClient) -> Services:
    found = client._transport.app.state.services  # type: ignore[attr-defined]
    assert isinstance(found, Services)
    return found


def desk_of(client: httpx.AsyncClient) -> RunControl:
    found = services_of(client).race
    assert isinstance(found, RunControl)
    return found


@contextlib.contextmanager
def locked(database: Path) -> Iterator[None]:
    """Hold the database's one place for writing, so that nothing else is stored."""
    connection = sqlite3.connect(database, timeout=30.0, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.rollback()
        connection.close()


async def test_a_new_run_waits_for_the_rows_of_the_present_one_or_is_refused(
    application: Opener, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_BACKLOG_ROWS", 2000)
    monkeypatch.setattr(run_storing, "_STORED_WITHIN_S", 0.3)
    async with application() as client:
        before = await post(client, "/api/simulation/start", {"speed": 0})
        await until(client, lambda now: now["tasks_processed"] > 100)
        with locked(database):
            await until(client, lambda now: now["backlog_rows"] > 0)  # and so it stays: nothing is stored
            refused = await post(client, "/api/simulation/start", {"new_run": True}, expected=503)
            assert "rows of the present run are not stored yet" in refused["detail"]
            now = await status_of(client)
            assert (now["state"], now["run_id"]) == ("running", before["run_id"])
        monkeypatch.setattr(run_storing, "_STORED_WITHIN_S", PATIENCE_S)
        after = await post(client, "/api/simulation/start", {"new_run": True, "speed": 500})
        assert after["run_id"] == before["run_id"] + 1, "the refused one has left no run behind"
        await until(client, lambda now: now["tasks_processed"] > 10)
    found = await checked(database)
    assert found.whole, found


@pytest.mark.parametrize("name", ["Boom", "Unprepared"])
async def test_a_strategy_that_cannot_be_made_costs_nothing(application: Opener, database: Path, name: str) -> None:
    async with application() as client:
        before = await post(client, "/api/simulation/start", {"speed": 100})
    async with application(schedulers=(f"own.py:{name}",)) as client:
        refused = await post(client, "/api/simulation/start", {"new_run": True}, expected=422)
        assert "not today" in refused["detail"]
        now = await status_of(client)
        assert (now["state"], now["run_id"], now["problem"]) == ("running", before["run_id"], None)
        await until(client, lambda later: later["tasks_processed"] > now["tasks_processed"])
    assert stored(database, "SELECT COUNT(*) FROM runs") == [(1,)]


async def test_a_run_that_cannot_be_continued_is_told_of_and_a_new_one_is_the_way_out(
    application: Opener, database: Path
) -> None:
    async with application() as client:
        await post(client, "/api/simulation/start", {"speed": 200})
        await until(client, lambda now: now["tasks_processed"] > 20)
        before = await post(client, "/api/simulation/stop")
    stored(database, "UPDATE checkpoints SET blob = x'00'")
    async with application() as client:
        status = await status_of(client)
        sentence = "Run 1 cannot be continued: The stored checkpoint is damaged; start a new run."
        assert (status["state"], status["problem"]) == ("stopped", sentence)
        assert status["tasks_total"] == before["tasks_total"]
        health = await client.get("/api/health")
        assert (health.status_code, health.json()["engine"]["detail"]) == (200, sentence)
        for path in ("/api/simulation/start", "/api/tasks?run=true", "/api/tasks"):
            refused = await post(client, path, TASK if "tasks" in path else None, expected=409)
            assert "new_run" in refused["detail"]
        patched = await client.patch("/api/simulation", json={"workload": "light"})
        assert patched.status_code == 409
        for path in ("metrics", "strategies", "settings", "history/trend", "stats", "events", "tasks/5"):
            assert (await client.get(f"/api/{path}")).status_code == 200, "what is stored can be read"
        shown = json.loads(services_of(client).screen.snapshot("greedy"))["update"]["status"]
        assert (shown["state"], shown["problem"]) == ("stopped", sentence), "whoever watches sees it, too"
        await post(client, "/api/simulation/start", {"new_run": True})
        now = await until(client, lambda now: now["tasks_processed"] > 3)
        assert (now["run_id"], now["problem"]) == (2, None)
    found = await checked(database)
    assert found.whole, found


async def test_clearing_is_a_way_out_too(application: Opener, database: Path) -> None:
    async with application() as client:
        await post(client, "/api/simulation/start", {"speed": 200})
    stored(database, "UPDATE checkpoints SET blob = x'00'")
    async with application() as client:
        assert (await client.delete("/api/history")).status_code == 200
        status = await status_of(client)
        assert (status["run_id"], status["state"], status["problem"]) == (2, "stopped", None)


async def test_a_start_may_ask_for_a_new_run_whatever_is_stored(application: Opener, database: Path) -> None:
    async with application() as client:
        await post(client, "/api/simulation/start", {"speed": 200})
        await until(client, lambda now: now["tasks_processed"] > 20)
    stored(database, "UPDATE checkpoints SET blob = x'00'")
    async with application(new_run=True) as client:
        status = await status_of(client)
        assert (status["run_id"], status["state"], status["problem"]) == (2, "stopped", None)
    async with application(new_run=True, autostart=True) as client:
        status = await until(client, lambda now: now["tasks_processed"] > 2)
        assert (status["run_id"], status["state"]) == (3, "running")
    found = await checked(database)
    assert found.whole, found


async def test_a_run_with_a_strategy_of_ones_own_is_continued_from_another_folder(
    application: Opener, database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"sqlite:///{database}"
    async with application(schedulers=("own.py:Mine",), database_url=address) as client:
        await post(client, "/api/simulation/start", {"speed": 200})
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    async with application(database_url=address) as client:
        status = await status_of(client)
        assert (status["state"], status["schedulers"], status["problem"]) == ("running", ["mine"], None)


async def test_a_race_that_broke_refuses_what_would_change_it_and_the_next_run_leaves_no_gap(
    application: Opener, database: Path
) -> None:
    async with application(schedulers=("greedy", "own.py:Fails"), speed=200) as client:
        await post(client, "/api/simulation/start")
        status = await until(client, lambda now: now["problem"] is not None)
        assert "fails failed at task 30" in status["problem"]
        for path in ("/api/tasks?run=true", "/api/simulation/start"):
            refused = await post(client, path, TASK if "tasks" in path else {"speed": 55}, expected=409)
            assert "fails failed at task 30" in refused["detail"]
        patched = await client.patch("/api/simulation", json={"speed": 55, "workload": "light"})
        assert patched.status_code == 409
        assert (await status_of(client))["speed"] == 200, "what is refused changes nothing"
        await post(client, "/api/simulation/stop")
        after = await post(client, "/api/simulation/start", {"new_run": True, "schedulers": ["greedy"]})
        assert (after["problem"], after["tasks_total"] >= 30) == (None, True)
        await until(client, lambda now: now["tasks_processed"] > 5)
    found = await checked(database)
    assert found.whole, found
    assert stored(database, "SELECT COUNT(*) FROM tasks WHERE run_id = 1") == [(30,)]


async def test_what_the_environment_says_counts_from_the_next_new_run_on(application: Opener, database: Path) -> None:
    changed: dict[str, Any] = {"num_gpus": 2, "retrain_interval": 20, "seed": 7, "retraining": "synchronous"}
    async with application(schedulers=("greedy", "random")) as client:
        await post(client, "/api/simulation/start")
    async with application(**changed, workload="light", speed=3) as client:
        before = await status_of(client)
        assert [before[name] for name in changed] == [4, 50, 42, "background"]
        assert (before["workload"]["preset"], before["speed"]) == ("mixed", 10)
        assert before["schedulers"] == ["greedy", "random"]
        after = await post(client, "/api/simulation/start", {"new_run": True})
        assert [after[name] for name in changed] == list(changed.values())
        assert (after["workload"]["preset"], after["speed"], after["schedulers"]) == ("light", 3, ["greedy"])
        asked = await post(client, "/api/simulation/start", {"new_run": True, "seed": 9, "speed": 30})
        assert (asked["seed"], asked["speed"], asked["num_gpus"]) == (9, 30, 2)
    plans = [json.loads(plan) for (plan,) in stored(database, "SELECT plan FROM runs ORDER BY run_id")]
    assert [plan["simulation"]["num_gpus"] for plan in plans] == [4, 2, 2]
    assert [plan["simulation"]["seed"] for plan in plans] == [42, 7, 9]


async def test_a_pace_somebody_set_is_kept_by_the_next_run(application: Opener) -> None:
    async with application(speed=3) as client:
        await post(client, "/api/simulation/start")
        await client.patch("/api/simulation", json={"speed": 40})
        assert (await post(client, "/api/simulation/start", {"new_run": True}))["speed"] == 40


async def test_a_history_that_cannot_be_cleared_leaves_the_race_as_it_was(application: Opener, database: Path) -> None:
    async def away() -> None:
        raise StoreUnavailableError("The database is away.")

    async with application() as client:
        before = await post(client, "/api/simulation/start", {"speed": 100})
        with pytest.raises(StoreUnavailableError):
            await desk_of(client).clear(away)
        now = await status_of(client)
        assert (now["state"], now["run_id"]) == ("running", before["run_id"])
        await until(client, lambda later: later["tasks_processed"] > now["tasks_processed"])
    assert stored(database, "SELECT COUNT(*) FROM runs") == [(1,)]


async def test_clearing_twice_at_once_leaves_a_running_race_running(application: Opener) -> None:
    async with application() as client:
        await post(client, "/api/simulation/start", {"speed": 100})
        answers = await asyncio.gather(client.delete("/api/history"), client.delete("/api/history"))
        assert [answer.status_code for answer in answers] == [200, 200]
        assert (await status_of(client))["state"] == "running"
        await until(client, lambda now: now["tasks_processed"] > 2)


async def test_a_question_does_not_wait_behind_a_command(application: Opener) -> None:
    async with application() as client:
        await post(client, "/api/simulation/start", {"speed": 100})
        async with desk_of(client)._lock:  # as long as a command takes that waits for the store
            for path in ("/api/tasks", "/api/tasks?run=true"):
                answer = await asyncio.wait_for(client.post(path, json=TASK), 10.0)
                assert answer.status_code == 200


async def test_a_task_that_comes_while_a_run_is_replaced_belongs_to_the_next_one(
    application: Opener, database: Path
) -> None:
    async with application() as client:
        await post(client, "/api/simulation/start", {"speed": 100})
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def slowly() -> None:
            begun.set()
            await go_on.wait()

        clearing = asyncio.create_task(desk_of(client).clear(slowly))
        await begun.wait()
        asking: Awaitable[Any] = asyncio.create_task(post(client, "/api/tasks?run=true", TASK))
        assert (await post(client, "/api/tasks", TASK))["task_id"] is None, "a question alone is answered at once"
        await asyncio.sleep(0.1)
        go_on.set()
        await clearing
        task_id = (await asking)["task_id"]
    assert stored(database, f"SELECT run_id, size FROM tasks WHERE task_id = {task_id}") == [(2, 800.0)]
    found = await checked(database)
    assert found.whole, found


async def test_a_change_is_made_whole_or_not_at_all(application: Opener) -> None:
    async with application() as client:
        await post(client, "/api/simulation/start", {"speed": 20})
        refused = await client.patch("/api/simulation", json={"speed": 33, "workload": "nope"})
        assert refused.status_code == 422
        status = await status_of(client)
        assert (status["speed"], status["workload"]["preset"]) == (20, "mixed")


async def test_a_question_about_a_task_that_could_not_enter_is_refused_like_the_task(application: Opener) -> None:
    async with application() as client:
        await post(client, "/api/simulation/start", {"speed": 20})
        for change in ({"dependencies": [3_000_000]}, {"arrival_time": 1e9}):
            for path in ("/api/tasks", "/api/tasks?run=true"):
                await post(client, path, {**TASK, **change}, expected=422)


async def test_only_what_happened_after_the_checkpoint_is_read_to_come_back(
    application: Opener, database: Path
) -> None:
    async with application() as client:
        await post(client, "/api/simulation/start", {"speed": 100})
        await client.patch("/api/simulation", json={"workload": "light"})
        await until(client, lambda now: now["tasks_processed"] > 20)
        before = await post(client, "/api/simulation/stop")
    ((boundary,),) = stored(database, "SELECT MAX(boundary) FROM checkpoints")
    assert stored(database, f"SELECT COUNT(*) FROM events WHERE boundary < {boundary}") == [(1,)]
    stored(database, "UPDATE events SET payload = 'unreadable'")
    async with application() as client:
        after = await status_of(client)
        assert after["problem"] is None
        assert (after["tasks_processed"], after["workload"]) == (before["tasks_processed"], before["workload"])


async def test_a_prediction_knows_when_the_parents_will_have_finished(application: Opener) -> None:
    async with application(schedulers=("greedy", "oracle", "earliest_device"), speed=50) as client:
        # The next task of the stream comes long after both tasks have been decided.
        await post(client, "/api/simulation/start", {"arrival_rate": 0.0001})
        await until(client, lambda now: now["tasks_processed"] >= 1)
        await post(client, "/api/simulation/stop")
        parent = (await post(client, "/api/tasks?run=true", {**TASK, "size": 5000}))["task_id"]
        child = await post(client, "/api/tasks?run=true", {**TASK, "dependencies": [parent]})
        grandchild = await post(client, "/api/tasks", {**TASK, "dependencies": [child["task_id"]]})
        await post(client, "/api/simulation/start")
        await until(client, lambda now: now["last_task_id"] > child["task_id"])
        await post(client, "/api/simulation/stop")
        found = (await client.get(f"/api/tasks/{child['task_id']}")).json()["strategies"]
        for name, advice in child["decisions"].items():
            assert advice["predicted_latency"] == pytest.approx(found[name]["latency"], rel=1e-9)
            assert advice["predicted_latency"] > 2 * advice["predicted_time"], "it waits for its parent"
            assert grandchild["decisions"][name]["predicted_latency"] is None, "its parent is not decided"
