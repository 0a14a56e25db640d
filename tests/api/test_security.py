"""Who may do what, how often, from where and how much of it."""

from __future__ import annotations

import asyncio

import httpx
import pytest
import websockets

from tests.api.conftest import Opener
from tests.api.service import PATIENCE_S, LiveService
from tests.waiting import within

KEY = "correct-horse-battery-staple"


async def test_in_production_every_changing_call_needs_the_key(application: Opener) -> None:
    async with application(environment="production", api_key=KEY) as client:
        changing = [
            ("POST", "/api/simulation/start"), ("POST", "/api/simulation/stop"), ("POST", "/api/simulation/pause"),
            ("POST", "/api/simulation/resume"), ("POST", "/api/pause"), ("POST", "/api/resume"),
            ("PATCH", "/api/simulation"), ("DELETE", "/api/history"), ("POST", "/api/tasks"),
        ]  # fmt: skip
        for method, path in changing:
            for headers in ({}, {"X-API-Key": "wrong"}, {"X-API-Key": KEY.upper()}):
                answer = await client.request(method, path, json={}, headers=headers)
                assert answer.status_code == 401, (method, path, answer.text)
                assert KEY not in answer.text
        allowed = await client.post("/api/simulation/start", headers={"X-API-Key": KEY})
        assert allowed.status_code == 200
        assert (await client.get("/api/status")).status_code == 200
        assert (await client.get("/api/settings")).json()["needs_api_key"]


async def exceeded(client: httpx.AsyncClient, limit: int) -> httpx.Response:
    """Ask up to the limit, which is allowed, and once more."""
    for place in range(limit):
        answer = await client.get("/api/status")
        assert answer.status_code == 200
        assert answer.headers["RateLimit-Remaining"] == str(limit - place - 1)
    return await client.get("/api/status")


async def test_the_rate_limit_refuses_the_call_after_the_last_allowed_one(application: Opener) -> None:
    async with application(rate_limit="5/minute") as client:
        refused = await exceeded(client, 5)
        assert refused.status_code == 429
        assert refused.headers["content-type"] == "application/problem+json"
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        assert (await client.get("/api/health")).status_code == 200


async def test_the_rate_limit_is_shared_between_processes_through_redis(application: Opener, redis_url: str) -> None:
    address = "10.1.2.3"
    async with application(rate_limit="5/hour", redis_url=redis_url, client_address=address) as client:
        assert (await exceeded(client, 5)).status_code == 429
    async with application(rate_limit="5/hour", redis_url=redis_url, client_address=address) as another:
        assert (await another.get("/api/status")).status_code == 429
    async with application(rate_limit="5/hour", redis_url=redis_url, client_address="10.1.2.4") as stranger:
        assert (await stranger.get("/api/status")).status_code == 200


async def test_the_rate_limit_opens_again_after_its_window(application: Opener) -> None:
    async with application(rate_limit="2/second") as client, within(PATIENCE_S):
        # Three calls fall into one second sooner or later, however slow the machine.
        while (refused := await client.get("/api/status")).status_code != 429:
            pass
        assert refused.headers["Retry-After"] == "1"
        while (await client.get("/api/status")).status_code != 200:
            await asyncio.sleep(0.1)


async def test_a_forged_forwarded_address_does_not_lift_the_limit(shared: LiveService) -> None:
    limited = LiveService(shared.folder.parent / "forged", {"HMS_RATE_LIMIT": "3/hour"})
    try:
        limited.start()  # which asks once
        codes = [
            limited.client.get("/api/status", headers={"X-Forwarded-For": f"10.0.0.{place}"}).status_code
            for place in range(5)
        ]
        assert codes == [200, 200, 429, 429, 429]
    finally:
        limited.close()


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_large_body_is_refused_whatever_it_announces(application: Opener, chunked: bool) -> None:
    async with application(max_body_bytes=1000) as client:

        async def pieces() -> object:
            for _ in range(10):
                yield b" " * 200

        body = pieces() if chunked else b" " * 2000
        answer = await client.post("/api/tasks", content=body)  # type: ignore[arg-type]
        assert answer.status_code == 413
        assert answer.headers["content-type"] == "application/problem+json"


async def test_every_answer_tells_browsers_what_is_allowed(application: Opener) -> None:
    async with application() as client:
        for path in ("/", "/api/status", "/api/nothing"):
            headers = (await client.get(path)).headers
            assert "default-src 'self'" in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"
            assert len(headers["x-request-id"]) == 16


