"""What viewers see is made once, and anew as soon as there is something new."""

from __future__ import annotations

import json
import time

from hybrid_ml_scheduler.live.frames import idle_frame
from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.service.viewers.board import Board


async def test_viewers_who_come_together_share_one_snapshot() -> None:
    board = Board(Hub(capacity=10))
    first = board.snapshot("greedy")
    assert board.snapshot("greedy") is first
    assert board.snapshot("oracle") is not first
    assert board.snapshot("greedy") is first


async def test_a_line_or_a_frame_makes_the_snapshot_new() -> None:
    board = Board(Hub(capacity=10))
    before = board.snapshot("greedy")
    board.log("something happened")
    told = json.loads(board.snapshot("greedy"))
    assert [line["message"] for line in told["log"]] == ["something happened"]
    board._take(idle_frame(time.time()))
    assert json.loads(board.snapshot("greedy"))["seq"] == json.loads(before)["seq"] + 1
