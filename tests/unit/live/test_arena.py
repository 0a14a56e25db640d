"""The arena: what a person may rely on while it runs."""

from __future__ import annotations

import time

import pytest

from hybrid_ml_scheduler.live import recorder
from hybrid_ml_scheduler.live.arena import HaltedError
from hybrid_ml_scheduler.live.frames import RaceState
from hybrid_ml_scheduler.live.recorder import _TASKS_AT_ONCE
from tests.unit.live.house import House, house


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


def test_people_are_told_when_the_store_goes_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "_SILENCE_S", 0.5)
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
        for standing in frame.windows["run"].comparison:
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
        for standing in place.viewers.frames[-1].windows["run"].comparison:
            assert standing.makespan_gap is not None
            assert standing.makespan_gap >= 0.0
            assert standing.time_gap is not None
            assert standing.time_gap >= 0.0


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


def test_viewers_see_the_latest_explained_decision_at_any_speed() -> None:
    with house() as place:
        race = place.enter("oracle")
        place.wait(lambda: race.tasks_processed > 2000 and len(place.viewers.frames) > 3)
        go_to(place, "stopped")
        audits = [frame.audits["oracle"] for frame in place.viewers.frames[2:]]
        outcomes = {o.task_id: o for rows in place.keeper.kept for name, o in rows.outcomes if name == "oracle"}
        assert all("grid" in audit.reason for audit in audits)
        assert all(audit.gpu_fraction == outcomes[audit.task_id].gpu_fraction for audit in audits)
