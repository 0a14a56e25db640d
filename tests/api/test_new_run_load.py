"""The arrivals of a new run on another node, and the load that is told before it begins."""

from __future__ import annotations

from tests.api.conftest import Opener
from tests.api.test_new_runs import post, status_of


async def test_more_gpus_change_neither_the_arrivals_nor_the_rate_that_was_told_beforehand(
    application: Opener,
) -> None:
    hidden = {"workload": "unknown", "knowledge": "learned"}
    async with application(**hidden) as client:
        first = await post(client, "/api/simulation/start", {"speed": 5})
    async with application(**hidden) as client:
        wish = {"new_run": True, "num_gpus": 2, "seed": first["seed"]}
        told = await post(client, "/api/simulation/preview", wish)
        assert (await status_of(client))["run_id"] == first["run_id"], "a question begins nothing"
        second = await post(client, "/api/simulation/start", wish)
        rates = [one["workload"]["arrival_rate"] for one in (first, second)]
        assert rates == [told["arrival_rate"]] * 2
        assert told["load"] > 0.7, "the load that results is told"
        kept = await post(client, "/api/simulation/start", {**wish, "workload": "unknown", "target_load": 0.6})
        assert kept["workload"]["arrival_rate"] < rates[0]
