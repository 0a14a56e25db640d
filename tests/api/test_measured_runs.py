"""A real run is a run: taken in while a race goes on, listed, marked, certified, traced and removed like any other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hybrid_ml_scheduler.cli.program_following import ProgramFollower
from hybrid_ml_scheduler.cli.real_following import LiveSender
from hybrid_ml_scheduler.execution import ExecutorOptions, HybridExecutor
from hybrid_ml_scheduler.execution.program_report import FOLLOW_VARIABLE, REPORT_VARIABLE
from hybrid_ml_scheduler.execution.runs.kinds import Sizes
from hybrid_ml_scheduler.execution.runs.measured_run import measure_run
from hybrid_ml_scheduler.execution.runs.streams import drawn_stream
from tests.api.service import LiveService, service

TASKS = 700
NEW = {
    "name": "two cores",
    "seed": 3,
    "tasks": TASKS,
    "load": 1.0,
    "machine": {"cpu": "some CPU", "cores": "2", "gpu": "none"},
    "devices": {"cpu": 1, "numba": 1},
    "bound_s": 3.5,
    "alarms": ["load 2 lies outside the validated range."],
}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A service whose race goes on all the time."""
    with service(tmp_path_factory.mktemp("measured"), {"HMS_SCHEDULERS": "greedy,oracle"}) as one:
        one.post("/api/simulation/start", {"new_run": True, "speed": 200})
        one.wait(lambda status: status["tasks_processed"] >= 20)
        yield one


@pytest.fixture(scope="module")
def card(live: LiveService) -> dict[str, Any]:
    """A real run of one strategy, and another one that the model speaks for."""
    begun: dict[str, Any] = live.post("/api/runs/measured", NEW, status=201)
    run_id = begun["run_id"]
    for first in range(0, TASKS, 350):
        tasks = {"first": first, "kind": ["fft"] * 350, "size": [100.0] * 350, "arrival_s": [0.0] * 350}
        live.post(f"/api/runs/{run_id}/measured_tasks", tasks)
        live.post(f"/api/runs/{run_id}/measured_tasks", tasks)  # sent twice, stored once
    for scheduler, source, step in (("hybrid_ml", "measured", 0.01), ("cpu_only", "modelled", 0.02)):
        results = {
            "scheduler": scheduler,
            "source": source,
            "first": 0,
            "place": [index % 2 for index in range(TASKS)],
            "start_s": [index * step / 2 for index in range(TASKS)],
            "finish_s": [(index + 2) * step / 2 for index in range(TASKS)],
            "energy_j": 12.5 if source == "measured" else None,
        }
        found = live.post(f"/api/runs/{run_id}/measured_results", results)
    return dict(found)


def test_a_real_run_is_marked_measured_and_stands_beside_its_model(live: LiveService, card: dict[str, Any]) -> None:
    assert (card["source"], card["state"], card["tasks"], card["name"]) == ("measured", "measured", TASKS, "two cores")
    facts = card["measured"]
    assert facts["places"] == ["cpu", "numba_0"]
    assert facts["strategies"] == ["hybrid_ml"]
    assert facts["modelled"] == ["cpu_only.modelled"]
    assert facts["energy_j"] == {"hybrid_ml": 12.5}
    assert facts["alarms"] == NEW["alarms"]
    rows = {row["name"]: row for row in card["standings"]}
    assert rows["hybrid_ml"]["source"] == "measured"
    assert rows["cpu_only.modelled"]["source"] == "modelled"
    makespan = (TASKS + 1) * 0.005
    assert rows["hybrid_ml"]["makespan"] == pytest.approx(makespan)
    assert rows["hybrid_ml"]["makespan_gap"] == pytest.approx(makespan / 3.5 - 1.0)
    shown = {row["name"]: row for row in live.get(f"/api/runs/{card['run_id']}/snapshot")["update"]["comparison"]}
    for name, row in rows.items():
        for figure in ("avg_time", "avg_latency", "makespan"):
            assert shown[name][figure] == pytest.approx(row[figure]), (name, figure)
    assert shown["hybrid_ml"]["longest_latency"] == pytest.approx(makespan)  # although nobody knows its fastest time
    assert shown["hybrid_ml"]["longest_slowdown"] is None
    assert shown["hybrid_ml"]["makespan_gap"] == pytest.approx(rows["hybrid_ml"]["makespan_gap"])
    assert (shown["hybrid_ml"]["avg_energy"], shown["hybrid_ml"]["avg_cost"]) == (None, None), "no meter reads a task"
    assert list(shown) == ["hybrid_ml", "cpu_only.modelled"], "what would have been stands below"
    listed = {one["run_id"]: one for one in live.get("/api/runs")["runs"]}
    assert listed[card["run_id"]]["source"] == "measured"
    assert listed[live.status()["run_id"]]["source"] == "simulated"


