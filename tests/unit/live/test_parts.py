"""The small parts of the arena, each on its own."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.live.hub import Hub
from hybrid_ml_scheduler.live.numbering import Numbering
from hybrid_ml_scheduler.live.pace import Pace, Speedometer


def test_pace_gives_the_first_task_at_once_and_then_one_every_interval() -> None:
    pace = Pace(10.0)
    taken = [pace.due(place / 1000) for place in range(1000)]
    assert taken[0] == 1
    assert sum(taken) == 10
    assert pace.wait_s(0.95) == pytest.approx(0.05, abs=0.002)


def test_pace_does_not_make_up_for_a_standstill_with_a_burst() -> None:
    pace = Pace(100.0)
    pace.due(0.0)
    assert sum(pace.due(10.0 + place / 1000) for place in range(10)) <= 26


def test_as_fast_as_possible_is_always_due() -> None:
    pace = Pace(0.0)
    assert pace.due(1.0) > 0
    assert pace.wait_s(1.0) == 0.0


def test_at_full_speed_as_many_are_due_as_a_turn_has_time_for() -> None:
    pace, taken = Pace(0.0), []
    for _ in range(7):
        taken.append(pace.due(1.0))
        pace.took(taken[-1], taken[-1], 0.0004 * taken[-1])
    assert taken == [1, 2, 4, 8, 16, 32, 64]
    for seconds, expected in ((0.005, 10), (0.07, 1), (0.001, 2)):
        due = pace.due(1.0)
        pace.took(due, due, seconds * due)
        assert pace.due(1.0) == expected


def test_what_there_was_no_time_for_is_still_owed() -> None:
    pace = Pace(100.0)
    pace.due(0.0)
    assert pace.due(0.04) == 4
    pace.took(4, 1, 0.07)
    assert pace.due(0.04) == 3


def test_speedometer_measures_over_its_window() -> None:
    meter = Speedometer(window_s=5.0)
    for second in range(20):
        meter.mark(float(second), 10 * second)
    assert meter.speed == pytest.approx(10.0)


def test_numbering_moves_ids_and_parents_along() -> None:
    numbering = Numbering()
    numbering.insert(next_stream_id=5)
    numbering.insert(next_stream_id=5)
    numbering.insert(next_stream_id=9)
    task = Task(
        task_id=9, size=1.0, compute_intensity=0.0, memory_required=0.0, arrival_time=0.0, dependencies=(4, 5, 8)
    )
    moved = numbering.renumber(task)
    assert (moved.task_id, moved.dependencies) == (12, (4, 7, 10))
    again = Numbering()
    again.restore(numbering.capture())
    assert again.renumber(task) == moved


async def test_a_viewer_that_does_not_look_misses_updates_and_holds_nobody_up() -> None:
    hub = Hub(capacity=2)
    with hub.connection("a") as sleeper, hub.connection("b") as watcher:
        assert hub.is_full
        seen = 0
        for _ in range(50):
            hub.refresh()
            lines, fresh = await asyncio.wait_for(watcher.news(), 60.0)
            seen += fresh
            assert lines == []
        assert seen == 50
        assert sleeper.missed == 49
        for number in range(1000):
            hub.line(str(number))
        lines, fresh = await sleeper.news()
        assert fresh
        assert lines == [str(number) for number in range(936, 1000)]
    assert len(hub) == 0


async def test_an_update_that_comes_while_viewers_are_woken_reaches_those_who_were_woken_before() -> None:
    hub = Hub(capacity=200)
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(hub.connection("greedy")) for _ in range(130)]  # more than are woken at once
        hub.refresh()
        await asyncio.sleep(0)
        early = [connection for connection in connections if connection._fresh]
        assert 0 < len(early) < len(connections)
        for connection in early:
            assert await connection.news() == ([], True)
        hub.refresh()
        for connection in connections:
            assert await asyncio.wait_for(connection.news(), 10.0) == ([], True)
