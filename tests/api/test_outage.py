"""Stores that go away under load and come back: no row lost, no 500, and health tells the truth."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil

from tests import services
from tests.api.service import LiveService, service
from tests.api.test_crash import checked


def asked_status(live: LiveService) -> float:
    """Ask where the race stands, which needs neither database nor Redis, and return how long that took."""
    begin_s = time.monotonic()
    answer = live.client.get("/api/status")
    assert answer.status_code == 200, answer.text
    return time.monotonic() - begin_s


def timely_health(live: LiveService) -> httpx.Response:
    """Ask for health, which answers within two seconds whatever has happened; a busy machine may have one moment."""
    for _ in range(3):
        begin_s = time.monotonic()
        answer = live.client.get("/api/health")
        if time.monotonic() - begin_s < 2.0:
            return answer
    raise AssertionError(f"health took longer than two seconds, three times: {answer.text}")


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[None]:
    """Hold a server and all its children."""
    process = psutil.Process(pid)
    held = [process, *process.children(recursive=True)]
    for one in held:
        one.suspend()
    try:
        yield
    finally:
        for one in held:
            one.resume()


def test_postgresql_stopped_and_started_under_load_costs_no_row(tmp_path: Path) -> None:
    environment = {"HMS_SCHEDULERS": "round_robin,greedy,random"}
    with services.postgres() as server, services.redis() as cache:
        with service(tmp_path, {**environment, "DATABASE_URL": server.url, "REDIS_URL": cache.url}) as live:
            live.post("/api/simulation/start", {"speed": 300})
            live.wait(lambda now: now["tasks_processed"] > 100)
            assert timely_health(live).json()["database"]["status"] == "ok"
            with frozen(server.pid), frozen(cache.pid):  # they say nothing, which is worse than to be gone
                for _ in range(2):
                    assert timely_health(live).status_code == 503
                took_s = []
                for _ in range(20):  # long enough for Redis to be tried again
                    took_s.append(asked_status(live))
                    time.sleep(0.1)
                assert sorted(took_s)[-2] < 1.0, "somebody waits for those that hang"  # the machine may have a moment
            live.health("ok")
            server.stop()
            assert timely_health(live).status_code == 503
            assert live.health("down", "database").status_code == 503
            for path in ("/api/full_history", "/api/stats", "/api/history/ledger", "/api/tasks/1", "/api/models"):
                answer = live.client.get(path)
                assert answer.status_code == 503, answer.text
                assert answer.headers["content-type"] == "application/problem+json"
                assert answer.json()["detail"].endswith(".")
            assert live.client.get("/api/status").status_code == 200
            assert live.client.post("/api/tasks", json=TASK).status_code == 200
            paused = live.client.post("/api/simulation/pause")
            assert (paused.status_code, paused.json()["state"]) == (200, "paused")
            live.post("/api/simulation/resume")
            live.wait(lambda now: now["backlog_rows"] > 0)
            server.start()
            live.health("ok")
            status = live.held()
        found = checked(server.url)
        assert found.whole
        assert found.tasks == status["tasks_processed"]


TASK = {"size": 100, "compute_intensity": 0.5, "memory_required": 10}


def test_redis_stopped_and_started_costs_nothing_but_a_word_in_health(tmp_path: Path) -> None:
    with services.redis() as server, service(tmp_path, {"REDIS_URL": server.url}) as live:
        live.post("/api/simulation/start", {"speed": 100})
        live.health("ok")
        server.kill()
        assert live.health("degraded", "cache").status_code == 200
        for path in ("/api/status", "/api/stats", "/api/full_history"):
            assert live.client.get(path).status_code == 200
        server.start()
        assert live.health("ok").json()["cache"]["status"] == "ok"
