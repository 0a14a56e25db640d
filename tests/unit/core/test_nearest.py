"""A slip of the pen is answered with the name that was meant."""

from __future__ import annotations

import pytest

from hybrid_ml_scheduler.core.text import nearest, nearest_hint

KNOWN = ("seed", "seeds", "arrival_rate", "API_KEY")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("sed", "seed"), ("arival_rate", "arrival_rate"), ("ARRIVAL_RATE", "arrival_rate"), ("api-key", "API_KEY")],
)
def test_a_slip_is_answered_with_the_name_that_was_meant(typed: str, meant: str) -> None:
    assert nearest(typed, KNOWN) == meant
    assert nearest_hint(typed, KNOWN) == f"; did you mean {meant!r}?"


@pytest.mark.parametrize("typed", ["zzz", "", 5, None, 2.5])
def test_what_comes_near_nothing_gets_the_whole_list(typed: object) -> None:
    assert nearest(typed, KNOWN) is None
    assert nearest_hint(typed, KNOWN) == "; known: seed, seeds, arrival_rate, API_KEY."


def test_where_nothing_is_known_the_hint_says_so() -> None:
    assert nearest_hint("share", ()) == "; it has none."


def test_known_names_may_come_one_by_one() -> None:
    assert nearest_hint("sede", iter(KNOWN)) == "; did you mean 'seed'?"
