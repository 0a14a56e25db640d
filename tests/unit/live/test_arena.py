"""The arena: what a person may rely on while it runs."""

from __future__ import annotations

import time

import pytest

from hybrid_ml_scheduler.core import ClusterView, Decision, Task
from hybrid_ml_scheduler.core.errors import SchedulerError, StorageError
from hybrid_ml_scheduler.live.arena import HaltedError
from hybrid_ml_scheduler.live.clerk import _TASKS_AT_ONCE
from hybrid_ml_scheduler.live.frames import RaceState
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.racer import Racer
from hybrid_ml_scheduler.live.records import Rows
from hybrid_ml_scheduler.workload import preset
from tests.unit.live.house import House, house, mixed_course


def go_to(place: House, state: RaceState) -> None:
    place.arena.ask(lambda: place.arena.change_state(state)).result(timeout=120.0)


def test_pause_holds_the_count_and_resume_goes_on_with_the_same_run() -> None:
    with house() as place:
        race = place.enter()
        place.wait(lambda: race.tasks_processed > 50)
        go_to(place, "paused")
        held = race.tasks_processed
        time.sleep(0.1)
        assert race.tasks_processed == held
        go_to(place, "running")
        place.wait(lambda: race.tasks_processed > held)
        assert place.arena.race is race


def test_every_command_is_harmless_when_repeated() -> None:
    with house() as place:
        race = place.enter()
        states: tuple[RaceState, ...] = ("paused", "paused", "running", "running", "stopped", "stopped", "running")
        for state in states:
            go_to(place, state)
            assert place.arena.state == state
        before = race.tasks_processed
        place.wait(lambda: race.tasks_processed > before)


def test_stop_hands_over_every_row_with_a_checkpoint() -> None:
    with house() as place:
        race = place.enter()
        place.wait(lambda: race.tasks_processed > 300)
        go_to(place, "stopped")
        assert place.keeper.task_ids == list(range(race.tasks_processed))
        last = place.keeper.kept[-1]
        assert last.checkpoint is not None
        assert last.checkpoint.boundary == race.next_task_id


def test_every_strategy_has_an_outcome_for_every_task_and_every_task_a_label() -> None:
    with house() as place:
        race = place.enter()
        place.wait(lambda: race.tasks_processed > 200)
        go_to(place, "stopped")
        ids = set(range(race.tasks_processed))
        for name in ("round_robin", "random", "greedy"):
            found = [o.task_id for rows in place.keeper.kept for n, o in rows.outcomes if n == name]
            assert len(found) == len(ids)
            assert set(found) == ids
        assert [label.task.task_id for rows in place.keeper.kept for label in rows.labels] == sorted(ids)


def test_a_keeper_without_room_slows_the_race_and_loses_nothing() -> None:
    with house() as place:
        race = place.enter()
        place.wait(lambda: race.tasks_processed > 100)
        place.keeper.shut()
        place.wait(lambda: place.arena.status().storage == "waiting")
        place.wait(lambda: race.rows.task_count >= _TASKS_AT_ONCE)  # so many may wait for room with the race itself
        held = place.arena.ask(lambda: race.tasks_processed).result()
        time.sleep(0.2)
        assert race.tasks_processed == held
        place.keeper.reopen()
        place.wait(lambda: race.tasks_processed > held + 300)
        go_to(place, "stopped")
        assert place.keeper.task_ids == list(range(race.tasks_processed))


def test_commands_are_obeyed_while_the_keeper_has_no_room() -> None:
    with house() as place:
        place.enter()
        place.keeper.shut()
        place.wait(lambda: place.arena.status().storage == "waiting")
        go_to(place, "paused")
        assert place.arena.state == "paused"
        assert place.arena.status().storage == "waiting", "it was obeyed although there is no room"


