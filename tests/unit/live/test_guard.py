"""A worse model is refused aloud, with both errors; the last good one can be called back; a replay does the same."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import Simulation
from hybrid_ml_scheduler.core import Verdict
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.live.checkpoints import pack_state, unpack_state
from hybrid_ml_scheduler.live.race import Race
from hybrid_ml_scheduler.live.records import Retraining, Rows, activation_words
from hybrid_ml_scheduler.live.replay import replay
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.schedulers.forest.hybrid_ml_share import HybridMlShare
from hybrid_ml_scheduler.workload import generate, preset
from tests.unit.live.house import mixed_course

GUARDED = f"{Path(__file__).with_name('guarded.py')}:Guarded"


def new_race(retraining: Retraining = "background") -> Race:
    return Race(mixed_course((GUARDED,), retraining=retraining, retrain_interval=10), run_id=1, first_task_id=0)


def lived(race: Race, tasks: int) -> Rows:
    for _ in range(tasks):
        race.step()
        job = race.learners.request(race.next_task_id)
        if job is not None:
            race.learners.pending = None
            race.activate(job, job.run(), at=1.0)
    return race.take_rows()


def shares(rows: Rows) -> list[float]:
    return [outcome.gpu_fraction for _, outcome in rows.outcomes]


@pytest.mark.parametrize("retraining", ["background", "synchronous"])
def test_a_worse_model_is_refused_and_both_errors_are_kept(retraining: Retraining) -> None:
    race = new_race(retraining)
    rows = lived(race, 45)
    assert [one.outcome for one in rows.activations] == ["activated", "activated", "refused", "activated"]
    errors = [(one.held_out_error, one.present_error) for one in rows.activations]
    assert errors == [(0.4, 0.9), (0.3, 0.4), (0.5, 0.3), (0.3, 0.3)]
    assert shares(rows)[9:41:10] == [0.9, 0.4, 0.3, 0.3]
    state = race.learners.states(45)["guarded"]
    assert (state.updates, state.refused) == (3, 1)


def test_people_are_told_of_a_refusal_with_both_errors() -> None:
    refused = next(one for one in lived(new_race(), 35).activations if one.outcome == "refused")
    level, event, message = activation_words(refused)
    assert (level, event) == ("warning", "model_refused")
    assert "keeps its model" in message
    assert "0.5000" in message
    assert "0.3000" in message


def test_the_last_good_model_can_be_called_back_once() -> None:
    race = new_race()
    lived(race, 25)
    done = race.call_back("guarded", at=2.0)
    assert (done.outcome, done.version) == ("recalled", 3)
    race.step()
    assert shares(race.take_rows()) == [0.4]
    for name, words in (("guarded", "no earlier model"), ("nobody", "no strategy of this race")):
        with pytest.raises(PlanError, match=words):
            race.call_back(name, at=3.0)


def test_a_replay_and_a_restored_race_refuse_and_call_back_the_same() -> None:
    race, again, restored, rows = new_race(), new_race(), new_race(), Rows(run_id=1)
    kept = lived(race, 25)
    race.call_back("guarded", at=2.0)
    restored.restore(unpack_state(pack_state(race.capture())))
    kept.events += race.rows.events
    more = lived(race, 40)
    replay(again, [*kept.events, *more.events[1:]], race.next_task_id, lambda some: rows.outcomes.extend(some.outcomes))
    assert rows.outcomes == [*kept.outcomes, *more.outcomes]
    assert lived(restored, 40).outcomes == more.outcomes
    assert again.learners.states(65) == race.learners.states(65)


def test_an_error_that_is_no_number_is_refused() -> None:
    assert not Verdict(math.nan, 1.0).accepted
    assert Verdict(0.5, 0.5).accepted


def test_the_forest_is_judged_on_labels_that_neither_was_trained_on() -> None:
    strategy = HybridMlShare(retrain_every=30, window=100, guard=True)
    tasks = generate(preset("mixed").with_values({"num_tasks": 200}), 3)
    Simulation(Node(), strategy, seed=1, trains=False).run((task, 1.0) for task in tasks)
    data = strategy.training_data()
    assert (len(data.fractions), len(data.held_fractions)) == (70, 30)
    good, bad = strategy.fit(data), strategy.fit(data)
    judged = strategy.judge(good, data)
    assert judged is not None
    expected = np.abs(good.predict(data.held_features) - data.held_fractions).mean()
    assert judged.error == pytest.approx(float(expected))
    strategy.activate(good, data)
    wrong = np.random.default_rng(1).permutation(data.fractions)
    object.__setattr__(data, "fractions", wrong)
    bad = strategy.fit(data)
    refused = strategy.judge(bad, data)
    assert refused is not None
    assert not refused.accepted


def test_without_a_guard_the_forest_learns_from_every_label() -> None:
    strategy = HybridMlShare(retrain_every=30, window=100)
    tasks = generate(preset("mixed").with_values({"num_tasks": 120}), 3)
    Simulation(Node(), strategy, seed=1, trains=False).run((task, 1.0) for task in tasks)
    data = strategy.training_data()
    assert len(data.fractions) == 100
    assert strategy.judge(strategy.fit(data), data) is None
