"""A stored task from every side, whichever run it belongs to."""

from __future__ import annotations

from tests.api.conftest import Opener
from tests.api.test_new_runs import post, until


async def test_a_task_is_shown_on_the_node_and_among_the_tasks_of_its_own_run(application: Opener) -> None:
    """Ids go on from run to run, but each run has its own clock, and maybe another node."""
    async with application(num_gpus=2) as client:
        await post(client, "/api/simulation/start", {"speed": 200})
        await until(client, lambda now: now["tasks_processed"] > 40)
        last = (await post(client, "/api/simulation/stop"))["last_task_id"]
    async with application(num_gpus=3, new_run=True, autostart=True, speed=200) as client:
        await until(client, lambda now: now["tasks_processed"] > 40)
        await post(client, "/api/simulation/stop")
        for task_id, gpus, own in ((last, 2, range(last + 1)), (last + 5, 3, range(last + 1, last + 1000))):
            audit = (await client.get(f"/api/tasks/{task_id}")).json()
            gantt = audit["strategies"]["greedy"]["gantt"]
            assert gantt["devices"] == ["cpu", *(f"gpu_{gpu}" for gpu in range(gpus))]
            assert {part["task_id"] for part in gantt["intervals"]} <= set(own)
            assert gantt["intervals"]
