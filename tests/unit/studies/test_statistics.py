"""Intervals, paired comparisons and sequential stopping do what they promise, checked against SciPy and by chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hybrid_ml_scheduler.core import stream
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.plans.intervals import (
    bootstrap_interval,
    bounded_interval,
    ratio_interval,
    share_interval,
    t_interval,
)
from hybrid_ml_scheduler.studies.sequential import is_decided, looks_until_decided, planned_looks, spent_level
from hybrid_ml_scheduler.studies.statistics import Verdict, compare_all, holm, paired_p_value


def test_the_t_interval_is_scipys() -> None:
    values = stream(1, "t").normal(3, 2, 12)
    mine = t_interval(values, 0.9)
    low, high = stats.t.interval(0.9, 11, loc=values.mean(), scale=stats.sem(values))
    assert mine.low == pytest.approx(low, rel=1e-12)
    assert mine.high == pytest.approx(high, rel=1e-12)


def test_the_paired_p_is_scipys() -> None:
    rng = stream(2, "p")
    a, b = rng.normal(1, 1, 9), rng.normal(1.4, 1, 9)
    assert paired_p_value(a - b) == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-10)


def test_the_bootstrap_interval_is_close_to_scipys() -> None:
    values = stream(3, "b").exponential(1.0, 25)
    mine = bootstrap_interval(values, stream(3, "resample"), resamples=20_000)
    theirs = stats.bootstrap((values,), np.mean, method="BCa", n_resamples=20_000, rng=stream(4, "resample"))
    assert mine.low == pytest.approx(theirs.confidence_interval.low, abs=0.01)
    assert mine.high == pytest.approx(theirs.confidence_interval.high, abs=0.02)


@pytest.mark.parametrize("count", [3, 5, 20])
def test_the_t_interval_covers_the_truth_as_often_as_it_says(count: int) -> None:
    rng = stream(5, "coverage", count)
    hits = sum(one.low <= 7.0 <= one.high for one in (t_interval(row) for row in rng.normal(7, 3, (4000, count))))
    # Four standard errors of a share of 0.95 over 4000 tries.
    assert hits / 4000 == pytest.approx(0.95, abs=4 * (0.95 * 0.05 / 4000) ** 0.5)


def test_one_seed_has_no_interval_and_no_winner() -> None:
    assert not t_interval([4.0]).is_known
    (only,) = compare_all("latency", {"a": [1.0], "b": [9.0]})
    assert only.verdict is Verdict.TIE
    assert only.winner is None


def test_equal_strategies_tie_and_constant_differences_decide() -> None:
    (equal,) = compare_all("latency", {"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0]})
    (shifted,) = compare_all("latency", {"a": [1.0, 2.0, 3.0], "b": [2.0, 3.0, 4.0]})
    assert equal.verdict is Verdict.TIE
    assert shifted.winner == "a"
    assert (shifted.difference.low, shifted.difference.high) == (-1.0, -1.0)


def test_pairing_finds_what_two_separate_samples_hide() -> None:
    rng = stream(6, "pairs")
    duration_factor = rng.normal(100, 20, 10)
    a, b = duration_factor + rng.normal(0, 0.1, 10), duration_factor + 1 + rng.normal(0, 0.1, 10)
    assert stats.ttest_ind(a, b).pvalue > 0.5
    (found,) = compare_all("latency", {"a": a, "b": b})
    assert found.winner == "a"


def test_where_more_is_better_the_larger_wins() -> None:
    samples = {"a": [1.0, 1.1, 0.9, 1.0], "b": [3.0, 3.1, 2.9, 3.2]}
    (found,) = compare_all("throughput", samples, lower_is_better=False)
    assert found.winner == "b"


def test_holm_matches_the_worked_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_p_and_keeps_their_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= q <= 1.0 for p, q in zip(p_values, adjusted, strict=True))
    ranked = [q for _, q in sorted(zip(p_values, adjusted, strict=True))]
    assert ranked == sorted(ranked)


def test_many_equal_strategies_give_a_false_winner_at_most_as_often_as_promised() -> None:
    rng = stream(7, "family")
    tries = 1500
    false = sum(
        any(one.winner for one in compare_all("m", dict(zip("abcdef", rng.normal(0, 1, (6, 8)), strict=True))))
        for _ in range(tries)
    )
    assert false / tries <= 0.05 + 4 * (0.05 * 0.95 / tries) ** 0.5


def test_looks_double_and_pay_for_each_other() -> None:
    assert planned_looks(40) == (5, 10, 20, 40)
    assert planned_looks(50) == (5, 10, 20, 40, 50)
    assert spent_level(0.95, 5) == pytest.approx(0.99)
    with pytest.raises(PlanError, match="max-seeds"):
        planned_looks(3)


def _searches(rng: np.random.Generator, shift: float) -> tuple[bool, bool, int]:
    """One search between two strategies: a winner with payment, a winner by naive peeking, seeds used."""
    base = rng.normal(10, 3, 80)
    data = {"a": base, "b": base + shift + rng.normal(0, 1, 80)}
    looks = list(
        looks_until_decided("m", lambda n: {name: column[:n] for name, column in data.items()}, most=80, margin=0.0)
    )
    naive = any(
        compare_all("m", {name: column[:n] for name, column in data.items()})[0].winner for n in planned_looks(80)
    )
    return looks[-1].comparisons[0].winner is not None, naive, looks[-1].seeds


def test_repeated_looking_is_paid_for() -> None:
    rng = stream(8, "peeking")
    tries = [_searches(rng, 0.0) for _ in range(1200)]
    honest, naive = (sum(found[place] for found in tries) / len(tries) for place in (0, 1))
    assert honest <= 0.05 + 4 * (0.05 * 0.95 / len(tries)) ** 0.5
    assert naive > 0.08, "peeking without payment errs more often, or the test shows nothing"


def test_a_clear_difference_stops_early() -> None:
    rng = stream(9, "clear")
    assert np.median([_searches(rng, 3.0)[2] for _ in range(50)]) <= 10


def test_equality_within_the_margin_is_an_answer() -> None:
    rng = stream(11, "equal")
    base = rng.normal(10, 3, 80)
    data = {"a": base, "b": base + rng.normal(0, 0.02, 80)}
    *_, last = looks_until_decided("m", lambda n: {k: v[:n] for k, v in data.items()}, most=80, margin=0.01)
    assert last.decided
    assert is_decided(last.comparisons[0], 0.01)
    assert not is_decided(last.comparisons[0], 0.0)


def test_a_share_stays_a_share() -> None:
    wide = share_interval([0.0, 1.0, 1.0])
    assert (wide.low, wide.high) == (0.0, 1.0)


def test_an_interval_is_cut_off_where_the_quantity_cannot_lie_and_nowhere_else() -> None:
    gaps = [0.0, 0.1, 0.02]
    plain, cut = t_interval(gaps), bounded_interval(gaps)
    assert plain.low < 0.0 == cut.low
    assert (cut.mean, cut.high) == (plain.mean, plain.high)
    assert bounded_interval([5.0, 5.1, 4.9]) == t_interval([5.0, 5.1, 4.9])


def test_the_interval_of_all_pairs_is_wider_than_that_of_one() -> None:
    rng = stream(9, "pairs")
    for one in compare_all("latency", {name: rng.normal(1.0, 0.1, 6) for name in "abcd"}):
        assert one.simultaneous.low < one.difference.low < one.difference.high < one.simultaneous.high


def test_a_ratio_is_not_negative_and_one_to_a_proven_bound_not_below_one() -> None:
    ratios = [1.07, 1.70]
    assert t_interval(ratios).low < 0.0 == ratio_interval(ratios, "earliest_finish").low
    for rival in ("bound", "optimum"):
        found = ratio_interval(ratios, rival)
        assert (found.low, found.high) == (1.0, t_interval(ratios).high)
