"""What viewers see is made once, and anew as soon as there is something new."""

from __future__ import annotations

import json
import time

from hybrid_ml_scheduler.live.frames import idle_frame
from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.service.viewers.latest_frame import LatestFrame


async def test_viewers_who_come_together_share_one_snapshot() -> None:
    latest_frame = LatestFrame(Hub(capacity=10))
    first = latest_frame.snapshot("greedy")
    assert latest_frame.snapshot("greedy") is first
    assert latest_frame.snapshot("oracle") is not first
    assert latest_frame.snapshot("greedy") is first


async def test_a_line_or_a_frame_makes_the_snapshot_new() -> None:
    latest_frame = LatestFrame(Hub(capacity=10))
    before = latest_frame.snapshot("greedy")
    latest_frame.log("something happened")
    told = json.loads(latest_frame.snapshot("greedy"))
    assert [line["message"] for line in told["log"]] == ["something happened"]
    latest_frame._take(idle_frame(time.time()))
    assert json.loads(latest_frame.snapshot("greedy"))["seq"] == json.loads(before)["seq"] + 1
