"""A service that follows: it shows the race of another process, changes nothing, and finds its way back."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import services
from tests.api.service import LiveService, service
from tests.api.test_socket import next_of, watching

TASK = {"size": 100, "compute_intensity": 0.5, "memory_required": 10}


@pytest.fixture(scope="module")
def cache() -> Iterator[services.LocalServer]:
    """A Redis of our own, which tests may stop."""
    with services.redis() as server:
        yield server


@pytest.fixture(scope="module")
def pair(
    tmp_path_factory: pytest.TempPathFactory, cache: services.LocalServer
) -> Iterator[tuple[LiveService, LiveService]]:
    """A service that runs a race, and one that follows it; leave both running."""
    folder = tmp_path_factory.mktemp("pair")
    with services.postgres() as database, contextlib.ExitStack() as stack:
        shared = {"DATABASE_URL": database.url, "REDIS_URL": cache.url}
        leader = stack.enter_context(service(folder / "runs", shared))
        leader.post("/api/simulation/start", {"speed": 100})
        leader.wait(lambda status: status["tasks_processed"] > 50)
        yield leader, stack.enter_context(service(folder / "follows", {**shared, "HMS_FOLLOW": "true"}))


def settled(leader: LiveService, follower: LiveService) -> Any:
    """Hold the race until the follower knows it; returns what both say of it."""
    status = leader.held("pause")
    return follower.wait(lambda heard: heard == status)


def test_both_say_the_same_of_race_strategies_and_history(pair: tuple[LiveService, LiveService]) -> None:
    leader, follower = pair
    settled(leader, follower)
    for path in ("/api/strategies", "/api/presets", "/api/history/ledger", "/api/full_history", "/api/stats"):
        assert follower.get(path) == leader.get(path), path
    assert (leader.get("/api/settings")["follows"], follower.get("/api/settings")["follows"]) == (False, True)
    assert follower.health("ok").json()["engine"]["detail"].startswith("Followed: paused")
    leader.post("/api/simulation/resume")
    follower.wait(lambda status: status["state"] == "running")


def test_metrics_are_those_of_the_race_and_of_its_own_viewers(pair: tuple[LiveService, LiveService]) -> None:
    leader, follower = pair
    status = settled(leader, follower)
    told = follower.client.get("/api/metrics").text.splitlines()
    assert f"hms_run_tasks {float(status['tasks_processed'])}" in told
    assert "hms_websocket_clients 0.0" in told
    assert any(line.startswith('hms_device_utilization{device="gpu_3",scheduler="greedy"}') for line in told)
    leader.post("/api/simulation/resume")


async def test_its_viewers_see_updates_shifts_and_any_focus(pair: tuple[LiveService, LiveService]) -> None:
    leader, follower = pair
    leader.post("/api/simulation/start", {"speed": 100})
    async with watching(follower) as socket:
        assert json.loads(await socket.recv())["type"] == "snapshot"
        update = await next_of(socket, "simulation_update", lambda one: one["task"] is not None)
        assert set(update["clusters"]) == set(leader.status()["schedulers"])
        await socket.send(json.dumps({"type": "focus", "scheduler": "oracle"}))
        focused = await next_of(socket, "simulation_update", lambda one: one["focus"] == "oracle")
        assert focused["utilization"] == focused["clusters"]["oracle"]
        leader.client.patch("/api/simulation", json={"workload": "cpu_friendly"})
        await next_of(socket, "notification", lambda one: one["event"] == "workload_shifted")
    async with watching(follower) as late:
        told = json.loads(await late.recv())
        assert "workload_shifted" in [notice["event"] for notice in told["notifications"]]
        assert told["recent_tasks"]
    leader.client.patch("/api/simulation", json={"workload": "mixed"})


def test_whoever_wants_to_change_something_is_sent_to_the_other(pair: tuple[LiveService, LiveService]) -> None:
    leader, follower = pair
    before = settled(leader, follower)
    calls: list[tuple[str, str, Any]] = [
        ("POST", f"/api/simulation/{word}", {}) for word in ("start", "stop", "pause", "resume")
    ]
    calls += [
        ("PATCH", "/api/simulation", {"speed": 5}),
        ("DELETE", "/api/history", None),
        ("POST", "/api/tasks", TASK),
    ]
    for method, path, body in calls:
        answer = follower.client.request(method, path, json=body)
        assert (answer.status_code, answer.headers["content-type"]) == (409, "application/problem+json"), path
        assert answer.json()["detail"] == "This service follows a race that another one runs; ask that one."
    assert leader.status() == before
    leader.post("/api/simulation/resume")


def test_a_stored_task_is_shown_without_reasons_that_only_the_other_knows(
    pair: tuple[LiveService, LiveService],
) -> None:
    leader, follower = pair
    settled(leader, follower)
    told, own = leader.get("/api/tasks/5"), follower.get("/api/tasks/5")
    assert own["oracle"] == told["oracle"]
    for name, strategy in own["strategies"].items():
        assert (strategy["reason_origin"], strategy["reason"]) == ("none", {})
        changed = ("reason", "reason_text", "reason_origin")
        assert {**strategy, **{key: told["strategies"][name][key] for key in changed}} == told["strategies"][name]
    leader.post("/api/simulation/resume")


async def test_it_says_when_the_other_is_gone_and_goes_on_when_it_is_back(
    pair: tuple[LiveService, LiveService],
) -> None:
    leader, follower = pair
    leader.post("/api/simulation/start", {"speed": 100})
    async with watching(follower) as socket:
        before = await next_of(socket, "simulation_update")
        leader.kill()
        silent = await next_of(socket, "simulation_update", lambda one: one["status"]["out_of_sight"] is not None)
        assert "has not been heard since" in silent["status"]["out_of_sight"]
        health = follower.health("down", "engine").json()
        assert (health["status"], health["database"]["status"]) == ("degraded", "ok")
        assert follower.get("/api/history/ledger")["rows"], "what is stored can still be read"
        leader.start()
        after = await next_of(
            socket,
            "simulation_update",
            lambda one: one["status"]["out_of_sight"] is None and one["tasks_processed"] > silent["tasks_processed"],
        )
        assert before["seq"] < silent["seq"] < after["seq"]
    follower.health("ok")


async def test_it_outlives_an_outage_of_redis(
    pair: tuple[LiveService, LiveService], cache: services.LocalServer
) -> None:
    leader, follower = pair
    async with watching(follower) as socket:
        cache.stop()
        await next_of(socket, "simulation_update", lambda one: one["status"]["out_of_sight"] is not None)
        assert follower.health("degraded", "cache").status_code == 200
        assert follower.get("/api/stats")["tasks"] > 0
        cache.start()
        await next_of(socket, "simulation_update", lambda one: one["status"]["out_of_sight"] is None)
    follower.health("ok")
    leader.health("ok")


def test_the_log_is_its_own(pair: tuple[LiveService, LiveService]) -> None:
    _, follower = pair
    assert [path.name for path in (follower.folder / "logs").iterdir()] == [f"follow-{follower.port}.log"]
    assert "another service's, through Redis" in follower.output


def test_one_that_hears_nobody_says_so(tmp_path: Path, cache: services.LocalServer) -> None:
    url = f"sqlite:///{tmp_path / 'history.db'}"
    with service(tmp_path / "runs", {"DATABASE_URL": url}):
        pass  # makes the database
    with service(tmp_path / "follows", {"DATABASE_URL": url, "REDIS_URL": cache.url, "HMS_FOLLOW": "1"}) as follower:
        assert "has not been heard yet" in follower.health("down", "engine").json()["engine"]["detail"]
        assert follower.status()["state"] == "idle"
