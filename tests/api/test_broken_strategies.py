"""Strategies of one's own that break in odd ways: no row is lost, nothing answers 500, and there is a way out."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
import structlog.testing

from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.service.control import opening
from hybrid_ml_scheduler.storage import Store, StoreWriter, integrity, open_store
from tests.api.conftest import Opener
from tests.api.service import PATIENCE_S
from tests.api.test_new_runs import checked, post, services_of, status_of, stored, until
from tests.api.test_refused_rows import rename
from tests.waiting import within

OWN = """
from hybrid_ml_scheduler import Decision


class Odd:
    name, label = "odd", "Od\\ud800d"

    def decide(self, task, cluster):
        if task.task_id == 45:
            raise RuntimeError("bad \\ud800 file\\0")
        return Decision(gpu_fraction=0.5)


Odd.__doc__ = "Says what it \\ud800 likes."


class Secretive:
    name = "secretive"

    def decide(self, task, cluster):
        return Decision(gpu_fraction=0.5)

    def capture(self):
        return {"own": lambda: 1}

    def restore(self, state):
        pass
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    return tmp_path / "data" / "hybrid_scheduler.db"


@pytest.mark.parametrize("speed", [0, 200])
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
async def test_whatever_a_strategy_says_when_it_breaks_can_be_stored_sent_and_shown(
    application: Opener, database: Path, kind: str, speed: int, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite+aiosqlite:///{database}" if kind == "sqlite" else request.getfixturevalue("fresh_postgres_url")
    async with application(schedulers=("greedy", "own.py:Odd"), speed=speed, database_url=url) as client:
        await post(client, "/api/simulation/start")
        status = await until(client, lambda now: now["problem"] is not None and now["backlog_rows"] == 0)
        sentence = r"The strategy odd failed at task 45: RuntimeError: bad \ud800 file ."
        assert (status["problem"], status["tasks_processed"], status["storage"]) == (sentence, 45, "ok")
        assert (await client.get("/api/health")).json()["database"]["status"] == "ok"
        told = (await client.get("/api/events")).json()["notifications"]
        assert [one["message"] for one in told if one["event"] == "race_halted"] == [sentence]
        async with within(PATIENCE_S):
            while json.loads(services_of(client).screen.snapshot("greedy"))["update"]["status"]["problem"] != sentence:
                await asyncio.sleep(0.01)
        described = {one["name"]: one for one in (await client.get("/api/strategies")).json()}
        assert described["odd"]["description"] == r"Says what it \ud800 likes."
        after = await post(client, "/api/simulation/start", {"new_run": True, "schedulers": ["greedy"], "speed": 200})
        assert (after["run_id"], after["problem"]) == (2, None)
        await until(client, lambda now: now["tasks_processed"] > 5)
    store = await open_store(url)
    found = await integrity(store)
    await store.close()
    assert found.whole, found
    assert found.tasks > 45


async def test_a_strategy_in_a_file_whose_name_is_no_text_is_raced(application: Opener, tmp_path: Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff")
    Path(folder).mkdir()
    (Path(folder) / "own.py").write_text(OWN, encoding="utf-8")
    spec = f"{folder}/own.py:Secretive"
    async with application(schedulers=(spec,), speed=200) as client:
        await post(client, "/api/simulation/start")
        await until(client, lambda now: now["tasks_processed"] > 5)
        refused = await post(client, "/api/simulation/start", {"new_run": True, "schedulers": ["none"]}, expected=422)
        assert "none" in refused["detail"]


async def test_stopping_a_race_whose_state_cannot_be_taken_says_so_and_loses_nothing(
    application: Opener, database: Path
) -> None:
    async with application(schedulers=("greedy", "own.py:Secretive"), speed=200) as client:
        await post(client, "/api/simulation/start")
        await until(client, lambda now: now["tasks_processed"] > 20)
        halted = await post(client, "/api/simulation/stop")
        assert (halted["state"], "AttributeError" in halted["problem"]) == ("stopped", True)
        assert stored(database, "SELECT COUNT(*) FROM tasks") == [(halted["tasks_processed"],)]
        assert stored(database, "SELECT state FROM runs") == [("stopped",)]
        refused = await post(client, "/api/simulation/start", expected=409)
        assert "AttributeError" in refused["detail"]
        again = await post(client, "/api/simulation/start", {"new_run": True})
        assert (again["run_id"], again["problem"]) == (2, None), "which can be raced, though not be stopped"
        await until(client, lambda now: now["tasks_processed"] > 20)
        third = await post(client, "/api/simulation/start", {"new_run": True})
        assert (third["run_id"], third["problem"]) == (3, None), "another run may take its place at any time"
        await until(client, lambda now: now["tasks_processed"] > 20)
        writer = writer_of(client)
    assert (writer.health().state, writer.health().backlog_rows) == ("closed", 0)
    async with application(new_run=True) as client:
        status = await status_of(client)
        assert (status["run_id"], status["problem"]) == (4, None)
    counts = stored(database, "SELECT run_id, COUNT(*) FROM tasks GROUP BY run_id ORDER BY run_id")
    assert [(run_id, tasks > 20) for run_id, tasks in counts] == [(1, True), (2, True), (3, True)]
    told = stored(database, "SELECT run_id FROM notifications WHERE key LIKE 'halt-%' ORDER BY run_id")
    assert told == [(1,), (2,), (3,)], "each run says why it ended"
    found = await checked(database)
    assert found.whole, found


def writer_of(client: Any) -> StoreWriter:
    found = services_of(client).race._writer  # type: ignore[attr-defined]
    assert isinstance(found, StoreWriter)
    return found


@pytest.mark.parametrize("broken", ["arena", "writer"])
async def test_at_the_end_each_part_is_closed_whatever_happens_to_the_others(
    application: Opener, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    closed: list[str] = []

    def noted(kind: type, name: str) -> None:
        close = kind.close  # type: ignore[attr-defined]

        def closing(self: Any, *arguments: Any) -> Any:
            closed.append(name)
            answer = close(self, *arguments)
            if name == broken:
                raise RuntimeError("It does not close.")
            return answer

        monkeypatch.setattr(kind, "close", closing)

    for kind, name in ((Arena, "arena"), (StoreWriter, "writer"), (Store, "store")):
        noted(kind, name)
    writers: list[StoreWriter] = []

    async def opened_and_closed() -> None:
        async with application(speed=200) as client:
            await post(client, "/api/simulation/start")
            writers.append(writer_of(client))
            closed.clear()

    with pytest.raises(RuntimeError, match="It does not close"):
        await opened_and_closed()
    assert [name for name in closed if name != "store"] == ["arena", "writer"]
    assert closed[-1] == "store"
    assert [writer.health().state for writer in writers] == ["closed"]


async def test_retention_outlives_a_store_that_refuses(
    application: Opener, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_RETENTION_EVERY_S", 0.05)
    address = f"sqlite:///{database}"
    async with application(speed=400, database_url=address) as client:
        await post(client, "/api/simulation/start")
        await until(client, lambda now: now["tasks_processed"] > 40)
        await post(client, "/api/simulation/stop")
    with structlog.testing.capture_logs() as lines:
        rename(database, "training_data", "hidden")
        async with application(database_url=address, retention_tasks=10), within(PATIENCE_S):
            while not any("refused" in line["event"] for line in lines):
                await asyncio.sleep(0.01)
            rename(database, "hidden", "training_data")
            while stored(database, "SELECT COUNT(*) FROM tasks") != [(10,)]:
                await asyncio.sleep(0.01)
    refusals = [line for line in lines if "refused" in line["event"]]
    assert (refusals[0]["log_level"], "no such table" in refusals[0]["problem"]) == ("error", True)
