"""Stores that go away under load and come back: no row lost, no 500, the truth within two seconds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests import services
from tests.api.service import LiveService, service
from tests.api.test_crash import checked


def health_within(live: LiveService, wanted: str, part: str, within_s: float) -> Any:
    """Wait until a part of the service says how it is; health must always answer."""
    deadline_s = time.monotonic() + within_s
    while True:
        answer = live.client.get("/api/health")
        assert answer.status_code in (200, 503)
        found = answer.json()
        if found[part]["status"] == wanted:
            return answer
        assert time.monotonic() < deadline_s, found
        time.sleep(0.05)


def test_postgresql_stopped_and_started_under_load_costs_no_row(tmp_path: Path) -> None:
    environment = {"HMS_SCHEDULERS": "round_robin,greedy,random"}
    with services.postgres() as server:
        with service(tmp_path, {**environment, "DATABASE_URL": server.url}) as live:
            live.post("/api/simulation/start", {"speed": 300})
            live.wait(lambda now: now["tasks_processed"] > 100)
            server.stop()
            down = health_within(live, "down", "database", 2.0)
            assert down.status_code == 503
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
            health_within(live, "ok", "database", 4.0)
            live.wait(lambda now: now["backlog_rows"] < 1000)
            live.post("/api/simulation/stop")
            status = live.status()
            assert status["backlog_rows"] == 0
        found = checked(server.url)
        assert found.whole
        assert found.tasks == status["tasks_processed"]


TASK = {"size": 100, "compute_intensity": 0.5, "memory_required": 10}


def test_redis_stopped_and_started_costs_nothing_but_a_word_in_health(tmp_path: Path) -> None:
    with services.redis() as server, service(tmp_path, {"REDIS_URL": server.url}) as live:
        live.post("/api/simulation/start", {"speed": 100})
        assert live.get("/api/health")["status"] == "ok"
        server.kill()
        answer = health_within(live, "degraded", "cache", 2.0)
        assert answer.status_code == 200
        for path in ("/api/status", "/api/stats", "/api/full_history"):
            assert live.client.get(path).status_code == 200
        server.start()
        health_within(live, "ok", "cache", 4.0)
        assert live.get("/api/health")["status"] == "ok"
