"""What has been stored, read back over HTTP."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import fmean

import pytest
from starlette.types import Message

from hybrid_ml_scheduler.api.routes.history import DownloadResponse
from hybrid_ml_scheduler.storage import (
    EventRow,
    RowBatch,
    StoreUnavailableError,
    integrity,
    latest_checkpoint,
    list_runs,
    open_store,
    write_batch,
)
from tests.api.conftest import Opener
from tests.api.service import LiveService
from tests.api.test_refused_rows import rename


@pytest.fixture
def paused(running: LiveService) -> LiveService:
    """A service whose history stands still."""
    running.held()
    return running


def test_full_history_gives_the_newest_labels_first(paused: LiveService) -> None:
    rows = paused.get("/api/full_history", limit=50)
    assert len(rows) == 50
    assert [row["task_id"] for row in rows] == list(range(rows[0]["task_id"], rows[0]["task_id"] - 50, -1))
    assert all(0 <= row["optimal_gpu_fraction"] <= 1 and row["optimal_time"] > 0 for row in rows)


def test_the_oracle_reaches_the_label_of_every_task(paused: LiveService) -> None:
    labels = {row["task_id"]: row for row in paused.get("/api/full_history", limit=100)}
    for row in paused.get("/api/history/comparative", limit=100):
        label = labels[row["task"]["task_id"]]
        assert row["results"]["oracle"]["time"] == pytest.approx(label["optimal_time"], rel=1e-12)


def test_the_ledger_sorts_filters_and_pages(paused: LiveService) -> None:
    page = paused.get("/api/history/ledger", sort="latency", order="desc", scheduler="greedy", limit=20)
    latencies = [row["latency"] for row in page["rows"]]
    assert latencies == sorted(latencies, reverse=True)
    assert {row["scheduler"] for row in page["rows"]} == {"greedy"}
    following = paused.get("/api/history/ledger", sort="latency", order="desc", scheduler="greedy", limit=20, offset=20)
    assert following["rows"][0]["latency"] <= latencies[-1]
    assert {row["task_id"] for row in following["rows"]}.isdisjoint(row["task_id"] for row in page["rows"])
    by_mark = paused.get(
        "/api/history/ledger", sort="latency", order="desc", scheduler="greedy", limit=20, after=page["next"]
    )
    assert by_mark["rows"] == following["rows"]
    back = paused.get(
        "/api/history/ledger", sort="latency", order="desc", scheduler="greedy", limit=20, before=by_mark["previous"]
    )
    assert (back["rows"], back["previous"]) == (page["rows"], None)
    on_cpu = paused.get("/api/history/ledger", device="cpu", scheduler="round_robin", limit=50)
    assert {row["device"] for row in on_cpu["rows"]} == {"cpu"}


def test_the_ledger_counts_every_row_and_refuses_places_that_are_none(paused: LiveService) -> None:
    status = paused.status()
    page = paused.get("/api/history/ledger", limit=1, sort="energy")
    assert page["total"] == status["tasks_processed"] * len(status["schedulers"])
    assert (page["first_task"], page["last_task"]) == (0, status["last_task_id"])
    some = paused.get("/api/history/ledger", first_task=3, last_task=7, scheduler="greedy")
    assert [row["task_id"] for row in some["rows"]] == [7, 6, 5, 4, 3]
    assert some["total"] == 5
    for wrong in (
        {"after": "nonsense"},
        {"after": page["next"], "sort": "device"},
        {"after": page["next"], "offset": 5},
    ):
        answer = paused.client.get("/api/history/ledger", params=wrong)
        assert answer.status_code == 422, wrong
        assert answer.headers["content-type"] == "application/problem+json"


def test_the_trend_can_be_of_the_latest_tasks_only(paused: LiveService) -> None:
    last = paused.status()["last_task_id"]
    found = paused.get("/api/history/trend", points=10, latest=100)
    assert (found["points"][0]["first_task_id"], found["points"][-1]["last_task_id"]) == (last - 99, last)
    assert sum(point["tasks"] for point in found["points"]) == 100


def test_the_win_matrix_counts_lower_values_and_equal_ones_for_nobody(paused: LiveService) -> None:
    matrix = paused.get("/api/stats", window=100)["win_loss"]["time"]
    rows = paused.get("/api/history/comparative", limit=100)
    names = matrix["schedulers"]
    for i, one in enumerate(names):
        assert matrix["share"][i][i] is None
        for j, other in enumerate(names):
            if i != j:
                wins = [row["results"][one]["time"] < row["results"][other]["time"] for row in rows]
                assert matrix["share"][i][j] == pytest.approx(fmean(wins))


def test_statistics_say_how_many_tasks_they_are_made_of(paused: LiveService) -> None:
    stats = paused.get("/api/stats", window=100)
    assert (stats["tasks"], stats["win_loss"]["time"]["tasks"], stats["correlations"]["tasks"]) == (100, 100, 100)
    nobody = paused.get("/api/stats", window=100, scheduler="rl_agent")["correlations"]
    assert (nobody["scheduler"], nobody["tasks"]) == ("rl_agent", 0), "it is not in the race"


def test_trend_covers_the_run_and_counts_what_is_collected(paused: LiveService) -> None:
    trend = paused.get("/api/history/trend", points=20)
    status = paused.status()
    assert trend["points"][-1]["last_task_id"] == status["last_task_id"]
    assert set(trend["points"][0]["avg_latency"]) == set(status["schedulers"])
    assert trend["collection"]["results"] == trend["collection"]["tasks"] * len(status["schedulers"])
    assert trend["collection"]["database"] == "sqlite"


async def test_the_trend_of_a_run_has_the_markers_of_that_run_however_many_others_have(
    application: Opener, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'history.db'}"
    async with application(database_url=url) as client:
        await client.post("/api/simulation/start", json={"speed": 0.001})
        await client.patch("/api/simulation", json={"workload": "heavy"})
        await client.post("/api/simulation/start", json={"new_run": True, "speed": 0.001})
        store = await open_store(url)
        facts = {"preset": "light", "arrival_rate": 1.0, "tasks_processed": 0, "simulated_time_s": 0.0}
        crowd = [EventRow(2, 1000 + number, 0, "shift", json.dumps(facts), 1.0) for number in range(120)]
        await write_batch(store, RowBatch(events=crowd))
        await store.close()
        shifts = (await client.get("/api/history/trend", params={"run_id": 1})).json()["shifts"]
        assert [shift["workload"] for shift in shifts] == ["heavy"]
        assert len((await client.get("/api/history/trend")).json()["shifts"]) == 100


async def test_a_run_that_was_followed_has_ended_and_a_task_it_never_reached_is_no_fault(
    application: Opener, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'history.db'}"
    ahead = {"size": 900, "compute_intensity": 0.5, "memory_required": 50, "arrival_time": 3000.0}
    async with application(database_url=url) as client:
        await client.post("/api/simulation/start", json={"speed": 200})
        entered = await client.post("/api/tasks", json=ahead, params={"run": True})
        assert entered.status_code == 200, entered.text
        await client.post("/api/simulation/start", json={"new_run": True, "speed": 0.001})
        await client.post("/api/simulation/stop")
        store = await open_store(url)
        assert [(run.run_id, run.state) for run in await list_runs(store)] == [(2, "stopped"), (1, "ended")]
        assert await latest_checkpoint(store, 1) is None
        found = await integrity(store)
        assert (found.whole, found.undecided) == (True, 1), found
        await store.close()


def test_retraining_history_says_when_with_how_many_and_how_good(running: LiveService) -> None:
    before = running.status()["learning"]["hybrid_ml"]["updates"]
    running.wait(lambda now: now["learning"]["hybrid_ml"]["updates"] > before)
    running.held()
    models = running.get("/api/models")
    assert models["total"] >= 1
    newest = models["models"][0]
    assert newest["scheduler"] == "hybrid_ml"
    assert newest["samples"] > 0
    assert newest["duration_s"] > 0
    assert 0 <= newest["error"] < 1
    told = [one["message"] for one in running.get("/api/events")["notifications"]]
    assert any("hybrid_ml retrained on" in message for message in told)


def test_csv_export_holds_every_result(paused: LiveService) -> None:
    answer = paused.client.get("/api/history/export", params={"format": "csv"})
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == paused.get("/api/history/trend")["collection"]["results"]


def test_parquet_export_can_be_read_back(paused: LiveService) -> None:
    import pyarrow.parquet as pq

    answer = paused.client.get("/api/history/export", params={"format": "parquet", "table": "tasks"})
    table = pq.read_table(io.BytesIO(answer.content))
    assert table.num_rows == paused.get("/api/history/trend")["collection"]["tasks"]


def test_clearing_empties_the_history_and_ids_go_on(paused: LiveService) -> None:
    before = paused.status()["last_task_id"]
    answer = paused.client.delete("/api/history")
    assert answer.status_code == 200
    assert answer.json()["tasks"] > 0
    assert paused.get("/api/full_history") == []
    paused.post("/api/simulation/start", {"speed": 10})
    paused.wait(lambda now: now["last_task_id"] > before + 5)
    paused.held()
    oldest = paused.get("/api/full_history", limit=1000)[-1]["task_id"]
    assert oldest == before + 1
    paused.post("/api/simulation/start", {"speed": 400})
    paused.wait(lambda now: now["last_task_id"] > before + 300)


async def test_a_download_that_cannot_begin_is_an_error_and_no_empty_file(application: Opener, tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    async with application(database_url=f"sqlite:///{path}") as client:
        rename(path, "scheduler_results", "hidden")
        answers = [await client.get("/api/history/export", params={"format": kind}) for kind in ("csv", "parquet")]
        rename(path, "hidden", "scheduler_results")
        whole = await client.get("/api/history/export")
    for answer in answers:
        assert answer.status_code == 503, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert "no such table" in answer.json()["detail"]
    assert (whole.status_code, whole.text.count("\n")) == (200, 1), "only its names: there are no rows yet"


async def test_a_download_that_breaks_off_is_seen_to_be_unfinished() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"task_id\n"
        raise StoreUnavailableError("The database is away.")

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await DownloadResponse(pieces(), media_type="text/csv").stream_response(send)
    assert [message.get("body") for message in sent] == [None, b"task_id\n"]
    assert sent[-1]["more_body"], "its end was never sent, so the server breaks the connection"
