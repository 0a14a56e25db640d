"""The hidden truth: factors of mean 1 by kind and device type, the same for everybody, changed by drifts alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.physics import Gpu, Node, durations
from hybrid_ml_scheduler.physics.truth import Drift, HiddenFactors, Truth, device_types, scaled_durations
from hybrid_ml_scheduler.workload import generate, preset

UNKNOWN = preset("unknown").with_values({"num_tasks": 400})
TYPES = ("cpu", "gpu")


def test_factors_are_log_normal_with_mean_one_and_the_spread_asked_for() -> None:
    hidden = HiddenFactors(Truth(kind_spread=0.5), 1, TYPES)
    factors = np.array([hidden.row(f"kind {number}") for number in range(4000)])
    assert factors.mean(axis=0) == pytest.approx([1.0, 1.0], rel=0.04)
    assert np.log(factors).std(axis=0) == pytest.approx([0.5, 0.5], rel=0.05)
    assert abs(np.corrcoef(np.log(factors).T)[0, 1]) < 0.05


def test_a_factor_depends_on_seed_kind_and_device_alone() -> None:
    first, second = (HiddenFactors(Truth(kind_spread=0.5), 1, TYPES) for _ in range(2))
    second.row("another")
    assert first.row("a") == second.row("a")
    assert first.row("a") != HiddenFactors(Truth(kind_spread=0.5), 2, TYPES).row("a")
    more = HiddenFactors(Truth(kind_spread=0.5), 1, ("cpu", "gpu", "gpu_1"))
    assert more.row("a")[:2] == first.row("a")


def test_without_a_spread_the_formula_is_the_truth() -> None:
    batch = generate(UNKNOWN, 1)
    assert Truth().is_the_formula
    assert (HiddenFactors(Truth(), 1, TYPES).columns(batch) == 1.0).all()


def test_a_drift_doubles_or_halves_half_of_the_kinds_on_the_gpus_from_its_task_on() -> None:
    batch = generate(UNKNOWN, 1)
    steady = HiddenFactors(Truth(kind_spread=0.5), 1, TYPES).columns(batch)
    drifting = HiddenFactors(Truth(kind_spread=0.5, drift=(Drift(at_task=150),)), 1, TYPES).columns(batch)
    ratio = drifting / steady
    assert (ratio[:150] == 1.0).all()
    assert (ratio[:, 0] == 1.0).all()
    changed = {int(kind): ratio[row, 1] for row, kind in enumerate(batch.kind) if row >= 150}
    assert sorted({round(float(value), 6) for value in changed.values()}) == [0.5, 1.0, 2.0]
    assert sum(value != 1.0 for value in changed.values()) == 6


def test_measured_times_are_the_truth_themselves() -> None:
    batch = generate(UNKNOWN, 1)
    measured = np.where(np.arange(len(batch)) < 10, 2.0, np.nan)
    factors = HiddenFactors(Truth(kind_spread=0.5), 1, TYPES).columns(replace(batch, cpu_time=measured))
    assert (factors[:10] == 1.0).all()
    assert (factors[10:] != 1.0).all()


def test_a_captured_truth_goes_on_with_its_drifts() -> None:
    first = HiddenFactors(Truth(kind_spread=0.5), 1, TYPES)
    kinds = [f"kind-{number}" for number in range(1, 13)]
    changed = first.apply_drift(Drift(at_task=0), kinds)
    second = HiddenFactors(Truth(kind_spread=0.5), 1, TYPES)
    second.restore(first.capture())
    assert len(changed) == 6
    assert [second.row(kind) for kind in kinds] == [first.row(kind) for kind in kinds]


def test_each_type_of_gpu_has_its_own_name_and_durations_scale_by_type() -> None:
    node = Node(gpus=(Gpu(), Gpu(speed=2.0), Gpu()))
    assert device_types(node) == ("cpu", "gpu", "gpu_1")
    batch = generate(UNKNOWN, 1)
    nominal = durations(batch, node)
    factors = np.tile([2.0, 3.0, 4.0], (len(batch), 1))
    true = scaled_durations(nominal, factors)
    assert np.array_equal(true.cpu_s, nominal.cpu_s * 2.0)
    assert np.array_equal(true.on_gpu(1), nominal.on_gpu(1) * 4.0)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"at_task": -1}, "at_task"),
        ({"at_task": 1, "share": 0.0}, "share"),
        ({"at_task": 1, "factor": 1.0}, "factor"),
        ({"at_task": 1, "device": "tpu"}, "device"),
    ],
)
def test_a_drift_that_cannot_be_is_refused(values: dict[str, object], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        Drift(**values)  # type: ignore[arg-type]


def test_a_spread_that_cannot_be_is_refused() -> None:
    with pytest.raises(PlanError, match="kind_spread"):
        Truth(kind_spread=-0.1)
