"""Which strategies a client may ask for."""

from __future__ import annotations

from pathlib import Path

from tests.api.conftest import Opener
from tests.api.test_new_runs import post, until

OWN = """
from pathlib import Path

from hybrid_ml_scheduler import Decision

Path("was_run").touch()


class Own:
    name = "own"

    def decide(self, task, cluster):
        return Decision(gpu_fraction=1.0)
"""


async def test_a_file_that_nobody_named_at_the_start_is_refused_and_not_run(
    application: Opener, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(OWN)
    async with application() as client:
        for asked in ("own.py:Own", "own.py", f"{tmp_path}/own.py:Own", f"{tmp_path}/süß/../own.py:Own"):
            answer = await client.post("/api/simulation/start", json={"new_run": True, "schedulers": [asked]})
            assert answer.status_code == 422
            assert f"hms serve --scheduler {asked}" in answer.json()["detail"]
        for asked in ("/dev/null:Own", "a/b/c", "x" * 1000, "..", ":", "own.py\0:Own"):
            answer = await client.post("/api/simulation/start", json={"new_run": True, "schedulers": [asked]})
            assert answer.status_code == 422, asked
        unknown = await client.post("/api/simulation/start", json={"new_run": True, "schedulers": ["greddy"]})
        assert (unknown.status_code, "greedy" in unknown.json()["detail"]) == (422, True)
        assert (await client.get("/api/status")).json()["run_id"] is None
    assert not (tmp_path / "was_run").exists()


async def test_a_file_named_at_the_start_may_be_asked_for_by_its_name_and_as_it_was_written(
    application: Opener, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(OWN)
    async with application(schedulers=("own.py:Own", "greedy")) as client:
        for asked in (["greedy"], ["own"], ["oracle"], ["own.py:Own", "random"]):
            answer = await client.post("/api/simulation/start", json={"new_run": True, "schedulers": asked})
            assert answer.status_code == 200, answer.text
            assert answer.json()["schedulers"] == [name.removesuffix(".py:Own") for name in asked]
            assert "own" in {card["name"] for card in (await client.get("/api/strategies")).json()}
    async with application() as client:  # the stored run goes on, and its strategies may be asked for again
        for asked in (["greedy"], ["own"]):
            answer = await client.post("/api/simulation/start", json={"new_run": True, "schedulers": asked})
            assert (answer.status_code, answer.json()["schedulers"]) == (200, asked)


async def test_whatever_is_listed_may_be_asked_for(application: Opener) -> None:
    async with application() as client:
        cards = (await client.get("/api/strategies")).json()
        names = [card["name"] for card in cards if card["kind"] != "learner"]
        answer = await client.post("/api/simulation/start", json={"new_run": True, "schedulers": names})
        assert answer.status_code == 200, answer.text
        assert answer.json()["schedulers"] == names


async def test_statistics_compare_those_of_the_present_run_alone(application: Opener) -> None:
    """Strategies of different runs met different tasks."""
    async with application(schedulers=("greedy", "random")) as client:
        await post(client, "/api/simulation/start", {"speed": 200})
        await until(client, lambda now: now["tasks_processed"] > 20)
        await post(client, "/api/simulation/start", {"new_run": True, "schedulers": ["greedy", "oracle"], "speed": 200})
        await until(client, lambda now: now["tasks_processed"] > 20)
        status = await post(client, "/api/simulation/stop")
        stats = (await client.get("/api/stats")).json()
    assert stats["win_loss"]["latency"]["schedulers"] == ["greedy", "oracle"]
    assert stats["tasks"] == status["tasks_processed"]
    assert stats["first_task_id"] == status["tasks_total"] - status["tasks_processed"]
