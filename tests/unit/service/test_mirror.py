"""What a service that follows makes of what it hears."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.live.frames import Frame, idle_frame
from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.service.viewers import mirror as mirrors
from hybrid_ml_scheduler.service.viewers.latest_frame import LatestFrame
from hybrid_ml_scheduler.service.viewers.mirror import Mirror
from hybrid_ml_scheduler.service.wire.live import Handout, SimulationUpdate


def frame(run_id: int = 1, tasks: Iterable[int] = ()) -> Frame:
    empty = idle_frame(time.time())
    recent = tuple(
        Task(task_id=number, size=1.0, compute_intensity=0.5, memory_required=1.0, arrival_time=0.0) for number in tasks
    )
    status = replace(empty.status, run_id=run_id, state="running")
    return replace(empty, status=status, task=recent[-1] if recent else None, recent_tasks=recent)


class Speaker:
    """A board that can be told to say everything it would say to those who follow."""

    def __init__(self, service: str) -> None:
        self.service = service
        self.latest_frame = LatestFrame(Hub(capacity=1))

    def update(self, run_id: int = 1, tasks: Iterable[int] = ()) -> bytes:
        """Make a newer update and return it."""
        self.latest_frame._take(frame(run_id, tasks))
        return self.latest_frame.encoded_update("hybrid_ml").encode()

    def handout(self) -> bytes:
        whole = Handout(service=self.service, snapshot=self.latest_frame.whole("hybrid_ml"), strategies=[])
        return whole.model_dump_json().encode()


async def heard(mirror: Mirror, *messages: bytes) -> Any:
    """Take messages; returns the snapshot that a viewer would get now."""
    for message in messages:
        mirror.take(message)
    await asyncio.sleep(0)  # lets viewers be woken
    return json.loads(mirror.snapshot("greedy"))


async def test_missed_updates_are_left_out_of_its_own_numbers() -> None:
    speaker, mirror = Speaker("a"), Mirror(Hub(capacity=1))
    begin = (await heard(mirror, speaker.update(), speaker.handout()))["seq"]
    assert (await heard(mirror, speaker.update()))["seq"] == begin + 1
    for _ in range(3):
        speaker.update()  # nobody hears these
    assert (await heard(mirror, speaker.update()))["seq"] == begin + 5


async def test_an_update_that_was_in_the_handout_is_not_shown_twice() -> None:
    speaker, mirror = Speaker("a"), Mirror(Hub(capacity=1))
    said = speaker.update()
    before = (await heard(mirror, speaker.handout()))["seq"]
    assert (await heard(mirror, said))["seq"] == before


async def test_a_service_that_begins_anew_never_turns_its_numbers_back() -> None:
    first, mirror = Speaker("a"), Mirror(Hub(capacity=1))
    for _ in range(5):
        first.update()
    first.latest_frame.log("of the first")
    before = await heard(mirror, first.handout())
    second = Speaker("b")
    seen = await heard(mirror, second.update())
    assert seen["seq"] == before["seq"], "nothing is shown before it is known who speaks"
    assert not mirror.has_thread, "it must ask who this is"
    second.latest_frame.log("of the second")
    after = await heard(mirror, second.handout())
    assert after["seq"] > seen["seq"]
    assert [line["message"] for line in after["log"]] == ["of the second"]


async def test_the_latest_tasks_have_no_hole_and_none_twice_whatever_was_missed() -> None:
    speaker, mirror = Speaker("a"), Mirror(Hub(capacity=1))
    overtaken = speaker.update(tasks=(1,))
    await heard(mirror, speaker.update(tasks=(2,)), speaker.handout())
    await heard(mirror, overtaken)
    assert not mirror.has_thread
    speaker.update(tasks=(3, 4))  # nobody hears this
    after = await heard(mirror, speaker.update(tasks=(5,)), speaker.handout())
    assert [task["id"] for task in after["recent_tasks"]] == [1, 2, 3, 4, 5]
    speaker.update(tasks=range(6, 60))
    mirror.miss()
    late = await heard(mirror, speaker.handout())
    assert [task["id"] for task in late["recent_tasks"]] == list(range(1, 60))
    assert [task["id"] for task in late["update"]["recent_tasks"]] == list(range(40, 60))


async def test_lines_that_were_missed_come_with_the_next_handout_and_none_twice() -> None:
    speaker, mirror = Speaker("a"), Mirror(Hub(capacity=1))
    speaker.latest_frame.log("one")
    await heard(mirror, speaker.handout())
    speaker.latest_frame.log("two")
    mirror.miss()
    speaker.latest_frame.log("three")
    told = await heard(mirror, speaker.handout(), speaker.handout())
    assert [line["message"] for line in told["log"]] == ["one", "two", "three"]


async def test_another_run_makes_it_ask_who_races_now() -> None:
    speaker, mirror = Speaker("a"), Mirror(Hub(capacity=1))
    await heard(mirror, speaker.update(), speaker.handout())
    assert mirror.has_thread
    await heard(mirror, speaker.update(run_id=2))
    assert not mirror.has_thread


async def test_viewers_are_told_once_of_a_silence_and_of_its_end(monkeypatch: Any) -> None:
    speaker, mirror = Speaker("a"), Mirror(Hub(capacity=1))
    heard_well = await heard(mirror, speaker.update(), speaker.handout())
    assert heard_well["update"]["status"]["out_of_sight"] is None
    monkeypatch.setattr(mirrors, "_SILENT_S", -1.0)
    mirror.miss()
    silent = await heard(mirror)
    mirror.miss()
    assert (await heard(mirror))["seq"] == silent["seq"] == heard_well["seq"] + 1
    assert "not been heard since" in silent["update"]["status"]["out_of_sight"]
    assert silent["update"]["status"]["state"] == "running", "as it was last heard"
    assert (await heard(mirror, speaker.handout()))["update"]["status"]["out_of_sight"] is None


async def test_a_silence_does_not_hide_why_the_race_itself_cannot_go_on(monkeypatch: Any) -> None:
    speaker, mirror = Speaker("a"), Mirror(Hub(capacity=1))
    said = SimulationUpdate.model_validate_json(speaker.update())
    halted = said.model_copy(update={"status": said.status.model_copy(update={"problem": "boom failed."})})
    await heard(mirror, halted.model_dump_json().encode())
    monkeypatch.setattr(mirrors, "_SILENT_S", -1.0)
    mirror.miss()
    status = (await heard(mirror))["update"]["status"]
    assert status["problem"] == "boom failed."
    assert "has not been heard" in status["out_of_sight"]


async def test_what_it_does_not_understand_is_said_and_changes_nothing_else() -> None:
    speaker, mirror = Speaker("a"), Mirror(Hub(capacity=1))
    before = await heard(mirror, speaker.update(), speaker.handout())
    for garbage in (b"", b"\xff\xfe", b"[]", b'{"type": "simulation_update", "seq": 9}', b'{"type": "who"}'):
        after = await heard(mirror, garbage)
        assert "same version" in after["update"]["status"]["out_of_sight"]
        assert after["update"]["tasks_processed"] == before["update"]["tasks_processed"]
    assert (await heard(mirror, speaker.update()))["update"]["status"]["out_of_sight"] is None