def test_every_task_is_in_the_ledger_and_in_the_trace(live: LiveService, card: dict[str, Any]) -> None:
    page = live.get("/api/history/ledger", run_id=card["run_id"], scheduler="hybrid_ml", limit=5, sort="latency")
    assert page["total"] == TASKS
    assert page["rows"][0]["kind"] == "fft"
    trace = live.client.get("/api/history/trace", params={"run_id": card["run_id"], "scheduler": "hybrid_ml"})
    events = trace.json()["traceEvents"]
    assert sum(event["ph"] == "X" for event in events) == TASKS


def test_a_run_whose_tasks_came_at_once_is_seen_as_it_ended(live: LiveService, card: dict[str, Any]) -> None:
    run_id, makespan_s = card["run_id"], (TASKS + 1) * 0.005
    node = live.get("/api/node", run_id=run_id, scheduler="hybrid_ml", seconds=30)
    assert (node["now_s"], node["end_s"]) == pytest.approx((makespan_s, makespan_s))
    (one,) = node["strategies"]
    assert (one["waiting_now"], one["waiting"][-1]) == ([0, 0], 0)
    assert one["waiting"][0] == TASKS - 1, "all but the first waited when they came"
    update = live.get(f"/api/runs/{run_id}/snapshot")["update"]
    devices, row = update["clusters"]["hybrid_ml"], update["comparison"][0]
    each_s = TASKS / 2 * 0.01
    assert (row["cpu_load"], row["gpu_load"]) == pytest.approx((each_s / makespan_s,) * 2)
    assert devices["cpu"]["run_utilization"] == pytest.approx(each_s / makespan_s)
    assert (devices["cpu"]["queue_length"], devices["cpu"]["backlog_s"]) == (0, 0.0)
    load = live.get("/api/history/load", run_id=run_id, scheduler="hybrid_ml", span_s=60)
    assert load["edges_s"][-1] == pytest.approx(makespan_s)
    busy_s = sum(load["busy"]["cpu"]) * (load["edges_s"][1] - load["edges_s"][0])
    assert busy_s == pytest.approx(each_s)
    first = card["first_task_id"]
    audit = live.get(f"/api/tasks/{first}")
    assert audit["oracle"] is None, "the formula knows nothing of a real task"
    assert audit["strategies"]["hybrid_ml"]["reason_origin"] == "none"
    assert live.client.get(f"/api/runs/{run_id}/costliest", params={"scheduler": "hybrid_ml"}).status_code == 409


def test_the_race_goes_on_and_is_continued_after_a_restart(live: LiveService, card: dict[str, Any]) -> None:
    racing = live.status()["run_id"]
    assert racing != card["run_id"]
    before = live.status()["tasks_processed"]
    live.wait(lambda status: status["tasks_processed"] > before + 20)
    live.stop()
    live.start()
    assert live.status()["run_id"] == racing
    live.wait(lambda status: status["tasks_processed"] >= before + 20)
    assert live.get(f"/api/runs/{card['run_id']}")["tasks"] == TASKS


def test_what_does_not_fit_is_refused_with_one_sentence(live: LiveService, card: dict[str, Any]) -> None:
    run_id, racing = card["run_id"], live.status()["run_id"]
    one = {"first": TASKS, "kind": ["fft"], "size": [1.0], "arrival_s": [0.0]}
    result = {"scheduler": "greedy", "first": 0, "place": [5], "start_s": [0.0], "finish_s": [1.0]}
    for path, body, status in (
        (f"/api/runs/{run_id}/measured_tasks", one, 409),
        (f"/api/runs/{racing}/measured_tasks", {**one, "first": 0}, 404),
        (f"/api/runs/{run_id}/measured_tasks", {**one, "size": []}, 422),
        (f"/api/runs/{run_id}/measured_tasks", {**one, "first": 0, "kind": ["a\0"]}, 422),
        (f"/api/runs/{run_id}/measured_results", result, 409),
        (f"/api/runs/{run_id}/measured_results", {**result, "finish_s": [None, 1.0]}, 422),
        ("/api/runs/measured", {**NEW, "devices": {"numba": 1}}, 409),
        ("/api/runs/measured", {**NEW, "tasks": 0}, 422),
        ("/api/runs/measured", {**NEW, "machine": {"cpu": "a\0"}}, 422),
    ):
        answer = live.client.post(path, json=body)
        assert answer.status_code == status, answer.text
        assert answer.json()["detail"]


