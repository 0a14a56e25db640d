"""Recommendations: searched for beside the race, followed, cancelled, found again; all of it marked as modelled."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from hybrid_ml_scheduler.studies.recommending.question import DEFAULT_POLICIES
from tests.api.conftest import Opener

_DEMAND: dict[str, Any] = {
    "workload": "mixed",
    "num_tasks": 200,
    "arrival_rate": 5.0,
    "nodes": [{"gpu_type": "t4", "gpus": 1}, {"gpu_type": "a100", "gpus": 2}],
    "target": "p95_latency < 1000 s",
    "policies": ["earliest_finish", "greedy"],
    "seeds": 2,
}


async def _ended(client: httpx.AsyncClient, number: int) -> Any:
    while (found := (await client.get(f"/api/recommendations/{number}")).json())["state"] == "running":
        await asyncio.sleep(0.05)
    return found


async def test_the_cheapest_node_that_keeps_the_target_is_found_and_kept(application: Opener) -> None:
    async with application() as client:
        asked = await client.post("/api/recommendations", json=_DEMAND)
        assert asked.status_code == 202, asked.text
        number = asked.json()["recommendation_id"]
        second = await client.post("/api/recommendations", json=_DEMAND)
        assert second.status_code == 409
        found = await _ended(client, number)
        assert found["state"] == "done", found["problem"]
        record = found["record"]
        assert record["kind"] == "modelled"
        cheapest = min(record["trials"], key=lambda one: one["price_usd_h"])
        assert record["recommended"]["node"] == cheapest["node"]
        assert record["sentences"][0].startswith(f"At 5 tasks a second, take {cheapest['node']}")
        assert {(one["node"], one["policy"]) for one in record["trials"]} >= {(cheapest["node"], "greedy")}
    async with application() as client:  # a restart finds it again
        kept = (await client.get("/api/recommendations")).json()
        assert kept == {"recommendations": [found], "usual_policies": list(DEFAULT_POLICIES)}
        assert (await client.delete(f"/api/recommendations/{number}")).status_code == 200
        assert (await client.get(f"/api/recommendations/{number}")).status_code == 404


async def test_a_budget_a_share_and_the_former_name_of_a_target_are_asked_for_alike(application: Opener) -> None:
    plain = {key: value for key, value in _DEMAND.items() if key != "target"}
    async with application() as client:
        for asked, words in (
            ({"best": "p95_latency", "budget": "$1/h", "current": "2 x a100"}, "for at most $1.00 an hour"),
            ({"target": "50 % within 1000 s", "knowledge": "exact"}, "100.0 % of the tasks are done within 1000 s"),
            ({"promise": "p95_latency < 1000 s"}, "It keeps the target p95_latency < 1000 s"),
        ):
            number = (await client.post("/api/recommendations", json={**plain, **asked})).json()["recommendation_id"]
            found = await _ended(client, number)
            assert found["state"] == "done", found["problem"]
            assert words in found["record"]["sentences"][0]
            assert found["record"]["recommended"]["node"] == "1 x t4"
            assert found["record"]["knowledge"] == asked.get("knowledge", "learned")
            assert found["record"]["promise"] == found["record"]["target"]


async def test_a_search_is_cancelled_and_the_next_one_may_begin(application: Opener) -> None:
    async with application() as client:
        number = (await client.post("/api/recommendations", json={**_DEMAND, "num_tasks": 100_000})).json()[
            "recommendation_id"
        ]
        for _ in range(2):  # repeating it changes nothing
            gone = await client.post(f"/api/recommendations/{number}/cancel")
            assert gone.json()["state"] == "cancelled"
        again = await client.post("/api/recommendations", json={**_DEMAND, "num_tasks": 100_000})
        assert again.status_code == 202
    async with application() as client:  # the service ended first
        last = (await client.get(f"/api/recommendations/{again.json()['recommendation_id']}")).json()
        assert (last["state"], last["problem"]) == (
            "failed",
            "The service ended before the search was done; ask again.",
        )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"target": "soon"}, "must have the form 'p95_latency < 2 s' or '95 % within 2 s'"),
        ({"best": "p95_latency"}, "one of target (promise is its former name) and best must be given"),
        ({"target": None}, "one of target (promise is its former name) and best must be given"),
        ({"target": None, "best": "p95_latency", "budget": "much"}, "budget = 'much' must have the form"),
        ({"current": "nothing"}, "current = 'nothing' is none of the nodes"),
        ({"policies": ["oracle"]}, "oracle cannot be recommended"),
        ({"nodes": [{"gpu_type": "tx", "gpus": 1}]}, "tx"),
        ({"nodes": []}, "nodes"),
        ({"policies": ["nobody"]}, "nobody"),
        ({"policies": ["own.py:Mine"]}, "policies"),
        ({"workload": "nothing"}, "nothing"),
        ({"workload": None}, "either workload or upload"),
        ({"workload": None, "upload": "0" * 32}, "There is no uploaded trace"),
        ({"target_load": 0.5}, "only one can be given"),
        ({"target_load": 0.5, "arrival_rate": None}, "name that node as the reference node"),
    ],
)
async def test_what_cannot_be_asked_is_refused_in_one_sentence(
    application: Opener, change: dict[str, Any], words: str
) -> None:
    async with application() as client:
        answer = await client.post("/api/recommendations", json={**_DEMAND, **change})
        assert answer.status_code == 422, answer.text
        assert words in answer.json()["detail"]
        assert (await client.get("/api/recommendations")).json()["recommendations"] == []
