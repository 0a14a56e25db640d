"""What a crash must not change: the same course and the same events give the same rows."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.core.errors import PlanError, StorageError
from hybrid_ml_scheduler.live.checkpoints import pack_state, unpack_state
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Course, RaceEvent, Retraining, Rows
from hybrid_ml_scheduler.live.replay import replay
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.workload import preset
from tests.properties.forms import HOLDING
from tests.unit.live.house import CLASSIC

FIRST = 7
FOREIGN = Task(task_id=0, size=900.0, compute_intensity=0.5, memory_required=50.0, arrival_time=0.0)


def course(retraining: Retraining, *schedulers: str) -> Course:
    return Course(
        seed=3,
        node=Node(),
        preset="mixed",
        workload=preset("mixed").with_values({"noise_sigma": 0.2, "dependency_probability": 0.1}),
        schedulers=schedulers or ("random", "greedy", "hybrid_ml", "sjf", "c_mu", "heft", "rl_hold", "oracle"),
        options={**CLASSIC, "sjf": {"aging": 2.0}, "rl_hold": {"aging": 3.0}, "local_search": {"steps": 3000}},
        retraining=retraining,
    )


def new_race(retraining: Retraining) -> Race:
    return Race(course(retraining), run_id=1, first_task_id=FIRST)


class Lived:
    """A race that has been run with everything that can come from outside, and its checkpoints on the way."""

    def __init__(self, steps: int) -> None:
        self.race = new_race("background")
        self.checkpoints = [pack_state(self.race.capture())]
        self.events: list[RaceEvent] = []
        self.task_ids: list[int] = []
        self.outcomes: dict[tuple[str, int], str] = {}
        rng, job, ready_at = random.Random(5), None, 0
        for step in range(steps):
            if job is None:
                job = self.race.learners.request(self.race.next_task_id)
                ready_at = step + rng.randrange(1, 40)
            if job is not None and step >= ready_at:
                self.race.learners.pending = None
                self.race.activate(job, job.run(), at=1.0)
                job = None
            if step == 120:
                self.race.shift("cpu_friendly", preset("cpu_friendly"), at=2.0)
            if step in (33, 34, 150):
                self.race.admit(FOREIGN, at=3.0)
            self.race.step(explain=rng.random() < 0.05)
            if step % 60 == 59:
                self.take(self.race.take_rows())
                self.checkpoints.append(pack_state(self.race.capture()))
        self.take(self.race.take_rows())

    def take(self, rows: Rows) -> None:
        self.events += rows.events
        self.task_ids += [task.task_id for task in rows.tasks]
        self.outcomes |= {(name, outcome.task_id): repr(outcome) for name, outcome in rows.outcomes}


@pytest.fixture(scope="module")
def lived() -> Lived:
    return Lived(steps=260)


def test_the_race_met_every_kind_of_event(lived: Lived) -> None:
    assert {event.kind for event in lived.events} == {"model", "shift", "task"}
    assert sum(event.kind == "model" for event in lived.events) >= 3


@pytest.mark.parametrize("place", range(5))
def test_a_replay_from_any_checkpoint_gives_the_very_same_outcomes(lived: Lived, place: int) -> None:
    race = new_race("background")
    race.restore(unpack_state(lived.checkpoints[place]))
    begin, again = race.next_task_id, Rows(run_id=1)
    replay(race, lived.events, lived.race.next_task_id, lambda rows: again.outcomes.extend(rows.outcomes))
    assert race.next_task_id == lived.race.next_task_id > begin
    assert len(again.outcomes) >= (race.next_task_id - begin) * 4
    for name, outcome in again.outcomes:
        assert lived.outcomes[name, outcome.task_id] == repr(outcome)


def test_a_replayed_race_goes_on_like_the_one_that_was_never_interrupted(lived: Lived) -> None:
    race = new_race("background")
    race.restore(unpack_state(lived.checkpoints[-1]))
    replay(race, lived.events, lived.race.next_task_id, lambda rows: None)
    other = new_race("background")
    other.restore(unpack_state(pack_state(lived.race.capture())))
    for one in (race, other):
        for _ in range(30):
            one.step()
    assert repr(race.take_rows().outcomes) == repr(other.take_rows().outcomes)


def test_a_replay_keeps_checkpoints_from_which_another_replay_gives_the_same_again(lived: Lived) -> None:
    race, until = new_race("background"), lived.race.next_task_id
    kept: list[Rows] = []
    replay(race, lived.events, until, kept.append, checkpoint_every=40)
    checkpoints = [rows.checkpoint for rows in kept if rows.checkpoint is not None]
    assert [one.boundary for one in checkpoints] == [*range(FIRST + 40, until, 40), until]
    for checkpoint in checkpoints:
        again, outcomes = new_race("background"), Rows(run_id=1).outcomes
        again.restore(unpack_state(checkpoint.blob))
        replay(again, lived.events, until, lambda rows, into=outcomes: into.extend(rows.outcomes))  # type: ignore[misc]
        assert again.next_task_id == until
        assert all(lived.outcomes[name, one.task_id] == repr(one) for name, one in outcomes)


def test_a_replay_of_nothing_keeps_nothing(lived: Lived) -> None:
    race = new_race("background")
    race.restore(unpack_state(pack_state(lived.race.capture())))
    kept: list[Rows] = []
    replay(race, lived.events, lived.race.next_task_id, kept.append)
    assert kept == []


def test_with_synchronous_retraining_a_restored_race_equals_an_uninterrupted_one() -> None:
    whole, first = new_race("synchronous"), new_race("synchronous")
    for _ in range(230):
        whole.step()
    for _ in range(97):
        first.step()
    rest = new_race("synchronous")
    rest.restore(unpack_state(pack_state(first.capture())))
    for _ in range(133):
        rest.step()
    expected = whole.take_rows()
    assert len(expected.activations) == 4
    assert repr(expected.outcomes) == repr(first.take_rows().outcomes + rest.take_rows().outcomes)


def test_ids_are_continuous_with_foreign_tasks_in_between(lived: Lived) -> None:
    assert lived.task_ids == list(range(FIRST, lived.race.next_task_id))
    assert len(lived.task_ids) == 260 + 3


def test_a_foreign_task_far_ahead_or_with_an_unknown_parent_is_refused() -> None:
    race = Race(course("background", "greedy"), run_id=1, first_task_id=0)
    ahead = Task(task_id=0, size=1.0, compute_intensity=0.5, memory_required=0.0, arrival_time=1e6)
    orphan = Task(task_id=0, size=1.0, compute_intensity=0.5, memory_required=0.0, arrival_time=0.0, dependencies=(99,))
    with pytest.raises(PlanError, match="more than an hour ahead"):
        race.admit(ahead, at=0.0)
    with pytest.raises(PlanError, match="task 99 is not a task"):
        race.admit(orphan, at=0.0)
    assert race.next_task_id == 0
    assert len(race.take_rows()) == 0


def test_a_foreign_task_in_the_future_is_decided_when_its_time_comes() -> None:
    race = Race(course("background", "greedy"), run_id=1, first_task_id=0)
    race.step()
    entered = race.admit(
        Task(task_id=0, size=50.0, compute_intensity=0.5, memory_required=1.0, arrival_time=race.now_s + 2.0), at=0.0
    )
    assert entered.task_id not in {outcome.task_id for _, outcome in race.rows.outcomes}
    while race.now_s < entered.arrival_time:
        race.step()
    found = [outcome for _, outcome in race.rows.outcomes if outcome.task_id == entered.task_id]
    assert [outcome.ready_s for outcome in found] == [entered.arrival_time]


def test_a_damaged_checkpoint_is_refused() -> None:
    blob = bytearray(pack_state({"a": 1}))
    blob[-1] ^= 1
    with pytest.raises(StorageError, match="damaged"):
        unpack_state(bytes(blob))


def test_a_checkpoint_of_another_form_is_refused_as_such() -> None:
    with pytest.raises(StorageError, match="another version"):
        unpack_state(b"HMS1" + pack_state({"a": 1})[4:])


@pytest.mark.parametrize("waits", [0, 1, 3])
def test_a_model_asked_for_and_taken_over_among_tasks_from_outside_is_trained_again(waits: int) -> None:
    race = new_race("background")
    for _ in range(45):
        race.step()
    job, due = None, 0
    for foreign in range(70):  # nothing but tasks from outside: every boundary is one of theirs
        if job is None:
            job, due = race.learners.request(race.next_task_id), foreign + waits
        if job is not None and foreign >= due:
            race.learners.pending = None
            race.activate(job, job.run(), at=1.0)
            job = None
        race.admit(FOREIGN, at=1.0)
    rows = race.take_rows()
    assert sum(event.kind == "model" for event in rows.events) >= 1
    again, outcomes = new_race("background"), Rows(run_id=1).outcomes
    replay(again, rows.events, race.next_task_id, lambda kept: outcomes.extend(kept.outcomes))
    assert again.next_task_id == race.next_task_id
    assert repr(outcomes) == repr(rows.outcomes)


def test_a_training_that_came_to_nothing_is_not_taken_up_again() -> None:
    race = new_race("background")
    for _ in range(60):
        race.step()
    failed = race.learners.request(race.next_task_id)
    assert failed is not None
    blob, events = pack_state(race.capture()), len(race.take_rows().events)
    assert events == 0
    race.learners.pending = None
    for _ in range(60):
        race.step()
    later = race.learners.request(race.next_task_id)
    assert later is not None
    race.learners.pending = None
    race.activate(later, later.run(), at=1.0)
    race.step()
    again = new_race("background")
    again.restore(unpack_state(blob))
    assert again.learners.pending is not None
    replay(again, race.take_rows().events, race.next_task_id, lambda rows: None)
    assert again.learners.pending is None


def test_asking_what_would_be_changes_nothing(lived: Lived) -> None:
    asked, unasked = new_race("background"), new_race("background")
    for race in (asked, unasked):
        for _ in range(60):
            race.step()
    later = FOREIGN._replace(task_id=asked.next_task_id, arrival_time=asked.now_s + 600.0)
    for racer in asked.racers:
        racer.preview(later)
    for race in (asked, unasked):
        for _ in range(40):
            race.step()
    assert repr(asked.take_rows().outcomes) == repr(unasked.take_rows().outcomes)


def test_a_strategy_named_twice_is_refused() -> None:
    with pytest.raises(PlanError, match="twice"):
        Race(course("background", "greedy", "greedy"), run_id=1, first_task_id=0)


def test_a_plan_bounds_how_many_tasks_may_come_after_one_that_is_held() -> None:
    rush = preset("mixed").with_values({"arrival_rate": 400.0})
    race = Race(replace(course("background", "sjf"), most_open=5, workload=rush), run_id=1, first_task_id=FIRST)
    for _ in range(120):
        race.step()
    held = list(race.racers[0].simulation._held)
    assert held
    assert all(race.next_task_id - 1 - task.task_id < 5 for task in held)


def test_a_race_of_every_strategy_that_holds_goes_on_from_its_checkpoint_as_if_nothing_had_happened() -> None:
    rush = preset("mixed").with_values({"arrival_rate": 400.0, "dependency_probability": 0.1})
    whole = Race(replace(course("background", *HOLDING), workload=rush), run_id=1, first_task_id=FIRST)
    for _ in range(40):
        whole.step()
    again = Race(replace(course("background", *HOLDING), workload=rush), run_id=1, first_task_id=FIRST)
    again.restore(unpack_state(pack_state(whole.capture())))
    holding = {racer.name for racer in again.racers if len(racer.simulation._held) > 0}
    # A plan commits what is ready and next on its devices, and the classic Hybrid ML decides at once;
    # all others have more ready tasks than devices by now.
    assert holding >= set(HOLDING) - {"lp_classes", "heft", "peft", "best_of", "local_search", "hybrid_ml"}
    whole.take_rows()
    for race in (whole, again):
        for _ in range(40):
            race.step()
    assert repr(again.take_rows().outcomes) == repr(whole.take_rows().outcomes)
