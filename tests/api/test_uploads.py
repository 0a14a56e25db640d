"""Files that people send: checked completely before they are kept, raced to their end, removed when not needed."""

from __future__ import annotations

import asyncio
import gzip
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice
from tests.api.conftest import Opener
from tests.api.service import LiveService, service
from tests.unit.workload.comparing import DATA

_TASKS = 40
_JOBS = "submitted,run_s,what\n" + "".join(f"{row / 2},{0.2 + row % 7 / 5},job{row % 3}\n" for row in range(_TASKS))
_COLUMNS = ["arrival_time=submitted", "duration=run_s", "kind=what"]
_VAST = gzip.compress(b"\n" * (65 * 2**20))
_CSV = {"Content-Type": "application/octet-stream"}


async def _sent(client: httpx.AsyncClient, content: bytes, name: str = "jobs.csv", **query: Any) -> httpx.Response:
    return await client.post("/api/uploads", content=content, headers=_CSV, params={"name": name, **query})


async def test_a_client_may_take_the_rows_of_a_status(application: Opener) -> None:
    jobs = "run_s,status\n1,COMPLETED\n2,FAILED\n3,COMPLETED\n"
    async with application() as client:
        card = (await _sent(client, jobs.encode(), column=["duration=run_s"], where=["status=COMPLETED"])).json()
        assert card["trace"]["tasks"] == 2
        assert any("1 row of 3 left out" in note for note in card["trace"]["left_out"])
        refused = await _sent(client, jobs.encode(), column=["duration=run_s"], where=["status"])
        assert "must have the form COLUMN=VALUE" in refused.text


async def test_a_trace_is_read_kept_listed_and_removed(application: Opener, tmp_path: Path) -> None:
    async with application() as client:
        answer = await _sent(client, gzip.compress(_JOBS.encode()), column=_COLUMNS)
        assert answer.status_code == 201, answer.text
        card = answer.json()
        assert card["trace"]["tasks"] == _TASKS
        assert card["trace"]["kinds"] == 3
        assert card["trace"]["span_s"] == (_TASKS - 1) / 2
        assert any("duration" in note for note in card["trace"]["notes"])
        assert [one["upload_id"] for one in (await client.get("/api/uploads")).json()["uploads"]] == [card["upload_id"]]
    async with application() as client:  # a restart finds it again
        gone = await client.delete(f"/api/uploads/{card['upload_id']}")
        assert gone.status_code == 200
        assert (await client.get("/api/uploads")).json()["uploads"] == []
        assert list(tmp_path.rglob("jobs.csv")) == []
        assert (await client.delete(f"/api/uploads/{card['upload_id']}")).status_code == 404


async def test_a_gavel_stream_is_raced_with_the_table_that_was_sent_for_it(application: Opener) -> None:
    stream, table = ((DATA / name).read_bytes() for name in ("gavel.trace", "gavel_throughputs.json"))
    async with application() as client:
        alone = await _sent(client, stream, "jobs.trace")
        assert alone.status_code == 422
        assert "simulation_throughputs.json" in alone.json()["detail"]
        sent = (await _sent(client, table, "rates.json", use="throughputs")).json()
        card = (await _sent(client, stream, "jobs.trace", table=sent["upload_id"])).json()
        assert card["trace"]["tasks"] > 0
        assert (await client.delete(f"/api/uploads/{sent['upload_id']}")).status_code == 200  # it was copied
        again = await _sent(client, stream, "jobs.trace", table=sent["upload_id"])
        assert (again.status_code, "no uploaded table" in again.json()["detail"]) == (422, True)
        wish = {"new_run": True, "upload": card["upload_id"], "gpu_type": "v100", "num_gpus": 4, "speed": 0}
        begun = await client.post("/api/simulation/start", json={**wish, "schedulers": ["greedy"]})
        assert begun.status_code == 200, begun.text
        while (status := (await client.get("/api/status")).json())["state"] != "complete":
            await asyncio.sleep(0.02)
        assert status["tasks_processed"] == card["trace"]["tasks"]


