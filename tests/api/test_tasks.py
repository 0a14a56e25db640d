"""Tasks from outside, and tasks looked at closely."""

from __future__ import annotations

import itertools

import pytest

from tests.api.service import LiveService

TASK = {"size": 800, "compute_intensity": 0.7, "memory_required": 120}


def test_every_strategy_answers_with_decision_reason_and_prediction(running: LiveService) -> None:
    answer = running.post("/api/tasks", TASK)
    assert answer["task_id"] is None
    assert set(answer["decisions"]) == set(running.status()["schedulers"])
    for advice in answer["decisions"].values():
        assert advice["predicted_time"] > 0
        assert advice["predicted_latency"] >= advice["predicted_time"] * (1 - 1e-9)
        assert advice["predicted_energy"] > 0
        assert advice["predicted_cost"] > 0
        assert advice["reason_text"]
    assert answer["decisions"]["greedy"]["gpu_fraction"] == 0.7
    assert answer["decisions"]["oracle"]["reason"]["grid"]
    assert answer["decisions"]["hybrid_ml"]["reason"]["fastest_s"] > 0


def test_asking_changes_nothing(running: LiveService) -> None:
    running.held("pause")
    first, second = running.post("/api/tasks", TASK), running.post("/api/tasks", TASK)
    assert first == second


def test_a_task_put_into_the_race_gets_what_was_predicted(running: LiveService) -> None:
    running.held("pause")
    answer = running.post("/api/tasks", TASK, run="true")
    assert answer["in_race"]
    running.held("pause")
    audit = running.get(f"/api/tasks/{answer['task_id']}")
    assert audit["task"]["size"] == 800
    for name, advice in answer["decisions"].items():
        stored = audit["strategies"][name]
        assert stored["device"] == advice["device"]
        assert stored["time"] == pytest.approx(advice["predicted_time"], rel=1e-12)
        assert stored["latency"] == pytest.approx(advice["predicted_latency"], rel=1e-9)
        assert stored["energy"] == pytest.approx(advice["predicted_energy"], rel=1e-12)
        assert stored["cost"] == pytest.approx(advice["predicted_cost"], rel=1e-12)


def test_the_race_goes_on_with_the_next_id_after_a_foreign_task(running: LiveService) -> None:
    answer = running.post("/api/tasks", TASK, run="true")
    running.wait(lambda now: now["last_task_id"] > answer["task_id"] + 3)


def test_an_audit_shows_reasons_the_oracle_and_the_devices_around_the_task(running: LiveService) -> None:
    running.post("/api/simulation/start", {"speed": 20})
    before = running.status()["last_task_id"]
    running.wait(lambda now: now["last_task_id"] > before + 3)
    running.held("pause")
    audit = running.get(f"/api/tasks/{before + 2}")
    assert audit["oracle"]["time"] == pytest.approx(audit["strategies"]["oracle"]["time"], rel=1e-12)
    assert "ignores queues" in audit["oracle"]["explanation"]
    forest = audit["strategies"]["hybrid_ml"]
    assert forest["reason_origin"] == "at_decision"
    assert set(forest["reason"]["features"]) >= {"size", "compute_intensity"}
    for one in audit["strategies"].values():
        mine = [part for part in one["gantt"]["intervals"] if part["task_id"] == before + 2]
        assert min(part["begin"] for part in mine) == pytest.approx(one["start"])
        assert max(part["end"] for part in mine) == pytest.approx(one["finish"])
        by_device: dict[str, list[tuple[float, float]]] = {}
        for part in one["gantt"]["intervals"]:
            by_device.setdefault(part["device"], []).append((part["begin"], part["end"]))
        for parts in by_device.values():
            ordered = sorted(parts)
            assert all(a[1] <= b[0] + 1e-9 for a, b in itertools.pairwise(ordered))


def test_an_old_task_is_explained_as_of_today_and_says_so(running: LiveService) -> None:
    running.client.patch("/api/simulation", json={"speed": 0})
    before = running.status()["last_task_id"]
    running.wait(lambda now: now["last_task_id"] > before + 300)
    running.held("pause")
    origins = {
        running.get(f"/api/tasks/{before + place}")["strategies"]["hybrid_ml"]["reason_origin"]
        for place in range(100, 110)
    }
    assert "now" in origins


