"""The node in motion: what the stored parts say is what the race itself knows of its devices."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.service import PATIENCE_S, LiveService
from tests.e2e.truth import snapshot

NAMES = ("greedy", "random")


@pytest.fixture
def jammed(running: LiveService) -> Iterator[LiveService]:
    """A race with queues, held where everything is stored and shown."""
    running.client.patch("/api/simulation", json={"arrival_rate": 40, "speed": 400})
    before = running.status()["tasks_processed"]
    running.wait(lambda now: now["tasks_processed"] > before + 300)
    tasks = running.held("pause")["tasks_processed"]  # before the queues become shorter
    deadline_s = time.monotonic() + PATIENCE_S
    while running.get("/api/standings")["tasks"] != tasks:
        assert time.monotonic() < deadline_s
        time.sleep(0.05)
    yield running
    running.client.patch("/api/simulation", json={"arrival_rate": 6})


def strategies(live: LiveService, **query: Any) -> dict[str, Any]:
    motion = live.get("/api/node", scheduler=NAMES, **query)
    return {"motion": motion, **{one["scheduler"]: one for one in motion["strategies"]}}


def test_queues_and_backlogs_of_every_device_are_those_of_the_race(jammed: LiveService) -> None:
    found, clusters = strategies(jammed), snapshot(jammed)["update"]["clusters"]
    motion = found["motion"]
    assert motion["is_complete"]
    for name in NAMES:
        one = found[name]
        assert max(one["free_in_s"]) > 1.0, "there is a queue"
        for place, device in enumerate(motion["devices"]):
            load = clusters[name][device]
            assert one["free_in_s"][place] == pytest.approx(load["backlog_s"], abs=1e-6), device
            parts = zip(one["parts"]["device"], one["parts"]["begin_s"], one["parts"]["end_s"], strict=True)
            runs = sum(at == place and begin <= motion["now_s"] < end for at, begin, end in parts)
            assert one["waiting_now"][place] + runs == load["queue_length"], device
        assert one["waiting"][-1] == sum(one["waiting_now"])
        assert min(one["waiting"]) >= 0


def test_the_parts_are_those_of_the_ledger_and_none_overlaps_another_on_its_device(jammed: LiveService) -> None:
    found = strategies(jammed, seconds=10)
    motion = found["motion"]
    for name in NAMES:
        parts = found[name]["parts"]
        assert found[name]["left_out"] == 0
        assert parts["begin_s"] == sorted(parts["begin_s"])
        lanes = defaultdict(list)
        for device, begin, end in zip(parts["device"], parts["begin_s"], parts["end_s"], strict=True):
            assert end > motion["begin_s"]
            assert begin < motion["end_s"]
            lanes[device].append((begin, end))
        for lane in lanes.values():
            assert all(first[1] <= second[0] + 1e-9 for first, second in itertools.pairwise(sorted(lane)))
        newest = parts["task_id"][-1]
        audit = jammed.get(f"/api/tasks/{newest}")["strategies"][name]["gantt"]
        own = {round(part["begin"], 9) for part in audit["intervals"] if part["task_id"] == newest}
        assert round(parts["begin_s"][-1], 9) in own


def test_the_trace_is_one_that_a_viewer_opens_with_every_part_of_the_newest_tasks(jammed: LiveService) -> None:
    answer = jammed.client.get("/api/history/trace", params={"scheduler": NAMES, "tasks": 200})
    assert answer.headers["content-disposition"].endswith('-trace.json"')
    events = answer.json()["traceEvents"]
    slices = [event for event in events if event["ph"] == "X"]
    assert {event["pid"] for event in slices} == {1, 2}
    assert len({event["name"] for event in slices}) == 200
    assert {event["args"]["name"] for event in events if event["name"] == "process_name"} == set(NAMES)
    lanes = defaultdict(list)
    for event in slices:
        assert isinstance(event["tid"], int)
        lanes[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for lane in lanes.values():
        assert all(first[1] <= second[0] + 1e-3 for first, second in itertools.pairwise(sorted(lane)))


def test_what_cannot_be_shown_is_refused_with_a_sentence(running: LiveService) -> None:
    assert running.client.get("/api/node").status_code == 422
    missing = running.client.get("/api/node", params={"scheduler": "greedy", "run_id": 999})
    assert missing.status_code == 404
    assert missing.json()["detail"] == "There is no run 999 in the history."
    assert running.client.get("/api/node", params={"scheduler": "greedy", "seconds": 0}).status_code == 422
