"""A learner from somebody else's file trains apart, takes over, is checkpointed and explained like the built-in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_ml_scheduler.live.checkpoints import pack_state, unpack_state
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Activation, Retraining, Rows
from hybrid_ml_scheduler.live.replay import replay
from hybrid_ml_scheduler.schedulers import check_scheduler
from tests.unit.live.house import mixed_course
from tests.unit.live.mean_share import MeanShare

FOREIGN = f"{Path(__file__).with_name('mean_share.py')}:MeanShare"
LEARNERS = (FOREIGN, "hybrid_ml")


def race_of(*specs: str, retraining: Retraining = "background") -> Race:
    return Race(mixed_course(specs, retraining=retraining, retrain_interval=20), run_id=1, first_task_id=0)


def lived(race: Race, tasks: int) -> Rows:
    """Race, with every training that is due done at once by the driver of the race."""
    for _ in range(tasks):
        race.step()
        job = race.learners.request(race.next_task_id)
        if job is not None:
            race.learners.pending = None
            race.activate(job, job.run(), at=1.0)
    return race.take_rows()


def by_learner(activations: list[Activation]) -> dict[str, list[Activation]]:
    return {name: [one for one in activations if one.scheduler == name] for name in ("mean_share", "hybrid_ml")}


def test_it_keeps_the_contract_of_a_strategy() -> None:
    check_scheduler(MeanShare)


@pytest.mark.parametrize("retraining", ["background", "synchronous"])
def test_it_is_trained_and_takes_over_as_often_as_the_built_in_one(retraining: Retraining) -> None:
    race = race_of(*LEARNERS, retraining=retraining)
    found = by_learner(lived(race, 130).activations)
    assert [len(one) for one in found.values()] == [6, 6]
    assert [one.version for one in found["mean_share"]] == [1, 2, 3, 4, 5, 6]
    assert [one.samples for one in found["mean_share"]][:2] == [20, 40]
    assert all(one.error is not None and one.digest for one in found["mean_share"])
    assert len({one.digest for one in found["mean_share"]}) == 6
    states = race.learners.states(race.tasks_processed)
    assert (states["mean_share"].updates, states["mean_share"].kind) == (6, states["hybrid_ml"].kind)


def test_the_model_that_was_trained_decides() -> None:
    race = race_of(FOREIGN)
    rows = lived(race, 21)
    shares = [outcome.gpu_fraction for _, outcome in rows.outcomes]
    assert shares[:20] == [0.5] * 20
    assert shares[20] != 0.5
    assert race.racers[0].explanation(race.recent[-1])["gpu_fraction"] == shares[20]


def test_a_restored_race_goes_on_with_its_model_and_its_training() -> None:
    race, again = race_of(*LEARNERS), race_of(*LEARNERS)
    for _ in range(21):
        race.step()
    race.learners.request(race.next_task_id)
    race.take_rows()
    again.restore(unpack_state(pack_state(race.capture())))
    jobs = [one.learners.pending for one in (race, again)]
    for one, job in zip((race, again), jobs, strict=True):
        assert job is not None
        one.learners.pending = None
        one.activate(job, job.run(), at=1.0)
    told = [lived(one, 60) for one in (race, again)]
    assert told[0].outcomes == told[1].outcomes
    digests = [[one.digest for one in rows.activations] for rows in told]
    assert digests[0] == digests[1]


def test_a_replay_trains_it_again_and_finds_the_same_model() -> None:
    race, again, rows = race_of(*LEARNERS), race_of(*LEARNERS), Rows(run_id=1)
    kept = lived(race, 90)
    replay(again, kept.events, race.next_task_id, lambda more: rows.outcomes.extend(more.outcomes))
    assert rows.outcomes == kept.outcomes
    assert again.racers[0].scheduler.capture() == race.racers[0].scheduler.capture()  # type: ignore[attr-defined]