async def test_only_listed_origins_may_read_from_a_browser(application: Opener) -> None:
    async with application(allowed_origins=("https://lab.example",)) as client:
        good = await client.get("/api/status", headers={"Origin": "https://lab.example"})
        bad = await client.get("/api/status", headers={"Origin": "https://evil.example"})
        assert good.headers["access-control-allow-origin"] == "https://lab.example"
        assert "access-control-allow-origin" not in bad.headers


async def test_a_page_of_a_foreign_origin_changes_nothing(application: Opener) -> None:
    async with application(allowed_origins=("https://lab.example",)) as client:
        for origin in ("https://evil.example", "http://127.0.0.1:9999", "null", "http://[", "https://lab.example:444"):
            for method, path in (("POST", "/api/pause"), ("PATCH", "/api/simulation"), ("DELETE", "/api/history")):
                refused = await client.request(method, path, json={}, headers={"Origin": origin})
                assert refused.status_code == 403, (origin, method, path)
                assert refused.headers["content-type"] == "application/problem+json"
                assert "HMS_ALLOWED_ORIGINS" in refused.json()["detail"]
            assert (await client.get("/api/status", headers={"Origin": origin})).status_code == 200


async def test_own_listed_and_no_origins_may_change_something(application: Opener) -> None:
    async with application(allowed_origins=("https://lab.example",)) as client:
        for headers in ({}, {"Origin": "https://lab.example"}, {"Origin": "http://127.0.0.1:8000"}):
            assert (await client.post("/api/pause", headers=headers)).status_code == 200
        by_number = {"Origin": "http://192.168.7.7:8000", "Host": "192.168.7.7:8000"}
        assert (await client.post("/api/pause", headers=by_number)).status_code == 200


async def test_a_name_that_may_be_made_to_point_here_is_our_own_only_where_a_key_is_needed(application: Opener) -> None:
    """A page loaded from elsewhere whose name then points here sends an origin and a host that are the same."""
    named = {"Origin": "http://scheduler.example:8000", "Host": "scheduler.example:8000"}
    async with application() as client:
        assert (await client.post("/api/pause", headers=named)).status_code == 403
        local = {"Origin": "http://localhost:9000", "Host": "localhost:9000"}
        assert (await client.post("/api/pause", headers=local)).status_code == 200
    key = "a-key-of-our-own-1234"
    async with application(api_key=key) as client:
        assert (await client.post("/api/pause", headers={**named, "X-API-Key": key})).status_code == 200
        assert (await client.post("/api/pause", headers=named)).status_code == 401


async def test_a_refused_question_of_a_browser_is_a_problem_like_any_other(application: Opener) -> None:
    async with application(allowed_origins=("https://lab.example",)) as client:
        asked = {"Origin": "https://lab.example", "Access-Control-Request-Method": "POST"}
        assert (await client.options("/api/pause", headers=asked)).status_code == 200
        for change in ({"Origin": "https://evil.example"}, {"Access-Control-Request-Method": "PUT"}):
            refused = await client.options("/api/pause", headers={**asked, **change})
            assert refused.status_code == 403
            assert refused.headers["content-type"] == "application/problem+json"
            assert refused.json()["detail"].endswith(".")
            assert len(refused.headers["x-request-id"]) == 16


async def test_a_foreign_origin_is_refused_at_the_socket(shared: LiveService) -> None:
    address = shared.url.replace("http", "ws") + "/ws"
    with pytest.raises(websockets.InvalidStatus) as refusal:
        async with websockets.connect(address, origin="http://evil.example"):  # type: ignore[arg-type]
            pass
    assert refusal.value.response.status_code == 403
    with pytest.raises(websockets.InvalidStatus):
        async with websockets.connect(
            address,
            origin="http://evil.example:80",  # type: ignore[arg-type]
            additional_headers={"Host": "evil.example:80"},
        ):
            pass
    async with websockets.connect(address, origin=shared.url) as socket:  # type: ignore[arg-type]
        assert '"snapshot"' in str(await socket.recv())[:40]


def test_secrets_reach_neither_log_nor_screen(shared: LiveService) -> None:
    secretive = LiveService(
        shared.folder.parent / "secretive",
        {
            "ENVIRONMENT": "production",
            "API_KEY": KEY,
            "LOG_LEVEL": "DEBUG",
            "REDIS_URL": "redis://:hush-hush@127.0.0.1:1/0",
        },
    )
    try:
        secretive.start()
        assert secretive.client.post("/api/pause", headers={"X-API-Key": KEY}).status_code == 200
        secretive.client.post("/api/pause", headers={"X-API-Key": "wrong-" + KEY})
        secretive.client.get("/api/health")
    finally:
        secretive.close()
    said = secretive.output + (secretive.folder / "logs" / "app.log").read_text()
    assert KEY not in said
    assert "hush-hush" not in said
    assert '"request"' in said
