"""When a strategy counts as settled after a change."""

from __future__ import annotations

import numpy as np

from hybrid_ml_scheduler.core import stream
from hybrid_ml_scheduler.service.explain.adapting import settled_from


def _decaying(steps: int = 40, length: float = 4.0) -> np.ndarray:
    return 0.2 + 5.0 * np.exp(-np.arange(steps) / length)


def test_a_strategy_that_never_suffered_is_settled_at_once() -> None:
    assert settled_from(np.full(40, 0.3)) == 0


def test_a_strategy_that_learns_is_settled_when_its_loss_is_near_what_stays() -> None:
    slow, quick = settled_from(_decaying(length=4.0)), settled_from(_decaying(length=1.0))
    assert slow is not None
    assert quick is not None
    assert 0 < quick < slow < 25


def test_a_queue_that_grows_is_not_settled() -> None:
    assert settled_from(np.linspace(0.1, 9.0, 40)) is None


def test_too_few_steps_say_nothing() -> None:
    assert settled_from(_decaying(steps=8)) is None


def test_chance_alone_does_not_unsettle_a_strategy() -> None:
    noisy = np.exp(stream(1, "adapting").normal(0.0, 0.5, (200, 40)))
    places = [settled_from(row) for row in noisy]
    assert sum(place is not None and place <= 5 for place in places) > 170


def test_steps_in_which_nothing_finished_are_not_taken_for_good_ones() -> None:
    regret = np.full(40, 0.3)
    regret[:4] = np.nan
    assert settled_from(regret) == 2
