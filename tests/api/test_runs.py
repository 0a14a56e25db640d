"""Stored runs over HTTP: listed, named, looked at again, compared, removed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.service import LiveService, service


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """Two runs on the same tasks, a shift in the second, and a third that stands at its beginning."""
    environment = {"HMS_SCHEDULERS": "round_robin,greedy,oracle", "HMS_SPEED": "0", "HMS_SEED": "5"}
    with service(tmp_path_factory.mktemp("runs"), environment) as live:
        live.post("/api/simulation/start", {"new_run": True, "speed": 0})
        live.wait(lambda status: status["tasks_processed"] >= 1600)
        live.post("/api/simulation/start", {"new_run": True, "schedulers": ["greedy", "round_robin"], "speed": 0})
        live.wait(lambda status: status["tasks_processed"] >= 1600)
        live.post("/api/simulation/start", {"new_run": True, "seed": 6, "speed": 1, "num_gpus": 2})
        live.held("pause")
        yield live


def present(live: LiveService) -> int:
    return int(live.status()["run_id"])


def test_runs_are_listed_newest_first_with_what_their_rows_add_up_to(runs: LiveService) -> None:
    listed = runs.get("/api/runs")
    cards = listed["runs"]
    assert [card["run_id"] for card in cards] == sorted((card["run_id"] for card in cards), reverse=True)
    assert listed["total"] == len(cards)
    assert [card["is_present"] for card in cards].count(True) == 1
    first = cards[-1]
    assert (first["seed"], first["workload"], first["num_gpus"]) == (5, "mixed", 4)
    for standing in first["standings"]:
        page = runs.get(
            "/api/history/ledger", run_id=first["run_id"], scheduler=standing["name"], limit=1, sort="latency"
        )
        assert page["total"] == standing["tasks"]
        assert standing["avg_latency"] <= page["rows"][0]["latency"]


def test_a_past_run_is_shown_as_it_was_shown_last(runs: LiveService) -> None:
    card = runs.get("/api/runs")["runs"][-1]
    snapshot = runs.get(f"/api/runs/{card['run_id']}/snapshot")
    update = snapshot["update"]
    assert (update["status"]["run_id"], update["status"]["state"]) == (card["run_id"], "stopped")
    assert update["tasks_processed"] == card["tasks"]
    shown = {row["name"]: row for row in update["comparison"]}
    for standing in card["standings"]:
        for name in ("avg_latency", "avg_time", "avg_energy", "avg_cost", "makespan"):
            assert standing[name] == pytest.approx(shown[standing["name"]][name], rel=1e-9), name
    assert snapshot["recent_tasks"]
    again = runs.get("/api/stats", run_id=card["run_id"], window=1000)
    assert again["last_task_id"] == card["last_task_id"]


def test_runs_on_the_same_tasks_are_compared_with_intervals_and_others_are_not(runs: LiveService) -> None:
    second, first = [card["run_id"] for card in runs.get("/api/runs")["runs"]][-2:]
    found = runs.client.get("/api/runs/compare", params={"run": [first, second]}).json()
    (paired,) = found["paired"]
    assert paired["tasks"] >= 1500
    values = {(value["scheduler"], value["metric"]): value for value in paired["values"]}
    assert {name for name, _ in values} == {"greedy", "round_robin"}
    latency = values["greedy", "latency"]
    assert latency["difference"] == pytest.approx(0.0, abs=1e-9), "the same rule on the same tasks"
    assert latency["verdict"] == "none"
    other = runs.client.get("/api/runs/compare", params={"run": [first, present(runs)]}).json()["paired"][0]
    assert other["values"] == []
    assert "task for task" in other["sentence"]


def test_a_new_run_may_have_a_node_of_another_size(runs: LiveService) -> None:
    status = runs.status()
    assert status["num_gpus"] == 2
    assert runs.get(f"/api/runs/{status['run_id']}")["num_gpus"] == 2
    for wrong in (0, 65, 1.5):
        answer = runs.client.post("/api/simulation/start", json={"new_run": True, "num_gpus": wrong})
        assert answer.status_code == 422, wrong
    late = runs.client.post("/api/simulation/start", json={"num_gpus": 3})
    assert late.status_code == 409
    assert runs.status()["run_id"] == status["run_id"]


def test_a_new_run_may_promise_a_latency_and_every_moment_says_who_kept_it(runs: LiveService) -> None:
    body = {"new_run": True, "schedulers": ["greedy", "oracle"], "slo_s": 0.5, "speed": 0}
    run_id = runs.post("/api/simulation/start", body)["run_id"]
    runs.wait(lambda status: status["tasks_processed"] >= 400)
    runs.held("stop")
    live = runs.get(f"/api/runs/{run_id}/snapshot")["update"]
    page = runs.get("/api/history/ledger", run_id=run_id, scheduler="greedy", limit=200, sort="task_id", order="asc")
    rows = page["rows"]
    at = runs.get(f"/api/runs/{run_id}/snapshot", task_id=rows[-1]["task_id"])["update"]
    kept = sum(row["latency"] <= 0.5 for row in rows) / len(rows)
    shares = {row["name"]: row["within_deadline"] for row in at["comparison"]}
    assert 0.0 < kept < 1.0
    assert shares["greedy"] == pytest.approx(kept, rel=1e-12)
    assert all(0.0 < row["within_deadline"] < 1.0 for row in live["comparison"])
    late = runs.client.post("/api/simulation/start", json={"slo_s": 1.0})
    assert late.status_code == 409


def test_a_name_and_a_note_are_kept_and_wrong_ones_refused(runs: LiveService) -> None:
    run_id = runs.get("/api/runs")["runs"][-1]["run_id"]
    answer = runs.client.patch(f"/api/runs/{run_id}", json={"name": " Baseline ", "note": "first\nsecond"})
    assert (answer.json()["name"], answer.json()["note"]) == ("Baseline", "first\nsecond")
    assert runs.client.patch(f"/api/runs/{run_id}", json={"note": ""}).json()["name"] == "Baseline"
    for wrong in ({"name": "x" * 121}, {"name": "a\nb"}, {"note": "\u0000"}, {"title": "no"}):
        answer = runs.client.patch(f"/api/runs/{run_id}", json=wrong)
        assert answer.status_code == 422, wrong
        assert answer.headers["content-type"] == "application/problem+json"
    assert runs.client.patch("/api/runs/4711", json={"name": "a"}).status_code == 404


def test_a_run_is_removed_with_its_rows_and_the_present_one_is_not(runs: LiveService) -> None:
    refused = runs.client.delete(f"/api/runs/{present(runs)}")
    assert refused.status_code == 409
    assert "present" in refused.json()["detail"]
    cards = runs.get("/api/runs")["runs"]
    gone = cards[-1]
    removed = runs.client.delete(f"/api/runs/{gone['run_id']}").json()
    assert (removed["tasks"], removed["results"]) == (gone["tasks"], 3 * gone["tasks"])
    assert runs.client.get(f"/api/runs/{gone['run_id']}").status_code == 404
    assert runs.get("/api/history/ledger", run_id=gone["run_id"])["total"] == 0
    assert len(runs.get("/api/runs")["runs"]) == len(cards) - 1


def test_a_branch_is_compared_with_the_run_that_it_left_from_there_on(runs: LiveService) -> None:
    parent = runs.get("/api/runs")["runs"][-1]
    place = parent["first_task_id"] + 237
    runs.post(f"/api/runs/{parent['run_id']}/branch", {"task_id": place, "speed": 0})
    runs.wait(lambda status: status["tasks_processed"] >= 1100)
    branch = runs.held("pause")["run_id"]
    (paired,) = runs.client.get("/api/runs/compare", params={"run": [parent["run_id"], branch]}).json()["paired"]
    assert paired["tasks"] >= 1000
    assert f"Run {branch} left run {parent['run_id']} at task {place:,}; from there on both" in paired["sentence"]
    latency = [one for one in paired["values"] if one["metric"] == "latency"]
    assert len(latency) == len(parent["schedulers"])
    for value in latency:
        assert value["difference"] == pytest.approx(0.0, abs=1e-9), "nothing was changed"
