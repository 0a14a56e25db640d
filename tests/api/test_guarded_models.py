"""What a guard refused is stored and told, and the last good model is called back over HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_ml_scheduler.cli.main import run
from tests.api.conftest import Opener
from tests.api.service import LiveService
from tests.api.test_new_runs import post, until
from tests.unit.live import guarded

GUARDED = f"{Path(guarded.__file__).resolve()}:Guarded"


async def test_a_refusal_is_stored_and_told_and_the_last_good_model_called_back(application: Opener) -> None:
    async with application(schedulers=(GUARDED, "greedy"), retrain_interval=10, retraining="synchronous") as client:
        before = await client.post("/api/models/guarded/rollback")
        assert (before.status_code, "start one first" in before.json()["detail"]) == (409, True)
        await post(client, "/api/simulation/start", {"speed": 0})
        await until(client, lambda now: now["learning"]["guarded"]["refused"] > 0)
        await post(client, "/api/simulation/pause")
        done = await post(client, "/api/models/guarded/rollback")
        assert (done["scheduler"], done["outcome"]) == ("guarded", "recalled")
        stored = (await client.get("/api/models", params={"limit": 1000})).json()["models"]
        assert stored[0] == done
        first = {one["version"]: one for one in stored}
        assert [first[version]["outcome"] for version in (1, 2, 3)] == ["activated", "activated", "refused"]
        assert (first[3]["held_out_error"], first[3]["present_error"]) == (0.5, 0.3)
        told = {one["event"]: one for one in (await client.get("/api/events")).json()["notifications"]}
        assert told["model_refused"]["level"] == "warning"
        assert told["model_refused"]["data"]["outcome"] == "refused"
        assert "decides with its earlier model again" in told["model_recalled"]["message"]
        for name in ("guarded", "greedy"):
            again = await client.post(f"/api/models/{name}/rollback")
            assert (again.status_code, again.json()["title"]) == (409, "Conflict")


def test_the_command_says_what_the_service_says(running: LiveService, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rollback", "greedy", "--url", running.url]) == 2
    assert "greedy is no strategy of this race whose model is trained apart" in capsys.readouterr().err
    assert run(["rollback", "nobody", "--url", running.url]) == 2
    assert "nobody is no strategy of this race" in capsys.readouterr().err