def test_a_run_that_is_followed_is_under_way_until_its_end(live: LiveService) -> None:
    sizes: Sizes = {"sort": (2000,), "parse": (20,)}
    tasks = drawn_stream(sizes, 40, 1).at_once()
    sender = LiveSender(live.url)
    document = {key: NEW[key] for key in ("name", "seed", "load", "machine")}
    sender.begin({**document, "tasks": len(tasks), "devices": {"cpu": 1}}, tasks)
    options = ExecutorOptions(store="", history=1000)
    with HybridExecutor(1, devices=[], workers="threads", strategy="cpu_only", options=options) as executor:
        found = measure_run(executor, tasks, watch=partial(sender.watch, "cpu_only"))
        wait_until(lambda: any(_stored(live, run_id) == 40 for run_id in sender.run_ids))
        card = live.get(f"/api/runs/{sender.run_ids[0]}")
        assert card["measured"]["is_running"]
        assert card["standings"][0]["makespan"] == pytest.approx(found.makespan_s)
    (run_id,) = sender.stop()
    assert sender.problem is None
    ended = live.post(f"/api/runs/{run_id}/measured_end", {"bound_s": 0.01, "meters": "none", "alarms": []})
    assert (ended["measured"]["is_running"], ended["measured"]["bound_s"]) == (False, 0.01)
    (shown,) = live.get(f"/api/runs/{run_id}/snapshot")["update"]["clusters"].values()
    assert set(shown) == {"average_utilization", "cpu"}  # although its plan has a GPU


def test_a_program_of_ones_own_is_followed_while_it_runs(
    live: LiveService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REPORT_VARIABLE, str(tmp_path))
    monkeypatch.setenv(FOLLOW_VARIABLE, "1")
    follower = ProgramFollower(tmp_path, "mine.py", live.url)
    with HybridExecutor(
        1, devices=[], workers="threads", strategy="cpu_only", options=ExecutorOptions(store="")
    ) as executor:
        assert list(executor.map(abs, range(3))) == [0, 1, 2]
        wait_until(lambda: [run["tasks"] for run in _called(live, "mine.py, cpu_only")] == [3])
        (run,) = _called(live, "mine.py, cpu_only")
        assert run["measured"]["is_running"]
        assert run["source"] == "measured"
        assert executor.submit(int, "no number").exception() is not None
    (run_id,) = follower.stop()
    assert follower.problem is None
    card = live.get(f"/api/runs/{run_id}")
    assert (card["measured"]["is_running"], card["measured"]["tasks"], card["tasks"]) == (False, 4, 4)
    page = live.get("/api/history/ledger", run_id=run_id, scheduler="cpu_only", limit=5)
    told = sorted((row["kind"], row["failed"]) for row in page["rows"])
    assert told == [("builtins.abs", False)] * 3 + [("builtins.int", True)]


def _called(live: LiveService, name: str) -> list[dict[str, Any]]:
    return [run for run in live.get("/api/runs")["runs"] if run["name"] == name]


def wait_until(holds: Callable[[], bool]) -> None:
    """Look every tenth of a second, for at most a minute."""
    until = time.monotonic() + 60.0
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


def _stored(live: LiveService, run_id: int | None) -> int:
    return 0 if run_id is None else sum(row["tasks"] for row in live.get(f"/api/runs/{run_id}")["standings"])


def test_a_run_goes_on_where_no_service_answers_and_the_sender_says_why() -> None:
    tasks = drawn_stream({"sort": (2000,)}, 5, 1).at_once()
    sender = LiveSender("http://127.0.0.1:9")
    sender.begin({"name": "nobody"}, tasks)
    options = ExecutorOptions(store="", history=1000)
    with HybridExecutor(1, devices=[], workers="threads", strategy="cpu_only", options=options) as executor:
        assert measure_run(executor, tasks, watch=partial(sender.watch, "cpu_only")).unfinished == 0
        wait_until(lambda: sender.problem is not None)
    assert list(sender.stop()) == [None]
    assert "No service answers" in str(sender.problem)


def test_a_real_run_can_be_removed_while_the_race_goes_on(live: LiveService) -> None:
    run_id = live.post("/api/runs/measured", NEW, status=201)["run_id"]
    live.post(f"/api/runs/{run_id}/measured_tasks", {"first": 0, "kind": ["sort"], "size": [1.0], "arrival_s": [0.0]})
    assert live.client.delete(f"/api/runs/{run_id}").json() == {"run_id": run_id, "tasks": 1, "results": 0}
    assert live.client.get(f"/api/runs/{run_id}").status_code == 404
