"""The arena's own loop on a clock that moves only while the arena waits: what it reaches is then exact."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from hybrid_ml_scheduler.core import ClusterView, Decision, Task
from hybrid_ml_scheduler.live import arena as arena_module
from hybrid_ml_scheduler.live.arena import Arena
from hybrid_ml_scheduler.live.pace import _AT_FULL_SPEED
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.racer import Racer
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


class Slow:
    """Needs 70 ms for every decision from some task on, and none before."""

    name = "slow"

    def __init__(self, clock: Clock, slow_from: int) -> None:
        self._clock, self._slow_from = clock, slow_from

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        if task.task_id >= self._slow_from:
            self._clock.now_s += 0.07
        return Decision(gpu_fraction=0.5)


def turns_of(clock: Clock, speed: float, slow_from: int, laws: dict[str, float]) -> list[tuple[int, float]]:
    """How many tasks each turn of a race with a slow strategy takes, and for how long others wait for it."""
    arena = Arena(MemoryKeeper(), MemoryViewers(), speed=speed, frame_every_s=0.05)
    arena._commands = NoCommands(clock)
    course = mixed_course(CHEAP)
    race = Race(replace(course, workload=course.workload.with_values(laws)), run_id=1, first_task_id=0)
    race.racers[1] = Racer(course.node, Slow(clock, slow_from), seed=1)
    arena.enter(race, "running")
    turns = []
    while race.tasks_processed < 400:
        tasks, begin_s = race.tasks_processed, clock.now_s
        wait_s = arena._live()
        turns.append((race.tasks_processed - tasks, clock.now_s - begin_s))
        arena._obey(wait_s)
        clock.now_s += 0.001  # a turn in which nothing happens takes its time, too
    arena.close()
    return turns


@pytest.mark.parametrize("laws", [{}, {"noise_sigma": 0.1}])
def test_a_slow_strategy_makes_nobody_wait_longer_than_one_decision_after_the_time_of_a_turn(
    laws: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(arena_module, "time", clock)
    assert max(seconds for _, seconds in turns_of(clock, 0.0, 0, laws)) < 0.05 + 0.07


def test_single_steps_end_in_time_even_where_a_strategy_becomes_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(arena_module, "time", clock)
    for speed in (0.0, 300.0):
        turns = turns_of(clock, speed, 200, {"deadline_slack": 5.0})  # tasks with deadlines are taken one by one
        assert max(seconds for _, seconds in turns) < 0.05 + 0.07


def test_of_tasks_taken_together_one_turn_alone_is_slow_where_a_strategy_becomes_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(arena_module, "time", clock)
    turns = turns_of(clock, 0.0, 200, {})
    assert max(tasks for tasks, _ in turns) == _AT_FULL_SPEED, "a race that is quick is taken in large steps"
    assert sum(seconds > 0.05 + 0.07 for _, seconds in turns) == 1


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
