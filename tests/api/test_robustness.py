"""Nobody's mistake is an error of ours: odd paths, strategies that fail, a store that refuses."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_ml_scheduler.api.app import create_app
from hybrid_ml_scheduler.settings import Settings
from tests.api.conftest import Opener

TASK = {"size": 100, "compute_intensity": 0.5, "memory_required": 10}
STRATEGIES = '''
from hybrid_ml_scheduler import Decision


class Falls:
    """Cannot decide a large task."""

    name = "falls"

    def decide(self, task, cluster):
        if task.size > 5000:
            raise RuntimeError("too large for me")
        return Decision(gpu_fraction=1.0)


class Stray:
    """Names a GPU that is not there."""

    name = "stray"

    def decide(self, task, cluster):
        return Decision(gpu_fraction=1.0, gpu=77 if task.size > 5000 else 0)


class Sets:
    """Says its reasons with what JSON does not know."""

    name = "sets"

    def decide(self, task, cluster):
        return Decision(gpu_fraction=1.0)

    def explain(self, task, cluster):
        return {"reason": "because", "tags": {"b", "a"}, "self": self, 3: float("nan"), "half": "\\ud800"}


class Mute:
    """Fails over its reasons for a large task."""

    name = "mute"

    def decide(self, task, cluster):
        return Decision(gpu_fraction=0.0)

    def explain(self, task, cluster):
        if task.size > 5000:
            raise LookupError("I forgot")
        return {}
'''


@pytest.fixture(scope="module")
def unopened() -> httpx.AsyncClient:
    """An application that was never opened: its pages are there, whatever needs a service is an unexpected error."""
    transport = httpx.ASGITransport(app=create_app(Settings()), raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000")


@pytest.mark.parametrize("path", ["/%00", "/a%00b", "/" + "x" * 300, "/assets/" + "y" * 5000, "//etc/passwd.txt"])
async def test_a_path_that_no_file_can_have_is_not_found(unopened: httpx.AsyncClient, path: str) -> None:
    answer = await unopened.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


@given(path=st.text(st.characters(exclude_categories=["Cs"]), max_size=400))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
async def test_whatever_path_is_asked_for_the_pages_do_not_break(unopened: httpx.AsyncClient, path: str) -> None:
    answer = await unopened.get("/" + quote(path, safe=""))
    assert answer.status_code in (200, 404)


async def test_an_unexpected_error_has_its_id_and_headers_in_answer_and_log(unopened: httpx.AsyncClient) -> None:
    with structlog.testing.capture_logs(processors=[structlog.contextvars.merge_contextvars]) as lines:
        answer = await unopened.get("/api/status", headers={"Origin": "http://localhost:8000"})
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert "default-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["access-control-allow-origin"] == "http://localhost:8000"
    identity = answer.headers["x-request-id"]
    assert answer.json()["request_id"] == identity
    assert {line["event"]: line.get("request_id") for line in lines} == {
        "unexpected error": identity,
        "request": identity,
    }


async def test_a_strategy_that_fails_over_a_task_is_named_and_the_task_refused(
    application: Opener, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(STRATEGIES)
    for name, sentence in (
        ("Falls", "The strategy falls failed at task 0: RuntimeError: too large for me."),
        ("Stray", "stray: task 0: there is no GPU 77 on this node."),
        ("Mute", "The strategy mute failed at task 0: LookupError: I forgot."),
    ):
        async with application(schedulers=(f"own.py:{name}",), data_dir=tmp_path / name) as client:
            answer = await client.post("/api/tasks", json={**TASK, "size": 6000})
            assert (answer.status_code, answer.json()["detail"]) == (422, sentence)
            assert (await client.post("/api/tasks", json=TASK)).status_code == 200


async def test_reasons_that_json_does_not_know_are_said_in_words(application: Opener, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(STRATEGIES)
    async with application(schedulers=("own.py:Sets",)) as client:
        answer = await client.post("/api/tasks", params={"run": "true"}, json=TASK)
        assert answer.status_code == 200, answer.text
        audit = (await client.get(f"/api/tasks/{answer.json()['task_id']}")).json()["strategies"]["sets"]
        assert audit["reason_origin"] == "at_decision"
        for reason in (answer.json()["decisions"]["sets"]["reason"], audit["reason"]):
            assert reason.pop("self").startswith("<")
            assert reason == {"reason": "because", "tags": ["a", "b"], "3": None, "half": r"\ud800"}
        health = (await client.get("/api/health")).json()
        assert health["engine"]["status"] == "ok"


async def test_a_strategy_that_fails_over_its_reasons_leaves_a_stored_task_readable(
    application: Opener, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(STRATEGIES)
    async with application(schedulers=("greedy",)) as client:
        large = {**TASK, "size": 6000}
        stored = (await client.post("/api/tasks", params={"run": "true"}, json=large)).json()["task_id"]
    async with application(schedulers=("own.py:Mute", "greedy")) as client:
        await client.post("/api/simulation/start", json={"new_run": True, "speed": 0.001})
        answer = await client.get(f"/api/tasks/{stored}")
        assert answer.status_code == 200, answer.text


async def test_a_store_that_refuses_is_no_mistake_of_the_client(application: Opener, tmp_path: Path) -> None:
    async with application(database_url=f"sqlite:///{tmp_path / 'odd.db'}") as client:
        with contextlib.closing(sqlite3.connect(tmp_path / "odd.db")) as other:
            other.execute("ALTER TABLE model_versions RENAME TO elsewhere")
        answer = await client.get("/api/models")
    assert answer.status_code == 503
    assert "no such table: model_versions" in answer.json()["detail"]


async def test_head_gives_the_head_of_what_get_gives(application: Opener) -> None:
    async with application() as client:
        for path in ("/", "/api/health", "/api/status", "/api/history/export", "/api/nothing", "/no.txt"):
            whole, head = await client.get(path), await client.head(path)
            assert head.status_code == whole.status_code
            assert head.headers["content-type"] == whole.headers["content-type"]
            assert head.content == b""
        measured = (await client.get("/api/metrics")).text
        assert 'method="HEAD",route="/api/health"' in measured.replace(" ", "")
