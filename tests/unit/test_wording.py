"""A validator's message becomes a demand in our words."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from hybrid_ml_scheduler.core.text import plain_demand


class Sample(BaseModel):
    """One field for each demand."""

    count: int = Field(default=1, ge=1, le=5)
    share: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    switch: bool = False
    kind: Literal["a", "b"] = "a"


@pytest.mark.parametrize(
    ("field", "value", "demand"),
    [
        ("count", "many", "must be a whole number"),
        ("count", 0, "must be at least 1"),
        ("count", 6, "must be at most 5"),
        ("share", "much", "must be a number"),
        ("share", 0.0, "must be above 0"),
        ("share", "nan", "must be a finite number"),
        ("switch", "maybe", "must be true or false"),
        ("kind", "c", "must be 'a' or 'b'"),
    ],
)
def test_the_validator_is_not_heard(field: str, value: object, demand: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Sample.model_validate({field: value})
    assert plain_demand(refused.value.errors()[0]["msg"]) == demand


def test_our_own_sentence_stays_as_it_is() -> None:
    assert plain_demand("Value error, a URL is expected.") == "a URL is expected"
    assert plain_demand("'x' is not one of 'text', 'json'.") == "must be one of 'text', 'json'"