@pytest.mark.parametrize(
    ("content", "query", "status", "words"),
    [
        (b"", {}, 422, "jobs.csv: the file is empty."),
        (_JOBS.encode(), {}, 422, "is the beginning of no known dialect"),
        (_JOBS.replace("0.2", "soon", 1).encode(), {"column": _COLUMNS}, 422, "jobs.csv, line 2"),
        (_JOBS.encode(), {"name": "../jobs.csv"}, 422, "name"),
        (_JOBS.encode(), {"column": ["kind"]}, 422, "OURS=THEIRS"),
        (b"{}", {"use": "hardware", "name": "node.json"}, 422, "is no hardware profile"),
        (b"x" * (len(_VAST) + 1), {}, 413, "The body is larger than"),
        (_VAST, {}, 422, "unpacked, an upload has at most 64 MB of text"),
        (_JOBS.encode(), {"column": _COLUMNS, "name": "second.csv"}, 409, "remove some first"),
    ],
)
async def test_what_cannot_be_kept_is_refused_in_one_sentence_and_leaves_nothing(
    application: Opener, tmp_path: Path, content: bytes, query: dict[str, Any], status: int, words: str
) -> None:
    async with application(max_upload_bytes=len(_VAST), uploads_bytes=1024 if status == 409 else 2**20) as client:
        if status == 409:
            assert (await _sent(client, _JOBS.encode(), column=_COLUMNS)).status_code == 201
        answer = await _sent(client, content, **{"name": "jobs.csv", **query})
        assert answer.status_code == status, answer.text
        assert words in answer.json()["detail"]
        assert str(tmp_path) not in answer.text
        assert len((await client.get("/api/uploads")).json()["uploads"]) == (1 if status == 409 else 0)


async def test_in_production_an_upload_needs_the_key(application: Opener) -> None:
    key = "an-own-secret-of-17"
    async with application(environment="production", api_key=key, max_upload_bytes=2**20) as client:
        for content in (_JOBS.encode(), b"x" * 70_000):
            assert (await _sent(client, content)).status_code == 401
        client.headers["X-API-Key"] = key
        assert (await _sent(client, _JOBS.encode(), column=_COLUMNS)).status_code == 201


async def test_a_load_of_a_trace_belongs_to_a_trace(application: Opener) -> None:
    async with application() as client:
        for body, status in (
            ({"new_run": True, "arrival_scale": 0.5}, 422),
            ({"new_run": True, "upload": "0" * 32}, 422),
            ({"new_run": True, "upload": "0" * 32, "workload": "mixed"}, 422),
        ):
            answer = await client.post("/api/simulation/start", json=body)
            assert answer.status_code == status, answer.text


async def test_a_plan_that_names_a_trace_is_raced_to_its_end_and_stays_complete(
    application: Opener, tmp_path: Path
) -> None:
    (tmp_path / "jobs.csv").write_text(_JOBS)
    columns = {"arrival_time": "submitted", "duration": "run_s"}
    choice = WorkloadChoice(source=str(tmp_path / "jobs.csv"), options={"map": columns})
    plan = Plan(seed=3, workload=choice, schedulers=("greedy",))
    for _ in range(2):  # the second start goes on with the same run
        async with application(plan=plan, autostart=True, speed=0) as client:
            while (status := (await client.get("/api/status")).json())["state"] != "complete":
                await asyncio.sleep(0.02)
            assert (status["run_id"], status["tasks_processed"], status["schedulers"]) == (1, _TASKS, ["greedy"])
    async with application(plan=replace(plan, seed=4), autostart=False) as client:
        assert (await client.get("/api/status")).json()["run_id"] == 2
    async with application(plan=plan, autostart=True, speed=0) as client:
        while (await client.get("/api/status")).json()["state"] != "complete":
            await asyncio.sleep(0.02)
        assert (await client.delete("/api/history")).status_code == 200
        fresh = (await client.get("/api/status")).json()
        assert (fresh["state"], fresh["tasks_processed"]) == ("stopped", 0)


