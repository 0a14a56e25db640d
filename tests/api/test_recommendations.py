"""Recommendations: searched for beside the race, followed, cancelled, found again; all of it marked as modelled."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from hybrid_ml_scheduler.studies.recommending.search import DEFAULT_POLICIES
from tests.api.conftest import Opener

_DEMAND: dict[str, Any] = {
    "workload": "mixed",
    "num_tasks": 200,
    "arrival_rate": 5.0,
    "nodes": [{"gpu_type": "t4", "gpus": 1}, {"gpu_type": "a100", "gpus": 2}],
    "promise": "p95_latency < 1000 s",
    "policies": ["earliest_finish", "greedy"],
    "seeds": 2,
}


async def _ended(client: httpx.AsyncClient, number: int) -> Any:
    while (found := (await client.get(f"/api/recommendations/{number}")).json())["state"] == "running":
        await asyncio.sleep(0.05)
    return found


async def test_the_cheapest_node_that_keeps_the_promise_is_found_and_kept(application: Opener) -> None:
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
        assert record["sentences"][0].startswith(f"Take {cheapest['node']}")
        assert {(one["node"], one["policy"]) for one in record["trials"]} >= {(cheapest["node"], "greedy")}
    async with application() as client:  # a restart finds it again
        kept = (await client.get("/api/recommendations")).json()
        assert kept == {"recommendations": [found], "usual_policies": list(DEFAULT_POLICIES)}
        assert (await client.delete(f"/api/recommendations/{number}")).status_code == 200
        assert (await client.get(f"/api/recommendations/{number}")).status_code == 404


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
        ({"promise": "soon"}, "must have the form METRIC < LIMIT"),
        ({"nodes": [{"gpu_type": "tx", "gpus": 1}]}, "tx"),
        ({"nodes": []}, "nodes"),
        ({"policies": ["nobody"]}, "nobody"),
        ({"policies": ["own.py:Mine"]}, "policies"),
        ({"workload": "nothing"}, "nothing"),
        ({"workload": None}, "either workload or upload"),
        ({"workload": None, "upload": "0" * 32}, "There is no uploaded trace"),
        ({"target_load": 0.5}, "target_load is for an upload"),
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
