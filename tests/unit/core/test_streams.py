"""One seed, one generator for every name, and none disturbs another."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_ml_scheduler.core import stream

FIRST_DRAWS = [0.04412309497767508, 0.8064669237745071]


def test_the_same_seed_and_names_give_the_same_numbers() -> None:
    assert stream(7, "workload", "size").random(5).tolist() == stream(7, "workload", "size").random(5).tolist()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((7, "a"), (8, "a")),
        ((7, "a"), (7, "b")),
        ((7, "a", "b"), (7, "b", "a")),
        ((7, "ab", "c"), (7, "a", "bc")),
        ((7, "a"), (7, "a", "")),
        ((7, "a"), (7, "a", 0)),
        ((7, "x"), (7, "X")),
    ],
)
def test_another_seed_or_path_gives_other_numbers(one: tuple[int | str, ...], other: tuple[int | str, ...]) -> None:
    first, second = (stream(int(path[0]), *path[1:]).random(4).tolist() for path in (one, other))
    assert first != second


def test_the_numbers_of_a_name_are_fixed_for_ever() -> None:
    """Stored results depend on these; a change of the hash or of the generator would be seen here."""
    assert stream(0, "scheduler", "random").random(2).tolist() == FIRST_DRAWS


def test_a_number_may_be_a_name() -> None:
    assert stream(1, "trial", 3).random() == stream(1, "trial", "3").random()


def test_streams_of_neighbouring_seeds_are_not_correlated() -> None:
    rows = np.array([stream(seed, "workload", "arrivals").random(2000) for seed in range(8)])
    correlation = np.corrcoef(rows) - np.eye(8)
    assert np.abs(correlation).max() < 0.1


def test_a_new_consumer_changes_nothing_for_an_older_one() -> None:
    alone = stream(3, "old").random(10).tolist()
    old, new = stream(3, "old"), stream(3, "new")
    mixed = []
    for _ in range(10):
        new.random(7)
        mixed.append(float(old.random()))
    assert mixed == alone
