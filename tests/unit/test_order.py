"""The order of the tests loses none, and gives every worker its long ones first."""

from __future__ import annotations

import pytest

from tests.order import in_stretches

NAMES = [
    *(f"tests/api/test_a.py::{number}" for number in range(5)),
    *(f"tests/contracts/test_c.py::{number}" for number in range(4)),
    *(f"tests/e2e/test_access.py::{number}" for number in range(2)),
    *(f"tests/e2e/test_views.py::{number}" for number in range(3)),
    *(f"tests/unit/core/test_u.py::{number}" for number in range(40)),
    *(f"tests/unit/programs/test_p.py::{number}" for number in range(2)),
]


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 60])
def test_every_test_is_run_once_whatever_the_number_of_workers(workers: int) -> None:
    assert sorted(in_stretches(NAMES, NAMES, workers)) == sorted(NAMES)


def test_one_worker_keeps_the_order() -> None:
    assert in_stretches(NAMES, NAMES, 1) == NAMES


def test_each_of_four_workers_begins_with_long_tests_that_belong_together() -> None:
    ordered, quarter = in_stretches(NAMES, NAMES, 4), len(NAMES) // 4
    assert [name.split("::")[0] for name in ordered[: quarter + 1]].count("tests/e2e/test_access.py") == 2
    assert ordered[0] == "tests/e2e/test_access.py::0"
    assert ordered[quarter] == "tests/e2e/test_views.py::0"
    assert ordered[2 * quarter] == "tests/api/test_a.py::0"
    assert ordered[3 * quarter : 3 * quarter + 3] == [*NAMES[-2:], "tests/contracts/test_c.py::0"]
    assert ordered[-1].startswith("tests/unit/core/")