def test_people_are_told_when_the_store_goes_and_comes_back() -> None:
    with house(speed=20.0) as place:
        place.enter()
        place.keeper.is_up = False
        place.wait(lambda: any(notice.event == "store_down" for notice in place.viewers.notices))
        assert place.arena.status().storage == "down"
        place.keeper.is_up = True
        place.wait(lambda: any(notice.event == "store_up" for notice in place.viewers.notices))


def test_the_race_is_never_ahead_of_its_pace() -> None:
    """How far a busy machine falls behind is not the arena's doing; test_keeping_pace holds it to a clock of ours."""
    with house(speed=40.0) as place:
        begin_s = time.monotonic()
        race = place.enter()
        place.wait(lambda: race.tasks_processed >= 40)
        seen = race.tasks_processed
        assert seen <= 1 + 40.0 * (time.monotonic() - begin_s)


def test_speed_can_be_changed_while_running() -> None:
    with house(speed=5.0) as place:
        race = place.enter()
        place.arena.ask(lambda: place.arena.set_speed(0.0)).result()
        place.wait(lambda: race.tasks_processed > 500)
        assert race.learners.stride == 7


def test_a_model_trained_in_the_background_takes_over_at_a_stored_boundary() -> None:
    with house(speed=400.0) as place:
        race = place.enter("greedy", "hybrid_ml")
        place.wait(lambda: race.learners.states(1)["hybrid_ml"].updates >= 2)
        go_to(place, "stopped")
        events = [event for rows in place.keeper.kept for event in rows.events if event.kind == "model"]
        models = [one for rows in place.keeper.kept for one in rows.activations]
        assert [event.boundary for event in events] == [one.boundary for one in models]
        assert all(event.payload["requested_at"] <= event.boundary for event in events)
        told = [notice for notice in place.keeper.notices if notice.event == "model_retrained"]
        assert [notice.data["version"] for notice in told] == [one.version for one in models]
        assert "samples" in told[0].message
        assert place.viewers.notices[-1].event == "model_retrained"


def test_retraining_in_the_background_never_holds_the_race_up() -> None:
    with house() as place:
        race = place.enter("hybrid_ml", retrain_interval=1)
        place.wait(lambda: place.arena.status().learning["hybrid_ml"].updates >= 2)
        # Trainings that were due while another one ran are put together: the race did not wait for them.
        place.wait(lambda: place.arena.status().learning["hybrid_ml"].coalesced > 0)
        assert race.tasks_processed > place.arena.status().learning["hybrid_ml"].updates


def test_a_race_that_stands_still_keeps_its_models() -> None:
    with house() as place:
        race = place.enter("hybrid_ml")
        place.wait(lambda: place.arena.status().learning["hybrid_ml"].is_training)
        go_to(place, "paused")
        job, before = race.learners.pending, place.arena.status().learning["hybrid_ml"].updates
        if job is not None:  # else it was done before the pause
            job.run()  # as long as the training itself takes
        shown = len(place.viewers.frames)
        place.wait(lambda: len(place.viewers.frames) > shown + 2)
        assert place.arena.status().learning["hybrid_ml"].updates == before
        go_to(place, "running")
        place.wait(lambda: place.arena.status().learning["hybrid_ml"].updates > before)


def test_frames_tell_the_same_numbers_as_the_stored_outcomes() -> None:
    with house() as place:
        race = place.enter()
        place.wait(lambda: race.tasks_processed > 400)
        go_to(place, "stopped")
        shown = len(place.viewers.frames)
        place.wait(lambda: len(place.viewers.frames) > shown)
        frame = place.viewers.frames[-1]
        assert frame.status.tasks_processed == race.tasks_processed
        for standing in frame.standings:
            mine = [o for rows in place.keeper.kept for name, o in rows.outcomes if name == standing.name]
            assert standing.tasks == len(mine)
            assert standing.total_time == sum(outcome.execution_s for outcome in mine)
            assert standing.makespan == max(outcome.finish_s for outcome in mine)


