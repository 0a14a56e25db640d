"""The learned estimator starts with the formula, learns what happens, notices drifts and knows how sure it is."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from hybrid_ml_scheduler.core import stream
from hybrid_ml_scheduler.core.errors import ModelError
from hybrid_ml_scheduler.learning.duration_model import Belief, DurationModel, belief_sentence

CPU, GPU = 0, 1
SIGMA = 0.2


def noise(rng: np.random.Generator, sigma: float = SIGMA) -> float:
    return float(rng.lognormal(-0.5 * sigma * sigma, sigma))


def taught(factor: float, runs: int, *, seed: int = 1, sigma: float = SIGMA) -> DurationModel:
    model, rng = DurationModel.of_nominal(2), stream(seed, "test")
    for _ in range(runs):
        model.observe("a", GPU, 0.5 * factor * noise(rng, sigma), 0.5)
    return model


def test_a_model_that_has_seen_nothing_believes_the_nominal_seconds() -> None:
    believed = DurationModel.of_nominal(2).estimate("a", GPU, 0.25)
    assert believed.seconds == pytest.approx(0.25, rel=1e-12)
    assert believed.runs == 0
    assert believed.low_s < 0.25 < believed.high_s


def test_the_hidden_factor_of_a_kind_is_learned_to_a_few_per_cent() -> None:
    assert taught(1.7, 200).factor("a", GPU) == pytest.approx(1.7, rel=0.05)


def test_one_run_moves_the_belief_towards_what_happened_but_not_all_the_way() -> None:
    assert 1.0 < taught(2.0, 1, sigma=1e-6).factor("a", GPU) < 2.0


def test_spread_and_interval_narrow_with_runs() -> None:
    few, many = taught(1.3, 2).estimate("a", GPU), taught(1.3, 200).estimate("a", GPU)
    assert many.spread < few.spread
    assert many.high_s / many.low_s < few.high_s / few.low_s
    assert many.spread == pytest.approx(SIGMA, rel=0.3)


def test_a_new_kind_is_believed_to_do_what_its_device_type_does() -> None:
    model, rng = DurationModel.of_nominal(2), stream(2, "test")
    for turn in range(400):
        model.observe(f"kind {turn % 8}", GPU, 2.0 * noise(rng), 1.0)
    assert model.factor("never seen", GPU) == pytest.approx(2.0, rel=0.15)
    assert model.factor("never seen", CPU) == pytest.approx(1.0, rel=0.35)


def test_without_hidden_factors_and_noise_nothing_is_lost() -> None:
    model = DurationModel.of_nominal(2)
    for turn in range(200):
        model.observe(f"kind {turn % 6}", turn // 6 % 2, 1.0, 1.0)
    for kind in range(6):
        assert model.factor(f"kind {kind}", CPU) == pytest.approx(1.0, abs=0.01)


def outcomes(model: DurationModel, drift_at: int, total: int, seed: int) -> tuple[list[bool], list[bool]]:
    """Whether each outcome was inside its 90 % interval: before the drift (first tenth left out) and after it."""
    rng = stream(seed, "test")
    factors = rng.lognormal(-0.125, 0.5, (12, 2))
    before, after = [], []
    for turn in range(total):
        if turn == drift_at:
            factors[:6, GPU] *= np.where(rng.random(6) < 0.5, 0.5, 2.0)
        kind, device = min(int(rng.zipf(1.8)) - 1, 11), int(rng.random() < 0.8)
        measured = float(factors[kind, device]) * noise(rng)
        believed = model.estimate(f"kind {kind}", device)
        inside = believed.low_s <= measured <= believed.high_s
        if turn >= drift_at:
            after.append(inside)
        elif turn >= drift_at // 5:
            before.append(inside)
        model.observe(f"kind {kind}", device, measured)
    return before, after


def test_ninety_per_cent_intervals_cover_about_ninety_per_cent_also_after_a_drift() -> None:
    shares = [outcomes(DurationModel.of_nominal(2), 5000, 7000, seed) for seed in range(4)]
    before = np.mean([inside for one, _ in shares for inside in one])
    after = np.mean([inside for _, one in shares for inside in one])
    assert 0.87 <= before <= 0.93
    assert 0.80 <= after <= 0.95


def test_a_doubled_factor_is_noticed_within_a_few_runs_and_a_steady_one_hardly_ever() -> None:
    model, rng = taught(1.0, 2000), stream(3, "test")
    assert model.drifts <= 2
    found = [model.observe("a", GPU, noise(rng)) for _ in range(6)]
    assert not any(found)
    drifted = [model.observe("a", GPU, 2.0 * noise(rng)) for _ in range(8)]
    assert any(drifted)
    assert model.factor("a", GPU) == pytest.approx(2.0, rel=0.2)


def test_a_model_that_does_not_forget_stays_behind_after_a_drift() -> None:
    forgetful, stubborn, rng = taught(1.0, 300), DurationModel.of_nominal(2, forgets=False), stream(4, "test")
    for _ in range(300):
        stubborn.observe("a", GPU, noise(rng))
    for _ in range(20):
        measured = 2.0 * noise(rng)
        forgetful.observe("a", GPU, measured)
        stubborn.observe("a", GPU, measured)
    assert abs(math.log(forgetful.factor("a", GPU) / 2.0)) < 0.15
    assert stubborn.factor("a", GPU) < 1.3


def test_one_drift_makes_the_other_cells_of_the_device_type_suspect() -> None:
    model, rng = DurationModel.of_nominal(2), stream(5, "test")
    for turn in range(600):
        model.observe("ab"[turn % 2], GPU, noise(rng))
    for _ in range(6):
        model.observe("a", GPU, 2.0 * noise(rng))
    needed = 1 + next(turn for turn in range(20) if model.observe("b", GPU, 2.0))
    assert needed <= 2


def test_without_nominal_seconds_times_and_their_growth_with_size_are_learned() -> None:
    model, rng = DurationModel.of_measured(2), stream(6, "test")
    for _ in range(60):
        size = float(rng.uniform(100.0, 1000.0))
        model.observe("product", GPU, 3e-7 * size**1.5 * noise(rng, 0.1), size=size)
    assert model.estimate("product", GPU, size=2000.0).seconds == pytest.approx(3e-7 * 2000.0**1.5, rel=0.15)


def test_without_nominal_seconds_a_kind_known_on_one_device_tells_about_the_other() -> None:
    model = DurationModel.of_measured(2)
    for turn in range(40):
        for kind, seconds in (("slow", 10.0), ("quick", 0.001)):
            model.observe(kind, CPU, seconds)
            if kind == "slow" or turn < 3:
                model.observe(f"{kind} too", CPU, seconds)
                model.observe(f"{kind} too", GPU, seconds / 4.0)
    assert model.estimate("slow", GPU).seconds > 50.0 * model.estimate("quick", GPU).seconds


def test_a_captured_model_survives_json_and_goes_on_to_the_same_bits() -> None:
    first, rng = taught(1.4, 37), stream(7, "test")
    second = DurationModel.of_nominal(2)
    second.restore(json.loads(json.dumps(first.capture())))
    for turn in range(100):
        measured = noise(rng)
        assert first.observe(f"kind {turn % 20}", turn % 2, measured) == second.observe(
            f"kind {turn % 20}", turn % 2, measured
        )
    assert first.capture() == second.capture()


def test_a_state_for_another_node_is_refused_with_a_sentence() -> None:
    with pytest.raises(ModelError, match="another node"):
        DurationModel.of_nominal(3).restore(DurationModel.of_nominal(2).capture())


def test_an_explanation_names_belief_spread_runs_and_what_happened() -> None:
    believed = Belief(seconds=0.041, spread=0.12, low_s=0.03, high_s=0.05, runs=37)
    expected = "believed 41 ms ± 12% from 37 runs of this kind on a GPU; took 44 ms"
    assert belief_sentence(believed, "a GPU", 0.044) == expected
    assert belief_sentence(believed._replace(runs=0), "the CPU").endswith("from no run of this kind on the CPU")


def test_without_a_scale_the_first_task_that_finished_speaks_for_all_others() -> None:
    model = DurationModel.of_unscaled(2)
    assert model.factor("a", CPU) == model.factor("b", GPU) == pytest.approx(1.0)
    model.observe("a", GPU, 6000.0, 60.0)
    assert model.factor("a", GPU) == pytest.approx(100.0, rel=0.3)
    for kind, device in (("a", CPU), ("b", GPU), ("b", CPU)):
        assert 30.0 < model.factor(kind, device) < 300.0


def test_without_a_scale_a_kind_is_told_from_the_others_by_its_own_tasks() -> None:
    model, rng = DurationModel.of_unscaled(2), stream(8, "test")
    for _ in range(60):
        model.observe("short", GPU, 60.0 * float(rng.lognormal(-2.0, 0.5)), 60.0)
        model.observe("long", GPU, 60.0 * float(rng.lognormal(3.0, 0.5)), 60.0)
    assert model.factor("short", GPU) == pytest.approx(math.exp(-2.0 + 0.125), rel=0.3)
    assert model.factor("long", GPU) == pytest.approx(math.exp(3.0 + 0.125), rel=0.3)


def test_a_model_of_means_believes_the_mean_of_the_kind_else_of_all_that_finished() -> None:
    model = DurationModel.of_means(2)
    assert model.estimate("a", CPU, 60.0).seconds == pytest.approx(60.0)
    for kind, device, seconds in (("a", GPU, 30.0), ("a", CPU, 90.0), ("a", GPU, 600.0), ("b", GPU, 6.0)):
        model.observe(kind, device, seconds, 60.0)
    for device in (CPU, GPU):
        assert model.estimate("a", device, 60.0).seconds == pytest.approx(240.0)
        assert model.estimate("b", device, 60.0).seconds == pytest.approx(6.0)
        assert model.estimate("c", device, 60.0).seconds == pytest.approx(181.5)


def test_a_state_with_another_scale_is_refused_and_one_of_before_is_taken() -> None:
    old = dict(DurationModel.of_nominal(2).capture())
    old["prior"] = old["prior"][:9]
    DurationModel.of_nominal(2).restore(old)
    with pytest.raises(ModelError, match="of another version"):
        DurationModel.of_unscaled(2).restore(old)
