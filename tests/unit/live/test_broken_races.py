"""Races that break: whole tasks are kept, the rest of the race goes on being shown, and everybody is told why."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from hybrid_ml_scheduler.core import BatchRule, ClusterView, Decision, RuleKind, Task, TaskBatch
from hybrid_ml_scheduler.core.errors import InternalError, PlanError, SchedulerError, StorageError
from hybrid_ml_scheduler.live.arena import Arena, HaltedError
from hybrid_ml_scheduler.live.frames import RaceState
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.racer import Racer
from hybrid_ml_scheduler.live.records import Rows
from hybrid_ml_scheduler.workload import preset
from tests.unit.live.house import MemoryKeeper, MemoryViewers, house, mixed_course


def test_a_strategy_that_breaks_halts_the_race_with_a_sentence() -> None:
    with house() as place:
        race = place.enter("greedy")
        place.arena.ask(lambda: setattr(race.racers[0].scheduler, "decide", lambda task, cluster: 1 / 0)).result()
        place.wait(lambda: any(notice.level == "error" for notice in place.viewers.notices))
        assert place.arena.state == "stopped"
        assert "greedy failed at task" in str(place.arena.problem)


@pytest.mark.parametrize("speed", [0.0, 500.0])
def test_of_a_race_that_broke_within_a_task_only_whole_tasks_are_kept(speed: float) -> None:
    with house(speed=speed) as place:
        race = place.enter("greedy", "random")
        place.wait(lambda: race.tasks_processed > 200)
        place.arena.ask(lambda: setattr(race.racers[1].scheduler, "decide", lambda task, cluster: 1 / 0)).result()
        place.arena.ask(lambda: setattr(race.racers[1].scheduler, "rule_ahead", lambda batch: 1 / 0)).result()
        place.wait(lambda: place.arena.problem is not None)
        kept_checkpoints = sum(rows.checkpoint is not None for rows in place.keeper.kept)
        place.arena.ask(lambda: place.arena.recorder.hand_over(race, 0.0, checkpoint=True)).result()
    assert sum(rows.checkpoint is not None for rows in place.keeper.kept) == kept_checkpoints
    assert any(notice.event == "race_halted" for notice in place.keeper.notices)
    ids = place.keeper.task_ids
    assert ids == list(range(ids[0], ids[0] + len(ids)))
    for racer in race.racers:
        outcomes = [one.task_id for rows in place.keeper.kept for name, one in rows.outcomes if name == racer.name]
        assert outcomes == ids


def test_a_task_from_outside_that_breaks_a_strategy_halts_the_race() -> None:
    with house(speed=0.001) as place:
        race = place.enter("greedy")
        place.wait(lambda: race.tasks_processed == 1)  # the stream's next task is far away
        task = Task(task_id=0, size=900.0, compute_intensity=0.5, memory_required=50.0, arrival_time=0.0)
        place.arena.ask(lambda: setattr(race.racers[0].scheduler, "decide", lambda task, cluster: 1 / 0)).result()
        with pytest.raises(SchedulerError, match="greedy failed at task"):
            place.arena.ask(lambda: place.arena.admit(task, 1.0)).result()
        assert place.arena.state == "stopped"
        assert "greedy failed at task" in str(place.arena.problem)


class Moody:
    """Fails at one task, on whatever way it is asked."""

    name = "moody"

    def __init__(self, fails_at: int) -> None:
        self._fails_at = fails_at

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        if task.task_id == self._fails_at:
            raise RuntimeError("no")
        return Decision(gpu_fraction=0.0)


class Farsighted(Moody):
    """Fails at one task, on whatever way it is asked, and decides several at once."""

    name = "farsighted"

    def rule_ahead(self, batch: TaskBatch) -> BatchRule:
        if self._fails_at in batch.task_id:
            raise RuntimeError("no")
        return BatchRule(kind=RuleKind.PRESCRIBED, fractions=np.zeros(len(batch)))


def broken_race(*broken: Moody) -> Race:
    """A race with strategies that fail at one task each, between two that never do."""
    race = Race(mixed_course(("greedy", "random")), run_id=1, first_task_id=0)
    race.racers[1:1] = [Racer(race.course.node, one, seed=1) for one in broken]
    return race


def go_on(race: Race, most: int) -> None:
    while True:
        race.advance(most)


def moody_race(fails_at: int) -> Race:
    return broken_race(Moody(fails_at))


@pytest.mark.parametrize("speed", [200.0, 0.0])
def test_a_race_that_broke_keeps_every_task_before_the_one_that_broke_it(speed: float) -> None:
    with house(speed=speed) as place:
        race = moody_race(45)
        place.arena.ask(lambda: place.arena.enter(race, "running")).result()
        place.wait(lambda: place.arena.problem is not None)
        assert "The strategy moody failed at task 45: RuntimeError: no." in str(place.arena.problem)
        place.wait(lambda: len(place.keeper.task_ids) == 45)
        assert race.tasks_processed == 45
        shown = len(place.viewers.frames)
        place.wait(lambda: len(place.viewers.frames) > shown)
    assert place.keeper.task_ids == list(range(45))
    for standing in place.viewers.frames[-1].windows["run"].comparison:
        found = [one for rows in place.keeper.kept for name, one in rows.outcomes if name == standing.name]
        assert [one.task_id for one in found] == list(range(45))
        assert standing.tasks == 45, "what is shown is what is stored"
        assert standing.total_time == sum(one.execution_s for one in found)
        assert standing.makespan == max(one.finish_s for one in found)


@pytest.mark.parametrize("most", [1, 24])
@pytest.mark.parametrize("fails_at", [0, 23, 24, 45])
def test_where_several_strategies_break_the_first_task_counts_and_no_total_is_ahead_of_it(
    fails_at: int, most: int
) -> None:
    race, whole = broken_race(Moody(fails_at + 2), Moody(fails_at)), broken_race()
    race.racers[1].name = "later"
    sentence = f"^The strategy moody failed at task {fails_at}: RuntimeError: no.$"
    with pytest.raises(SchedulerError, match=sentence):
        go_on(race, most)
    assert race.next_task_id == race.rows.task_count == fails_at
    for _ in range(fails_at):
        whole.step()
    assert race.now_s == whole.now_s
    np.testing.assert_equal(race.windows.capture(), whole.windows.capture())
    assert list(race.recent) == list(whole.recent)
    for name in ("greedy", "random"):
        mine, other = (next(racer for racer in one.racers if racer.name == name) for one in (race, whole))
        np.testing.assert_equal(mine.tally.capture(), other.tally.capture())
        assert repr(mine.latest) == repr(other.latest)


def test_of_tasks_that_were_decided_together_none_is_blamed_alone() -> None:
    race = broken_race(Farsighted(30))
    assert race.advance(24) == 24
    with pytest.raises(SchedulerError, match="farsighted failed at one of the tasks 24 to 47: RuntimeError: no"):
        race.advance(24)
    assert race.next_task_id == race.rows.task_count == 24
    assert [racer.tally.over(race.windows.spans()[0]).tasks for racer in race.racers] == [24, 24, 24]


def test_a_race_that_broke_while_its_keeper_had_no_room_keeps_its_tasks_until_there_is_room() -> None:
    with house(speed=200.0) as place:
        place.keeper.shut()
        race = moody_race(30)
        place.arena.ask(lambda: place.arena.enter(race, "running")).result()
        place.wait(lambda: place.arena.problem is not None)
        assert place.keeper.task_ids == []
        assert place.arena.status().backlog_rows >= 30 * 4, "what waits is shown"
        place.keeper.reopen()
        place.wait(lambda: len(place.keeper.task_ids) == 30)
        place.wait(lambda: place.arena.status().backlog_rows == 0)


def test_a_race_that_broke_takes_no_task_no_shift_and_no_start() -> None:
    with house(speed=200.0) as place:
        race = moody_race(5)
        arena = place.arena
        arena.ask(lambda: arena.enter(race, "running")).result()
        place.wait(lambda: arena.problem is not None)
        task = Task(task_id=0, size=900.0, compute_intensity=0.5, memory_required=50.0, arrival_time=0.0)
        for command in (
            lambda: arena.admit(task, 1.0),
            lambda: arena.shift("light", preset("light")),
            lambda: arena.change_state("running"),
        ):
            with pytest.raises(HaltedError, match="moody failed at task 5"):
                arena.ask(command).result()
        arena.ask(lambda: arena.set_speed(0.0)).result()
    assert (race.next_task_id, arena.state) == (5, "stopped")
    events = [event for rows in place.keeper.kept for event in rows.events]
    assert events == [], "an event after the last stored task could never be replayed"


def test_a_task_from_outside_that_broke_the_race_is_not_stored() -> None:
    with house(speed=0.001) as place:
        race, arena = moody_race(1), place.arena
        arena.ask(lambda: arena.enter(race, "running")).result()
        place.wait(lambda: race.tasks_processed == 1)
        task = Task(task_id=0, size=900.0, compute_intensity=0.5, memory_required=50.0, arrival_time=0.0)
        with pytest.raises(SchedulerError, match="moody failed at task 1"):
            arena.ask(lambda: arena.admit(task, 1.0)).result()
    assert place.keeper.task_ids == [0]
    assert [event for rows in place.keeper.kept for event in rows.events] == []


def test_a_keeper_that_refuses_for_good_is_told_of_once() -> None:
    with house(speed=200.0) as place:
        race = place.enter("greedy")
        place.wait(lambda: race.tasks_processed > 5)

        def refuse(rows: Rows) -> None:
            raise StorageError("The row is refused.")

        place.keeper.keep = refuse  # type: ignore[method-assign]
        place.wait(lambda: place.arena.problem is not None)
        time.sleep(0.3)
        assert [notice.message for notice in place.viewers.notices].count("The row is refused.") == 1


class Secretive(Moody):
    """Decides everything, and has a state that cannot be taken."""

    name = "secretive"

    def __init__(self, *, says_so: bool) -> None:
        super().__init__(-1)
        self._says_so = says_so

    def capture(self) -> Mapping[str, Any]:
        if self._says_so:
            raise RuntimeError("not \ud800 this")
        return {"own": lambda: 1}

    def restore(self, state: Mapping[str, Any]) -> None:
        pass


@pytest.mark.parametrize("says_so", [True, False])
@pytest.mark.parametrize("state", ["stopped", "paused"])
def test_a_state_that_cannot_be_taken_costs_no_row_and_is_told_to_whoever_looks(
    says_so: bool, state: RaceState
) -> None:
    with house(speed=500.0) as place:
        race, arena = broken_race(Secretive(says_so=says_so)), place.arena
        arena.ask(lambda: arena.enter(race, "running")).result()
        place.wait(lambda: race.tasks_processed > 20)
        arena.ask(lambda: arena.change_state(state)).result()
        assert arena.state == state
        assert (arena.problem is not None) == (state == "stopped")
        assert place.keeper.task_ids == list(range(race.tasks_processed))
        if state == "stopped":
            cause = (
                r"'secretive' cannot be captured: RuntimeError: not \ud800 this" if says_so else "AttributeError: Can't"
            )
            assert cause in str(arena.problem)
            with pytest.raises(HaltedError):
                arena.ask(lambda: arena.change_state("running")).result()
    assert arena.problem is not None, "at the end at the latest"
    assert not arena.is_alive
    assert place.keeper.task_ids == list(range(race.tasks_processed))
    assert [notice.message for notice in place.keeper.notices] == [arena.problem]


def test_a_keeper_that_refuses_at_the_end_keeps_nobody_from_ending() -> None:
    with house(speed=200.0) as place:
        race = place.enter("greedy")
        place.wait(lambda: race.tasks_processed > 5)

        def refuse(rows: Rows) -> None:
            raise StorageError("The row is refused.")

        def end() -> None:
            place.keeper.keep = refuse  # type: ignore[method-assign]
            place.arena._finish()

        place.arena.ask(end).result()
        place.wait(lambda: not place.arena.is_alive)
        assert place.arena.problem == "The row is refused."


def test_whatever_a_task_from_outside_sets_off_halts_the_race_like_a_task_of_the_stream() -> None:
    with house(speed=0.001) as place:
        race, arena = place.enter("hybrid_ml", retraining="synchronous", retrain_interval=2), place.arena
        place.wait(lambda: race.tasks_processed == 1)
        strategy = race.racers[0].scheduler
        arena.ask(lambda: setattr(strategy, "fit", lambda data: 1 / 0)).result()
        task = Task(task_id=0, size=900.0, compute_intensity=0.5, memory_required=50.0, arrival_time=0.0)
        with pytest.raises(SchedulerError, match="'hybrid_ml' cannot be trained: ZeroDivisionError"):
            arena.ask(lambda: arena.admit(task, 1.0)).result()
        assert arena.state == "stopped"
        assert "ZeroDivisionError" in str(arena.problem)
    assert place.keeper.task_ids == [0, 1], "the task itself was decided"
    assert [event.boundary for rows in place.keeper.kept for event in rows.events if event.kind == "task"] == [1]


def test_an_error_of_any_kind_on_the_way_in_halts_the_race_and_a_refused_task_does_not() -> None:
    with house(speed=0.001) as place:
        race, arena = place.enter("greedy"), place.arena
        place.wait(lambda: race.tasks_processed == 1)
        task = Task(task_id=0, size=900.0, compute_intensity=0.5, memory_required=50.0, arrival_time=1e9)
        with pytest.raises(PlanError, match="more than an hour ahead"):
            arena.ask(lambda: arena.admit(task, 1.0)).result()
        assert arena.problem is None
        arena.ask(lambda: setattr(race.proof, "add", lambda task, duration_factor: 1 / 0)).result()
        with pytest.raises(HaltedError, match="ZeroDivisionError"):
            arena.ask(lambda: arena.admit(task._replace(arrival_time=0.0), 1.0)).result()
        assert "ZeroDivisionError" in str(arena.problem)
    assert place.keeper.task_ids == [0], "a task is stored with its event or not at all"
    assert [event for rows in place.keeper.kept for event in rows.events if event.kind == "task"] == []


def test_a_command_that_was_taken_back_leaves_those_behind_it_answered_at_the_end() -> None:
    arena = Arena(MemoryKeeper(), MemoryViewers(), speed=1.0, frame_every_s=0.05)  # its thread does not run
    taken_back, behind = arena.ask(lambda: 1), arena.ask(lambda: 2)
    assert taken_back.cancel()
    arena._refuse_commands()
    for answer in (behind, arena.ask(lambda: 3)):
        with pytest.raises(InternalError, match="The arena has ended"):
            answer.result(timeout=0.0)
    arena.close()
