"""A strategy that hangs in its own code: health says so in time, and nothing waits for ever."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from hybrid_ml_scheduler.service.control.asking import Pulse, ask_arena
from hybrid_ml_scheduler.service.problems import Unavailable
from tests.api.conftest import Opener
from tests.api.service import PATIENCE_S, service
from tests.unit.live.house import house
from tests.waiting import within

STUCK = """
import time
from pathlib import Path

from hybrid_ml_scheduler import Decision


class Stuck:
    name = "stuck"

    def decide(self, task, cluster):
        Path("{0}.begun").touch()
        while not Path("{0}").exists():
            time.sleep(0.01)
        return Decision(gpu_fraction=1.0)
"""


UNTEACHABLE = """
import time
from pathlib import Path

from hybrid_ml_scheduler import Decision


class Unteachable:
    name = "unteachable"

    def decide(self, task, cluster):
        return Decision(gpu_fraction=1.0)

    def training_due(self):
        return True

    def training_data(self):
        return None

    def fit(self, data):
        Path("{0}.begun").touch()
        while not Path("{0}").exists():
            time.sleep(0.01)

    def activate(self, model, data):
        pass
"""


async def test_health_says_in_time_that_the_engine_hangs_and_that_it_is_back(
    application: Opener, tmp_path: Path
) -> None:
    (tmp_path / "stuck.py").write_text(STUCK.format(tmp_path / "go"))
    async with application(schedulers=("stuck.py:Stuck",)) as client:
        idle = (await client.get("/api/health")).json()["engine"]
        assert idle["status"] == "ok"
        assert idle["latency_ms"] > 0.0
        starting = asyncio.create_task(client.post("/api/simulation/start", json={"speed": 0}))
        async with within(PATIENCE_S):
            while not (tmp_path / "go.begun").exists():
                await asyncio.sleep(0.01)
        took_s = []
        for _ in range(3):  # the best of them: a busy machine may keep anybody waiting for a moment
            begin_s = time.monotonic()
            answer = await client.get("/api/health")
            took_s.append(time.monotonic() - begin_s)
        assert min(took_s) < 2.0
        assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
        assert answer.json()["engine"]["status"] == "down"
        assert answer.json()["engine"]["latency_ms"] is None
        assert "a strategy may be stuck" in answer.json()["engine"]["detail"]
        (tmp_path / "go").touch()
        assert (await starting).status_code == 200
        async with within(PATIENCE_S):
            while (await client.get("/api/health")).json()["engine"]["status"] != "ok":
                await asyncio.sleep(0.01)


async def test_a_command_is_not_waited_for_for_ever_and_is_taken_back(tmp_path: Path) -> None:
    go, obeyed = tmp_path / "go", []
    (tmp_path / "stuck.py").write_text(STUCK.format(go))
    with house() as place:
        place.enter(f"{tmp_path / 'stuck.py'}:Stuck")
        place.wait((tmp_path / "go.begun").exists)
        with pytest.raises(Unavailable, match="has not answered for 0 s"):
            await ask_arena(place.arena, lambda: obeyed.append("late"), within_s=0.2)
        pulse = Pulse(place.arena)
        assert (await pulse.feel(within_s=0.05))[0] is None
        assert (await pulse.feel(within_s=0.05))[0] is None
        go.touch()
        latency_s, silence = await pulse.feel(within_s=PATIENCE_S)
        assert latency_s is not None
        assert latency_s > 0.1, "one question was asked, and its answer took as long as it took"
        assert silence == ""
        assert await ask_arena(place.arena, lambda: "obeyed") == "obeyed"
        assert obeyed == []


def test_the_end_does_not_wait_for_an_engine_that_hangs(tmp_path: Path) -> None:
    go = tmp_path / "go"
    (tmp_path / "stuck.py").write_text(STUCK.format(go))
    with house() as place:
        place.enter(f"{tmp_path / 'stuck.py'}:Stuck")
        place.wait((tmp_path / "go.begun").exists)
        place.arena.close(within_s=0.2)
        assert place.arena.is_alive
        go.touch()
        place.wait(lambda: not place.arena.is_alive)


def test_the_end_does_not_wait_for_a_training_that_hangs(tmp_path: Path) -> None:
    go = tmp_path / "go"
    (tmp_path / "unteachable.py").write_text(UNTEACHABLE.format(go))
    with house() as place:
        race = place.enter(f"{tmp_path / 'unteachable.py'}:Unteachable")
        place.wait(lambda: (tmp_path / "go.begun").exists())
        closing = threading.Thread(target=place.arena.close)
        closing.start()
        closing.join(60.0)
        has_ended, hanging = not closing.is_alive(), [one for one in threading.enumerate() if one.name == "training"]
        go.touch()
        closing.join(PATIENCE_S)
        assert has_ended
        assert [thread.daemon for thread in hanging] == [True], "the process does not wait for it"
        assert place.keeper.task_ids == list(range(race.tasks_processed)), "the race itself has ended in order"
        hanging[0].join(PATIENCE_S)


def test_a_service_ends_although_a_training_hangs(tmp_path: Path) -> None:
    (tmp_path / "unteachable.py").write_text(UNTEACHABLE.format(tmp_path / "go"))
    environment = {"HMS_SCHEDULERS": f"greedy,{tmp_path / 'unteachable.py'}:Unteachable"}
    with service(tmp_path, environment) as live:
        live.post("/api/simulation/start", {"speed": 100})
        live.wait(lambda status: (tmp_path / "go.begun").exists() and status["tasks_processed"] > 5)
        assert live.stop() == 0
