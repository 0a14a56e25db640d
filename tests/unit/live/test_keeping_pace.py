"""The arena's own loop on a clock that moves only while the arena waits: what it reaches is then exact."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from hybrid_ml_scheduler.live import arena as arena_module
from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.live.race import Race
from tests.unit.live.house import CHEAP, MemoryKeeper, MemoryViewers, mixed_course

_MOST_TURNS = 5_000


class Clock:
    """Stands in for the module `time` of the arena."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s

    def time(self) -> float:
        return self.now_s


class NoCommands(queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]]):
    """Nobody ever asks for anything: waiting for a command passes the whole time on the clock."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.turns = 0

    def get(self, block: bool = True, timeout: float | None = None) -> tuple[Callable[[], Any], Future[Any]]:
        self.clock.now_s += timeout or 0.0
        return self.get_nowait()

    def get_nowait(self) -> tuple[Callable[[], Any], Future[Any]]:
        self.turns += 1
        assert self.turns < _MOST_TURNS, "it turns without waiting"
        raise queue.Empty


@pytest.mark.parametrize("speed", [1.0, 40.0, 350.0])
def test_the_race_is_as_fast_as_its_pace_and_never_ahead(speed: float, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(arena_module, "time", clock)
    arena = Arena(MemoryKeeper(), MemoryViewers(), speed=speed, frame_every_s=0.05)
    arena._commands = NoCommands(clock)
    race = Race(mixed_course(CHEAP), run_id=1, first_task_id=0)
    arena.enter(race, "running")
    begin_s = clock.now_s
    while clock.now_s < begin_s + 4.0:
        arena._obey(arena._live())
        passed_s = clock.now_s - begin_s
        assert speed * passed_s - 1.0 <= race.tasks_processed <= speed * passed_s + 1.0 + 1e-6
    assert race.tasks_processed >= 4 * speed
    arena.close()


def test_the_speed_that_is_shown_is_the_speed_that_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(arena_module, "time", clock)
    arena = Arena(MemoryKeeper(), MemoryViewers(), speed=40.0, frame_every_s=0.05)
    arena._commands = NoCommands(clock)
    arena.enter(Race(mixed_course(CHEAP), run_id=1, first_task_id=0), "running")
    while clock.now_s < 1008.0:
        arena._obey(arena._live())
    assert arena.status().achieved_speed == pytest.approx(40.0, rel=0.02)
    arena.close()
