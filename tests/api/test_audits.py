"""A stored task from every side, whichever run it belongs to."""

from __future__ import annotations

import sqlite3
from pathlib import Path

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


async def test_every_part_is_drawn_where_it_is_stored(application: Opener, tmp_path: Path) -> None:
    async with application(schedulers=("random",)) as client:
        await post(client, "/api/simulation/start", {"speed": 400, "arrival_rate": 40})
        await until(client, lambda now: now["tasks_processed"] > 120)
        last = (await post(client, "/api/simulation/stop"))["last_task_id"]
        gantt = (await client.get(f"/api/tasks/{last - 30}")).json()["strategies"]["random"]["gantt"]
    drawn = {(part["task_id"], part["device"]): (part["begin"], part["end"]) for part in gantt["intervals"]}
    with sqlite3.connect(tmp_path / "data" / "hybrid_scheduler.db") as connection:
        rows = connection.execute(
            "SELECT task_id, gpu_id, cpu_start, cpu_part, gpu_start, gpu_part FROM scheduler_results"
        ).fetchall()
    stored = {}
    for task_id, gpu, *times in rows:
        for device, start, seconds in (("cpu", *times[:2]), (f"gpu_{gpu}", *times[2:])):
            if start is not None:
                stored[task_id, device] = (start, start + seconds)
    assert drawn == {key: stored[key] for key in drawn}
    assert sum(device == "cpu" for _, device in drawn) > 3
    assert len({task_id for task_id, _ in drawn}) < len(drawn), "splits have two parts"
