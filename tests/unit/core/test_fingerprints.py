"""Equal values have equal fingerprints, different ones do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from hybrid_ml_scheduler.core.reproducible import fingerprint_of


@dataclass(slots=True)
class Slotted:
    """A record."""

    weights: np.ndarray
    bias: float = 0.0


class Telling:
    """Tells what it holds, and holds something that does not count."""

    def __init__(self, told: Any) -> None:
        self._told, self.scratch = told, object()

    def payload(self) -> Any:
        return {"told": self._told}


ONES = np.ones(3)
PAIRS = [
    (1, 1.0),
    (1, True),
    ("1", 1),
    ([1, [2]], [[1], 2]),
    ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
    (ONES, np.ones(3, dtype=np.float32)),
    (ONES, np.ones((3, 1))),
    (Slotted(ONES), Slotted(ONES, bias=1.0)),
    (Slotted(ONES), Slotted(2 * ONES)),
    (Telling(1), Telling(2)),
    (None, {}),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_what_differs_has_another_fingerprint(one: Any, other: Any) -> None:
    assert fingerprint_of(one) != fingerprint_of(other)


def test_equal_values_agree_however_they_were_made() -> None:
    assert fingerprint_of({"a": 1, "b": ONES}) == fingerprint_of({"b": np.ones(6)[::2], "a": 1})
    assert fingerprint_of(Telling([1.5])) == fingerprint_of(Telling([1.5]))
    assert fingerprint_of(Slotted(ONES)) == fingerprint_of(Slotted(np.ones(3)))