@pytest.mark.parametrize("name", ["job-{}", "{}"])
async def test_the_ids_of_an_uploaded_trace_stay_the_users(name: str, application: Opener, tmp_path: Path) -> None:
    """In the ledger, in the audit of a task and in the exported history; numbers are continuous over all runs."""
    ids = [name.format(1000 + 7 * row) for row in range(_TASKS)]
    rows = "".join(f"{one},{row / 2},{0.2 + row % 7 / 5}\n" for row, one in enumerate(ids))
    (tmp_path / "jobs.csv").write_text("nr,submitted,run_s\n" + rows)
    columns = {"task_id": "nr", "arrival_time": "submitted", "duration": "run_s"}
    choice = WorkloadChoice(source=str(tmp_path / "jobs.csv"), options={"map": columns})
    plan = Plan(seed=3, workload=choice, schedulers=("greedy",))
    async with application(plan=plan, autostart=True, speed=0) as client:
        while (status := (await client.get("/api/status")).json())["state"] != "complete":
            await asyncio.sleep(0.02)
        assert status["tasks_processed"] == _TASKS
        asked = {"scheduler": "greedy", "sort": "task_id", "order": "asc"}
        while (await client.get("/api/status")).json()["backlog_rows"]:
            await asyncio.sleep(0.05)
        ledger = (await client.get("/api/history/ledger", params=asked)).json()["rows"]
        assert [row["task_id"] for row in ledger] == list(range(_TASKS))
        assert [row["label"] for row in ledger] == ids
        assert (await client.get("/api/tasks/7")).json()["task"]["label"] == ids[7]
        exported = (await client.get("/api/history/export", params={"format": "csv"})).text.splitlines()
        column = exported[0].split(",").index("label")
        assert {line.split(",")[column] for line in exported[1:]} == set(ids)


def _uploaded(live: LiveService, name: str = "jobs.csv") -> str:
    answer = live.client.post(
        "/api/uploads", content=_JOBS.encode(), headers=_CSV, params={"name": name, "column": _COLUMNS}
    )
    assert answer.status_code == 201, answer.text
    return str(answer.json()["upload_id"])


def test_a_run_on_a_trace_is_complete_at_its_end_and_stays_so_after_kill_9(tmp_path: Path) -> None:
    with service(tmp_path, {"HMS_SCHEDULERS": "greedy,earliest_finish,sjf"}) as live:
        upload = _uploaded(live)
        wish = {
            "new_run": True,
            "upload": upload,
            "target_load": 0.5,
            "speed": 20,
            "num_gpus": 2,
            "knowledge": "learned",
        }
        begun = live.post("/api/simulation/start", {**wish, "speed": 20})
        assert begun["workload"]["trace"] == {"upload": upload, "tasks": _TASKS}
        assert begun["workload"]["preset"] == "jobs.csv"
        refused = live.client.patch("/api/simulation", json={"arrival_rate": 3.0})
        assert refused.status_code == 409
        live.wait(lambda status: status["tasks_processed"] >= 5)
        live.kill()  # in the middle: the trace is found again by its digest
        live.start()
        assert live.client.patch("/api/simulation", json={"speed": 0}).status_code == 200
        done = live.wait(lambda status: status["state"] == "complete" and status["backlog_rows"] == 0)
        assert done["tasks_processed"] == _TASKS
        _is_complete(live, done["run_id"])
        live.kill()
        live.start()
        again = live.status()
        assert (again["state"], again["tasks_processed"]) == ("complete", _TASKS)
        _is_complete(live, done["run_id"])
        assert live.client.post("/api/simulation/start", json={}).status_code == 409
        assert live.client.delete(f"/api/uploads/{upload}").status_code == 409
        live.post("/api/simulation/start", {"new_run": True, "workload": "mixed", "arrival_rate": 5.0})
        assert live.get(f"/api/runs/{done['run_id']}")["state"] == "complete"
        assert live.client.delete(f"/api/runs/{done['run_id']}").status_code == 200
        assert live.client.delete(f"/api/uploads/{upload}").status_code == 200


def _is_complete(live: LiveService, run_id: int) -> None:
    """Every strategy has a result for every task, once, and people were told that the run is complete."""
    ledger = live.get("/api/history/ledger", run_id=run_id, limit=500)
    assert ledger["total"] == 3 * _TASKS
    assert not any(math.isnan(row["latency"]) for row in ledger["rows"])
    notices = [one["message"] for one in live.get("/api/events", run_id=run_id)["notifications"]]
    assert sum("The run is complete: all 40 tasks of jobs.csv" in one for one in notices) == 1
