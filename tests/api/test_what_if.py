"""What if over HTTP: the alternatives of one stored decision, and the decisions that cost most."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest

from hybrid_ml_scheduler.core import Decision, Task, TaskBatch
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.physics.truth import Truth
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.race import run_scheduler
from hybrid_ml_scheduler.studies.what_if import RunToChange, changed_run, row_of
from tests.api.service import LiveService, service

ASKED_NEVER_AGAIN = ("earliest_finish", "sjf", "hybrid_ml", "rl_agent")
PLAIN = ("earliest_device", "round_robin", "greedy")
TASK = {"size": 3000, "compute_intensity": 0.9, "memory_required": 100}
SPECIAL: dict[str, dict[str, Any]] = {"whole": {"divisible": False, "deadline": 9.0}, "gang": {"gpus_required": 2}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A run of which all is told, with a shift in it, and a run whose durations are hidden and learned."""
    environment = {"HMS_SCHEDULERS": ",".join((*PLAIN, "hybrid_ml")), "HMS_WORKLOAD": "mixed", "HMS_SEED": "5"}
    with service(tmp_path_factory.mktemp("what_if"), environment) as live:
        live.post("/api/simulation/start", {"new_run": True, "speed": 5, "arrival_rate": 9, "schedulers": [*PLAIN]})
        live.wait(lambda status: status["tasks_processed"] >= 5)
        live.held("pause")
        for special in SPECIAL.values():
            live.post("/api/tasks", {**TASK, **special}, run="true")
        live.post("/api/simulation/start", {"speed": 0})
        live.wait(lambda status: status["tasks_processed"] >= 400)
        live.held("stop")
        hidden = {"new_run": True, "speed": 0, "workload": "unknown", "schedulers": list(ASKED_NEVER_AGAIN)}
        live.post("/api/simulation/start", hidden)
        live.wait(lambda status: status["tasks_processed"] >= 600)
        live.held("stop")
        yield live


def first_run(live: LiveService) -> Any:
    return live.get("/api/runs")["runs"][-1]


def asked(live: LiveService, scheduler: str, task_id: int) -> Any:
    return live.get(f"/api/runs/{first_run(live)['run_id']}/what_if", scheduler=scheduler, task_id=task_id)


@pytest.mark.parametrize("scheduler", PLAIN)
def test_every_alternative_of_a_stored_decision_is_simulated(runs: LiveService, scheduler: str) -> None:
    card = first_run(runs)
    task_id = card["first_task_id"] + 200
    found = asked(runs, scheduler, task_id)
    stored = runs.get(f"/api/tasks/{task_id}")["strategies"][scheduler]
    task = found["task"]
    assert (task["latency_s"], task["device"]) == (stored["latency"], stored["device"])
    assert len(task["alternatives"]) >= 16
    changes = [one["total_change_s"] for one in task["alternatives"]]
    assert changes == sorted(changes)
    assert task["regret_s"] == max(0.0, -changes[0])
    assert found["later_decisions"] == "anew", found["explanation"]


def stored_batch(live: LiveService, run_id: int) -> TaskBatch:
    rows = csv.DictReader(StringIO(live.client.get("/api/history/export?format=csv&table=tasks").text))
    own = [row for row in rows if int(row["run_id"]) == run_id]
    names = ("size", "compute_intensity", "memory_required", "arrival_time")
    facts = [{"task_id": int(row["task_id"]), **{name: float(row[name]) for name in names}} for row in own]
    held = [{"divisible": row["divisible"] == "1", "gpus_required": int(row["gpus_required"])} for row in own]
    return TaskBatch.from_tasks([Task.from_mapping({**one, **two}) for one, two in zip(facts, held, strict=True)])


@pytest.mark.parametrize("scheduler", PLAIN)
def test_a_stored_task_that_must_run_whole_is_not_cut_and_a_gang_is_tried_as_a_gang(
    runs: LiveService, scheduler: str
) -> None:
    batch = stored_batch(runs, first_run(runs)["run_id"])
    whole, gang = batch.task_id[~batch.divisible].tolist()
    assert batch.gpus_required[batch.task_id == gang].tolist() == [2]
    for task_id in (whole, gang):
        found = asked(runs, scheduler, task_id)
        assert found["later_decisions"] == "anew", found["explanation"]
        assert {one["gpu_fraction"] for one in found["task"]["alternatives"]} <= {0.0, 1.0}
        assert found["task"]["alternatives"]


def test_an_alternative_is_the_run_of_a_strategy_that_really_took_it(runs: LiveService) -> None:
    card = first_run(runs)
    task_id = card["first_task_id"] + 150
    found = asked(runs, "earliest_device", task_id)["task"]
    batch = stored_batch(runs, card["run_id"])
    known = KnownTasks(batch=batch, node=Node(), truth=Truth(), seed=5)
    run = RunToChange(make=lambda: create("earliest_device"), known=known)
    base, row = run_scheduler(create("earliest_device"), batch, Node(), seed=5), row_of(batch, task_id)
    for one in found["alternatives"][::5]:
        gpu = int(one["device"][-1]) if one["gpu_fraction"] else 0
        other = changed_run(run, task_id, Decision(gpu_fraction=one["gpu_fraction"], gpu=gpu))
        change = other.latency_s - base.latency_s
        assert one["latency_s"] == other.latency_s[row]
        assert one["others_change_s"] == float(change.sum()) - float(change[row])
        assert one["makespan_s"] == other.finish_s.max()


def test_the_decisions_that_cost_most_come_first(runs: LiveService) -> None:
    card = first_run(runs)
    worst = runs.get(f"/api/runs/{card['run_id']}/costliest", scheduler="earliest_device", count=3, looked_at=400)
    regrets = [one["regret_s"] for one in worst["tasks"]]
    assert worst["looked_at"] == 400
    assert regrets == sorted(regrets, reverse=True)
    assert regrets[0] >= asked(runs, "earliest_device", card["first_task_id"] + 150)["task"]["regret_s"] > -1.0


@pytest.mark.parametrize("scheduler", ASKED_NEVER_AGAIN)
def test_where_a_strategy_cannot_be_asked_again_the_other_decisions_are_kept(runs: LiveService, scheduler: str) -> None:
    card = runs.get("/api/runs")["runs"][0]
    found = runs.get(f"/api/runs/{card['run_id']}/what_if", scheduler=scheduler, task_id=card["first_task_id"] + 60)
    assert found["later_decisions"] == "kept"
    assert "kept as they were" in found["explanation"]
    assert found["task"]["alternatives"]
    worst = runs.get(f"/api/runs/{card['run_id']}/costliest", scheduler=scheduler, count=3, looked_at=20)
    assert len(worst["tasks"]) == 3


def test_what_is_not_there_gets_one_sentence(runs: LiveService) -> None:
    run_id = first_run(runs)["run_id"]
    questions: list[tuple[str, dict[str, str | int], int, str]] = [
        (f"/api/runs/{run_id}/what_if", {"scheduler": "greedy", "task_id": 10**9}, 404, "no task"),
        (f"/api/runs/{run_id}/what_if", {"scheduler": "oracle", "task_id": 1}, 404, "oracle"),
        ("/api/runs/999999/what_if", {"scheduler": "greedy", "task_id": 1}, 404, "no run 999999"),
        (f"/api/runs/{run_id}/costliest", {"scheduler": "greedy", "looked_at": 0}, 422, "looked_at"),
    ]
    for path, query, status, sentence in questions:
        answer = runs.client.get(path, params=query)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert sentence in answer.text
