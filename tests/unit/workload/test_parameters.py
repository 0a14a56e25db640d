from __future__ import annotations

import math

import pytest

from hybrid_ml_scheduler.core import HmsError, validate_batch
from hybrid_ml_scheduler.workload import DEFAULT_PRESET, PRESETS, WorkloadParameters, generate, preset

TABLE = {
    "mixed": ("pareto", (100, 5000), "bimodal", (0, 1), "with_size", (10, 500), 6),
    "gpu_friendly": ("pareto", (500, 5000), "uniform", (0.7, 1), "uniform", (10, 200), 2),
    "cpu_friendly": ("uniform", (100, 150), "uniform", (0, 0.3), "uniform", (4000, 8000), 6),
    "heavy": ("pareto", (100, 5000), "uniform", (0.6, 1), "uniform", (100, 10_000), 200),
    "light": ("uniform", (500, 1500), "uniform", (0.1, 0.9), "uniform", (50, 150), 1),
    "unknown": ("pareto", (100, 5000), "bimodal", (0, 1), "with_size", (10, 500), 36),
}


def test_the_presets_are_those_of_the_specification() -> None:
    stated = {
        name: (
            p.size_law,
            p.size_range,
            p.intensity_law,
            p.intensity_range,
            p.memory_law,
            p.memory_range,
            p.arrival_rate,
        )
        for name, p in PRESETS.items()
    }
    assert stated == TABLE
    assert DEFAULT_PRESET == "mixed"
    assert (PRESETS["unknown"].kinds, PRESETS["unknown"].noise_sigma) == (12, 0.2)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_every_preset_makes_a_valid_workload_inside_its_ranges(name: str) -> None:
    law = preset(name)
    batch = validate_batch(generate(law, 0))
    assert len(batch) == law.num_tasks
    for column, (low, high) in (
        (batch.size, law.size_range),
        (batch.compute_intensity, law.intensity_range),
        (batch.memory_required, law.memory_range),
    ):
        assert low <= column.min() <= column.max() <= high


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("size_law", "zipf"),
        ("intensity_law", None),
        ("memory_law", "none"),
        ("arrival_law", "bursty"),
        ("size_range", (0.0, 10.0)),
        ("size_range", (-5.0, 10.0)),
        ("size_range", (10.0, 5.0)),
        ("size_range", (1.0, math.inf)),
        ("size_range", (math.nan, 5.0)),
        ("size_range", (1.0, 2.0, 3.0)),
        ("size_range", "100-200"),
        ("size_range", (True, 2.0)),
        ("intensity_range", (0.0, 1.5)),
        ("intensity_range", (-0.1, 1.0)),
        ("memory_range", (-1.0, 10.0)),
        ("arrival_rate", 0.0),
        ("arrival_rate", -1.0),
        ("arrival_rate", math.nan),
        ("arrival_rate", math.inf),
        ("arrival_rate", "6"),
        ("num_tasks", 0),
        ("num_tasks", -5),
        ("num_tasks", 10**12),
        ("arrival_rate", 1e-300),
        ("memory_range", (0.0, 1e300)),
        ("num_tasks", 10.0),
        ("num_tasks", True),
        ("dependency_probability", 1.01),
        ("dependency_probability", -0.01),
        ("dependency_probability", math.nan),
        ("noise_sigma", -0.1),
        ("noise_sigma", math.inf),
        ("max_parents", 0),
        ("max_parents", 51),
        ("parent_window", 0),
    ],
)
def test_a_wrong_value_is_refused_with_its_key_in_one_sentence(key: str, value: object) -> None:
    with pytest.raises(HmsError) as refusal:
        WorkloadParameters().with_values({key: value})
    sentence = str(refusal.value)
    assert sentence.startswith(f"workload.{key} = ")
    assert sentence.endswith(".")
    assert "\n" not in sentence


def test_an_unknown_key_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(HmsError, match=r"workload\.arival_rate is not a known key; did you mean 'arrival_rate'\?"):
        WorkloadParameters().with_values({"arival_rate": 3.0})


def test_an_unknown_preset_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(HmsError, match=r"no workload preset 'gpu_freindly'; did you mean 'gpu_friendly'\?"):
        preset("gpu_freindly")
    with pytest.raises(HmsError, match="known: mixed, gpu_friendly"):
        preset("zzz")


def test_parameters_survive_the_way_through_plain_values() -> None:
    law = PRESETS["heavy"].with_values({"noise_sigma": 0.25, "num_tasks": 7})
    assert WorkloadParameters().with_values(law.to_mapping()) == law


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(HmsError, match="seed = -1"):
        generate(WorkloadParameters(), -1)


def test_a_range_of_one_value_is_allowed() -> None:
    law = WorkloadParameters(size_range=(700.0, 700.0), intensity_range=(0.5, 0.5), memory_range=(8.0, 8.0))
    batch = generate(law, 0)
    assert set(batch.size) == {700.0}
    assert set(batch.compute_intensity) == {0.5}
    assert set(batch.memory_required) == {8.0}