def test_no_strategy_beats_the_proven_bound() -> None:
    with house() as place:
        race = place.enter("greedy", "oracle", "earliest_finish")
        place.wait(lambda: race.tasks_processed > 1500)
        go_to(place, "paused")
        place.wait(lambda: place.viewers.frames[-1].bound.tasks == race.tasks_processed)
        for standing in place.viewers.frames[-1].standings:
            assert standing.makespan_gap is not None
            assert standing.makespan_gap >= 0.0
            assert standing.time_gap is not None
            assert standing.time_gap >= 0.0


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
        place.arena.ask(lambda: place.arena.clerk.hand_over(race, 0.0, checkpoint=True)).result()
    assert sum(rows.checkpoint is not None for rows in place.keeper.kept) == kept_checkpoints
    assert any(notice.event == "race_halted" for notice in place.keeper.notices)
    ids = place.keeper.task_ids
    assert ids == list(range(ids[0], ids[0] + len(ids)))
    for racer in race.racers:
        outcomes = [one.task_id for rows in place.keeper.kept for name, one in rows.outcomes if name == racer.name]
        assert outcomes == ids


def test_a_task_from_outside_that_breaks_a_strategy_halts_the_race() -> None:
    with house(speed=1.0) as place:
        race = place.enter("greedy")
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


def moody_race(fails_at: int) -> Race:
    """A race whose second strategy fails at one task, after the first one has decided it."""
    race = Race(mixed_course(("greedy", "random")), run_id=1, first_task_id=0)
    node = race.course.node
    race.racers[1] = Racer(node, Moody(fails_at), seed=1, options={})
    return race


def test_a_race_that_broke_keeps_every_task_before_the_one_that_broke_it() -> None:
    with house(speed=200.0) as place:
        race = moody_race(30)
        place.arena.ask(lambda: place.arena.enter(race, "running")).result()
        place.wait(lambda: place.arena.problem is not None)
        place.wait(lambda: len(place.keeper.task_ids) == 30)
        assert race.tasks_processed == 30
    assert place.keeper.task_ids == list(range(30))
    for racer in race.racers:
        found = [one.task_id for rows in place.keeper.kept for name, one in rows.outcomes if name == racer.name]
        assert found == list(range(30))


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


def test_a_model_that_took_over_is_announced_even_if_a_command_hands_it_over() -> None:
    with house(speed=0.001) as place:
        race, arena = place.enter("hybrid_ml", retraining="synchronous", retrain_interval=10), place.arena

        def go_on_and_hand_over() -> None:
            for _ in range(10):
                race.step()
            arena.hand_over()

        arena.ask(go_on_and_hand_over).result()
        go_to(place, "stopped")
    models = [one.boundary for rows in place.keeper.kept for one in rows.activations]
    assert models
    for notices in (place.viewers.notices, place.keeper.notices):
        told = [notice.data["boundary"] for notice in notices if notice.event == "model_retrained"]
        assert told == models


def test_an_arena_whose_stored_race_cannot_go_on_says_so_and_takes_up_a_new_one() -> None:
    with house() as place:
        arena = place.arena
        arena.ask(lambda: arena.stand("The checkpoint is damaged.", 17)).result()
        status = arena.status()
        assert (status.state, status.problem, status.next_task_id) == ("stopped", "The checkpoint is damaged.", 17)
        assert place.viewers.frames[-1].status == status
        assert place.viewers.notices[-1].message == "The checkpoint is damaged."
        with pytest.raises(HaltedError, match="damaged"):
            go_to(place, "running")
        race = place.enter("greedy")
        place.wait(lambda: race.tasks_processed > 5)
        assert arena.status().problem is None


def test_reasons_are_remembered_from_the_moment_of_decision() -> None:
    with house(speed=50.0) as place:
        race = place.enter("oracle")
        place.wait(lambda: race.tasks_processed > 5)
        go_to(place, "paused")
        reasons = place.arena.reasons.recall(3)
        assert "grid" in reasons["oracle"]
        assert place.arena.reasons.recall(10_000) == {}
