"""Steering the race over HTTP."""

from __future__ import annotations

import time
from pathlib import Path

from tests.api.service import LiveService, service


def test_start_pause_resume_and_stop_are_harmless_when_repeated(running: LiveService) -> None:
    run_id = running.status()["run_id"]
    for path, state in (
        ("/api/simulation/start", "running"),
        ("/api/simulation/start", "running"),
        ("/api/simulation/pause", "paused"),
        ("/api/pause", "paused"),
        ("/api/resume", "running"),
        ("/api/simulation/resume", "running"),
        ("/api/simulation/stop", "stopped"),
        ("/api/simulation/stop", "stopped"),
        ("/api/simulation/pause", "stopped"),
        ("/api/simulation/resume", "stopped"),
        ("/api/simulation/start", "running"),
    ):
        status = running.post(path)
        assert status["state"] == state
        assert status["run_id"] == run_id
    before = running.status()["tasks_processed"]
    running.wait(lambda now: now["tasks_processed"] > before)


def test_pause_stops_the_counter_and_resume_continues_it(running: LiveService) -> None:
    held = running.post("/api/simulation/pause")["tasks_processed"]
    time.sleep(0.3)
    status = running.status()
    assert (status["tasks_processed"], status["is_running"], status["is_paused"]) == (held, True, True)
    running.post("/api/simulation/resume")
    running.wait(lambda now: now["tasks_processed"] > held)


def test_stop_loses_nothing_and_start_continues_the_same_run(running: LiveService) -> None:
    stopped = running.held()
    assert not stopped["is_running"]
    newest = running.get("/api/history/comparative", limit=1)[0]
    assert newest["task"]["task_id"] == stopped["last_task_id"]
    assert set(newest["results"]) == set(stopped["schedulers"])
    started = running.post("/api/simulation/start")
    assert started["run_id"] == stopped["run_id"]
    assert started["tasks_processed"] >= stopped["tasks_processed"]


def test_a_new_run_is_asked_for_and_ids_go_on(running: LiveService) -> None:
    before = running.held()
    after = running.post("/api/simulation/start", {"new_run": True, "seed": 99, "speed": 10})
    assert after["run_id"] > before["run_id"]
    assert after["seed"] == 99
    running.wait(lambda now: now["tasks_processed"] >= 5)
    running.held()
    ids = [row["task"]["task_id"] for row in running.get("/api/history/comparative", limit=1000)]
    assert ids == list(range(ids[0], ids[0] - len(ids), -1))
    assert ids[-1] <= before["last_task_id"] < ids[0]


def test_seed_and_strategies_belong_to_a_new_run(running: LiveService) -> None:
    answer = running.client.post("/api/simulation/start", json={"seed": 3})
    assert answer.status_code == 409
    assert "new_run" in answer.json()["detail"]


def test_speed_arrival_rate_and_workload_change_while_running(running: LiveService) -> None:
    answer = running.client.patch(
        "/api/simulation", json={"speed": 150, "workload": "cpu_friendly", "arrival_rate": 3.5}
    )
    assert answer.status_code == 200
    status = answer.json()
    assert status["speed"] == 150
    assert status["workload"] == {"preset": "cpu_friendly", "arrival_rate": 3.5, "trace": None}
    shift = running.get("/api/events")["shifts"][0]
    assert (shift["workload"], shift["arrival_rate"]) == ("cpu_friendly", 3.5)
    running.wait(lambda now: now["last_task_id"] > shift["task_id"] + 20)
    running.held()
    sizes = {row["task"]["task_id"]: row["task"]["size"] for row in running.get("/api/history/comparative", limit=200)}
    assert all(100 <= size <= 150 for task_id, size in sizes.items() if task_id >= shift["task_id"])
    assert shift["task_id"] in {mark["task_id"] for mark in running.get("/api/history/trend")["shifts"]}
    running.client.patch("/api/simulation", json={"workload": "mixed"})


def test_an_unknown_preset_is_refused_with_the_nearest_one(running: LiveService) -> None:
    answer = running.client.patch("/api/simulation", json={"workload": "cpu_freindly"})
    assert answer.status_code == 422
    assert "cpu_friendly" in answer.json()["detail"]


def test_as_fast_as_possible_is_faster_and_the_agents_frequencies_are_shown(running: LiveService) -> None:
    running.client.patch("/api/simulation", json={"speed": 0})
    before = running.status()["tasks_processed"]
    running.wait(lambda now: now["tasks_processed"] > before + 500)
    learning = running.wait(lambda now: now["learning"]["hybrid_ml"]["updates"] > 0)["learning"]["hybrid_ml"]
    assert learning["tasks_per_update"] >= 1


def test_the_short_status_is_the_long_one(running: LiveService) -> None:
    running.post("/api/simulation/pause")
    short, long = running.get("/api/status"), running.get("/api/simulation/status")
    assert {"is_running", "is_paused", "tasks_processed"} <= set(short)
    assert short["tasks_processed"] == long["tasks_processed"]


def test_strategies_named_at_a_start_race_in_the_next_run_beside_a_stored_one(tmp_path: Path) -> None:
    with service(tmp_path, {"HMS_SCHEDULERS": "greedy,random"}) as live:
        live.post("/api/simulation/start")
        live.post("/api/simulation/stop")
    (tmp_path / "mine.py").write_text(
        "from hybrid_ml_scheduler import Decision\n\n\n"
        "class Mine:\n    name = 'mine'\n\n"
        "    def decide(self, task, cluster):\n        return Decision(gpu_fraction=1.0)\n",
        encoding="utf-8",
    )
    with service(tmp_path, {"HMS_SCHEDULERS": "mine.py:Mine,oracle"}) as live:
        assert live.status()["schedulers"] == ["greedy", "random"]
        cards = {card["name"]: card["in_race"] for card in live.get("/api/strategies")}
        assert (cards["mine"], cards["greedy"], cards["oracle"]) == (False, True, False)
        assert "those you named race in a new run" in live.output
        live.post("/api/simulation/start", {"new_run": True})
        assert live.status()["schedulers"] == ["mine", "oracle"]
        live.post("/api/simulation/start", {"new_run": True, "schedulers": ["greedy"]})
        assert live.status()["schedulers"] == ["greedy"]
        live.post("/api/simulation/start", {"new_run": True})
        assert live.status()["schedulers"] == ["greedy"]
