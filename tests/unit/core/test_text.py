"""Text from elsewhere can be told, sent and stored."""

from __future__ import annotations

import pytest

from hybrid_ml_scheduler.core.errors import HmsError, PlanError, SchedulerError
from hybrid_ml_scheduler.core.text import plain_text

ODD = "bad \ud800 file\0, größer"


def test_odd_characters_are_spelled_out_and_all_others_stay() -> None:
    assert plain_text(ODD) == r"bad \ud800 file , größer"
    assert plain_text(12.5) == "12.5"


@pytest.mark.parametrize("kind", [HmsError, PlanError, SchedulerError])
def test_whatever_an_error_quotes_its_sentence_can_be_encoded(kind: type[HmsError]) -> None:
    assert str(kind(f"There is no file {ODD}.")) == r"There is no file bad \ud800 file , größer."
    assert str(kind()) == ""