def test_a_task_that_does_not_exist_is_not_found(running: LiveService) -> None:
    answer = running.client.get("/api/tasks/999999999")
    assert answer.status_code == 404
    assert answer.json()["detail"] == "There is no task 999999999 in the history."


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"size": -1}, "size"),
        ({"size": None}, "size"),
        ({"compute_intensity": 1.5}, "compute_intensity"),
        ({"memory_required": "much"}, "memory_required"),
        ({"colour": "red"}, "colour"),
        ({"dependencies": [-1]}, "dependencies.0"),
    ],
)
def test_a_wrong_field_is_named(running: LiveService, change: dict[str, object], field: str) -> None:
    answer = running.client.post("/api/tasks", json={**TASK, **change})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["errors"][0]["field"] == field


@pytest.mark.parametrize("body", ['{"size": NaN, "compute_intensity": 1, "memory_required": 1}', "{", "[]", "null", ""])
def test_a_body_that_is_no_task_is_refused(running: LiveService, body: str) -> None:
    answer = running.client.post("/api/tasks", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422


@pytest.mark.parametrize("body", ["{", '{"size": }', "size=1"])
def test_a_body_that_is_no_json_is_called_that_and_no_field_is_blamed(running: LiveService, body: str) -> None:
    answer = running.client.post("/api/tasks", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["detail"] == "The body is not valid JSON."
    assert answer.json()["errors"] == []


def test_an_unknown_parent_is_refused_by_its_id(running: LiveService) -> None:
    answer = running.client.post("/api/tasks", params={"run": "true"}, json={**TASK, "dependencies": [10**12]})
    assert answer.status_code == 422
    assert str(10**12) in answer.json()["detail"]


def test_a_task_may_say_kind_deadline_whether_it_can_be_cut_and_how_many_gpus_it_needs(running: LiveService) -> None:
    running.held("pause")
    whole = running.post("/api/tasks", {**TASK, "kind": "train", "deadline": 5.0, "divisible": False}, run="true")
    running.held("pause")
    audit = running.get(f"/api/tasks/{whole['task_id']}")
    assert audit["strategies"]["greedy"]["gpu_fraction"] in (0.0, 1.0)
    assert audit["oracle"]["gpu_fraction"] in (0.0, 1.0)
    told = {"kind": "train", "deadline": 5.0, "divisible": False, "gpus_required": 1}
    (row,) = running.get("/api/history/ledger", task_id=whole["task_id"], scheduler="greedy")["rows"]
    for found in (audit["task"], row):
        assert {name: found[name] for name in told} == told
    for word, gpus, shares in (("gpu", 1, {1.0}), ("cpu", 0, {0.0})):
        one = running.post("/api/tasks", {**TASK, "runs_on": word}, run="true")
        running.held("pause")
        audit = running.get(f"/api/tasks/{one['task_id']}")
        assert {found["gpu_fraction"] for found in audit["strategies"].values()} == shares
        assert (audit["task"]["runs_on"], audit["task"]["gpus_required"]) == (word, gpus)
        (row,) = running.get("/api/history/ledger", task_id=one["task_id"], scheduler="greedy")["rows"]
        assert (row["runs_on"], row["divisible"]) == (word, False)
    for wrong, sentence in (
        ({"gpus_required": 99}, "the node of the race has"),
        ({"gpus_required": -1}, "gpus_required"),
        ({"gpus_required": 0, "divisible": True}, "cannot be cut"),
        ({"gpus_required": 2, "divisible": True}, "cannot be cut"),
        ({"runs_on": "gpu", "divisible": True}, "a task that needs only GPUs cannot be cut"),
        ({"runs_on": "gpu", "gpus_required": 0}, "runs_on = gpu and gpus_required = 0 contradict"),
        ({"runs_on": "cpu", "gpus_required": 2}, "runs_on = cpu and gpus_required = 2 contradict"),
        ({"runs_on": "gpu", "memory_required": 9e6}, "fits no GPU of the race's node"),
        ({"runs_on": "tpu"}, "runs_on"),
        ({"deadline": -1}, "deadline"),
    ):
        answer = running.client.post("/api/tasks", json={**TASK, **wrong})
        assert answer.status_code == 422, answer.text
        assert sentence in answer.text
