from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hybrid_ml_scheduler.core import validate_batch
from hybrid_ml_scheduler.workload import PRESETS, WorkloadParameters, generate
from tests.unit.workload.comparing import COLUMNS

COUNT = 20_000
# A true law is refused by a Kolmogorov-Smirnov test at this level once in a thousand seeds; the seed is fixed.
LEVEL = 1e-3


def made(**values: object) -> WorkloadParameters:
    return PRESETS["mixed"].with_values({"num_tasks": COUNT, **values})


def test_pareto_sizes_follow_low_times_one_plus_pareto_below_the_clip() -> None:
    size = generate(made(), 1).size
    assert size.min() >= 100.0
    inside = size[size < 5000.0]
    law = stats.truncpareto(1.5, 50.0, scale=100.0)
    assert stats.kstest(inside, law.cdf).pvalue > LEVEL
    clipped = np.mean(size == 5000.0)
    expected = 50.0**-1.5
    assert abs(clipped - expected) < 3.3 * np.sqrt(expected / COUNT)


def test_lognormal_sizes_have_a_median_of_three_times_low() -> None:
    size = generate(made(size_law="lognormal", size_range=(100.0, 1e9)), 2).size
    inside = size[size > 100.0]
    below = stats.norm.cdf(np.log(1 / 3))

    def cdf(x: np.ndarray) -> np.ndarray:
        return (stats.norm.cdf(np.log(x / 300.0)) - below) / (1 - below)

    assert stats.kstest(inside, cdf).pvalue > LEVEL


@pytest.mark.parametrize(
    ("column", "values", "low", "high"),
    [
        ("size", {"size_law": "uniform", "size_range": (500.0, 1500.0)}, 500.0, 1500.0),
        ("compute_intensity", {"intensity_law": "uniform", "intensity_range": (0.7, 1.0)}, 0.7, 1.0),
        ("memory_required", {"memory_law": "uniform", "memory_range": (4000.0, 8000.0)}, 4000.0, 8000.0),
    ],
)
def test_uniform_laws_are_uniform_over_their_range(
    column: str, values: dict[str, object], low: float, high: float
) -> None:
    drawn = getattr(generate(made(**values), 3), column)
    assert stats.kstest(drawn, stats.uniform(low, high - low).cdf).pvalue > LEVEL


def test_intensity_is_thirty_per_cent_around_a_fifth_and_seventy_around_four_fifths() -> None:
    intensity = generate(made(), 4).compute_intensity

    def cdf(x: np.ndarray) -> np.ndarray:
        return 0.3 * stats.norm.cdf(x, 0.2, 0.1) + 0.7 * stats.norm.cdf(x, 0.8, 0.1)

    inside = intensity[(intensity > 0.0) & (intensity < 1.0)]
    low, high = cdf(np.array(0.0)), cdf(np.array(1.0))
    assert stats.kstest(inside, lambda x: (cdf(x) - low) / (high - low)).pvalue > LEVEL
    assert intensity.min() >= 0.0
    assert intensity.max() <= 1.0


def test_memory_grows_with_size_and_scatters_by_a_tenth_of_its_high_end() -> None:
    batch = generate(made(size_law="uniform", size_range=(1500.0, 3000.0), memory_range=(0.0, 500.0)), 5)
    scatter = batch.memory_required - 500.0 * batch.size / 3000.0
    inside = (batch.size > 1600.0) & (batch.size < 1700.0)
    assert stats.kstest(scatter[inside], stats.norm(0.0, 50.0).cdf).pvalue > LEVEL
    assert batch.memory_required.max() <= 500.0


def test_poisson_gaps_are_exponential_with_the_given_rate() -> None:
    arrival = generate(made(arrival_rate=6.0), 6).arrival_time
    gaps = np.diff(arrival, prepend=0.0)
    assert stats.kstest(gaps, stats.expon(scale=1 / 6).cdf).pvalue > LEVEL


def test_a_batch_arrives_at_time_zero() -> None:
    assert not generate(made(arrival_law="batch"), 7).arrival_time.any()


def test_the_duration_factor_is_lognormal_with_mean_one() -> None:
    factor = generate(made(noise_sigma=0.5), 8).duration_factor
    assert stats.kstest(np.log(factor), stats.norm(-0.125, 0.5).cdf).pvalue > LEVEL
    # The mean of COUNT factors lies within 4 standard errors of 1.
    assert abs(factor.mean() - 1.0) < 4 * np.sqrt((np.exp(0.25) - 1) / COUNT)


def test_without_noise_every_factor_is_exactly_one() -> None:
    assert (generate(made(), 9).duration_factor == 1.0).all()


def test_parents_are_one_to_three_distinct_tasks_among_the_previous_fifty() -> None:
    batch = validate_batch(generate(made(dependency_probability=0.4), 10))
    number = np.diff(batch.parent_offsets)
    back = np.repeat(batch.task_id, number) - batch.parent_ids
    assert back.min() >= 1
    assert back.max() <= 50
    assert all(list(batch.parents(row)) == sorted(set(batch.parents(row))) for row in range(2000))
    later = number[50:]
    share = np.mean(later > 0)
    assert abs(share - 0.4) < 4 * np.sqrt(0.4 * 0.6 / COUNT)
    counts = np.bincount(later, minlength=4)[1:]
    assert stats.chisquare(counts).pvalue > LEVEL
    steps = np.bincount(back[batch.parent_offsets[50] :], minlength=51)[1:]
    assert stats.chisquare(steps).pvalue > LEVEL


def test_every_pair_of_parents_is_equally_likely() -> None:
    batch = generate(made(dependency_probability=1.0, max_parents=2, parent_window=3), 11)
    pairs = [batch.parents(row) for row in range(3, COUNT) if len(batch.parents(row)) == 2]
    rows = [row for row in range(3, COUNT) if len(batch.parents(row)) == 2]
    seen = [(row - a, row - b) for row, (a, b) in zip(rows, pairs, strict=True)]
    counts = [seen.count(pair) for pair in ((3, 2), (3, 1), (2, 1))]
    assert sum(counts) == len(seen)
    assert stats.chisquare(counts).pvalue > LEVEL


def test_the_first_task_has_no_parent_even_when_all_others_have() -> None:
    batch = generate(made(dependency_probability=1.0, num_tasks=5), 12)
    assert batch.parents(0) == ()
    assert all(batch.parents(row) for row in range(1, 5))


@pytest.mark.parametrize("values", [{"dependency_probability": 0.5}, {"noise_sigma": 0.3}, {"arrival_rate": 60.0}])
def test_turning_one_thing_on_changes_no_other_column(values: dict[str, object]) -> None:
    plain, other = generate(made(), 13), generate(made(**values), 13)
    touched = {
        "dependency_probability": {"parent_offsets", "parent_ids"},
        "noise_sigma": {"duration_factor"},
        "arrival_rate": {"arrival_time"},
    }[next(iter(values))]
    differing = {name for name in COLUMNS if getattr(plain, name).tobytes() != getattr(other, name).tobytes()}
    assert differing == touched
