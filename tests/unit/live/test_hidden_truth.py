"""A live race with a hidden truth: levels of knowledge, a drift at a boundary, and the same rows after a crash."""

from __future__ import annotations

import pickle

import pytest

from hybrid_ml_scheduler.core import Outcome
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Course
from hybrid_ml_scheduler.live.replay import replay
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.physics.truth import Drift, Truth
from hybrid_ml_scheduler.workload import preset

RACERS = ("earliest_finish", "earliest_finish@exact", "earliest_finish@nominal", "hybrid_ml", "oracle")


def new_race(schedulers: tuple[str, ...] = RACERS) -> Race:
    course = Course(
        seed=4,
        node=Node(),
        preset="unknown",
        workload=preset("unknown"),
        schedulers=schedulers,
        retraining="synchronous",
        knowledge="learned",
        truth=Truth(kind_spread=0.5),
    )
    return Race(course, run_id=1, first_task_id=0)


def outcomes(race: Race, tasks: int) -> list[tuple[str, Outcome]]:
    for _ in range(tasks):
        race.step()
    return list(race.take_rows().outcomes)


def test_racers_are_named_by_the_level_they_were_asked_for_and_meet_the_same_truth() -> None:
    race = new_race()
    assert [(racer.name, racer.level) for racer in race.racers] == [
        ("earliest_finish", "learned"),
        ("earliest_finish@exact", "exact"),
        ("earliest_finish@nominal", "nominal"),
        ("hybrid_ml", "learned"),
        ("oracle", "exact"),
    ]
    rows = outcomes(race, 60)
    whole: dict[int, set[float]] = {}
    for _, outcome in rows:
        if outcome.gpu_fraction == 1.0:
            whole.setdefault(outcome.task_id, set()).add(round(outcome.gpu_s, 9))
    assert all(len(seconds) == 1 for seconds in whole.values())
    assert 0.0 < (race.proof.renew().makespan_s or 0.0) <= max(outcome.finish_s for _, outcome in rows)


def test_reasons_tell_what_was_believed_and_from_how_many_runs() -> None:
    race = new_race(("earliest_finish",))
    outcomes(race, 200)
    said = race.racers[0].explanation(race.recent[-1])
    assert "of this kind on the CPU" in said["belief"]["cpu"]


def test_a_drift_is_marked_changes_what_tasks_take_and_survives_a_checkpoint_and_a_replay() -> None:
    racers = ("earliest_finish", "earliest_finish@nominal", "hybrid_ml")
    race, steady = new_race(racers), new_race(racers)
    assert outcomes(race, 150) == outcomes(steady, 150)
    mark = race.drift(Drift(at_task=0, factor=4.0), at=2.0)
    assert mark.message.startswith("Drift: 50% of the kinds of work take 4 times as long")
    events = list(race.rows.events)
    saved = pickle.dumps(race.capture())
    rest = outcomes(race, 150)
    assert rest != outcomes(steady, 150)
    restored = new_race(racers)
    restored.restore(pickle.loads(saved))
    assert outcomes(restored, 150) == rest
    again: list[tuple[str, Outcome]] = []
    replayed = new_race(racers)
    replay(replayed, events, race.next_task_id, lambda rows: again.extend(rows.outcomes))
    assert again[-len(rest) :] == rest


@pytest.mark.parametrize("name", ["rl_agent", "rl_split"])
def test_agents_see_learned_durations_too(name: str) -> None:
    race = new_race((name, f"{name}@nominal"))
    assert race.racers[0].simulation.learned is not None
    rows = outcomes(race, 120)
    shares = [[o.finish_s for who, o in rows if who == racer.name] for racer in race.racers]
    assert shares[0] != shares[1]
