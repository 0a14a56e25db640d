"""The order of the tests loses none, and gives every worker its long ones first."""

from __future__ import annotations

import pytest

from tests.order import in_stretches

NAMES = [
    *(f"tests/api/test_a.py::{number}" for number in range(5)),
    *(f"tests/contracts/on_ray/test_c.py::{number}" for number in range(4)),
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
    assert ordered[3 * quarter : 3 * quarter + 5] == [*NAMES[5:9], "tests/unit/programs/test_p.py::0"]
    assert ordered[-1].startswith("tests/unit/core/")


def test_a_long_list_that_fills_more_than_a_stretch_still_begins_one() -> None:
    many = [*NAMES, *(f"tests/unit/studies/test_s.py::{number}" for number in range(60))]
    ordered = in_stretches(many, many, 4)
    assert sorted(ordered) == sorted(many)
    begins, rest = [], len(many)
    for workers in (4, 3, 2, 1):  # pytest-xdist gives each an equal share of what is left
        begins.append(ordered[len(many) - rest])
        rest -= rest // workers
    assert [name.split("::")[0] for name in begins] == [
        "tests/e2e/test_access.py", "tests/e2e/test_views.py", "tests/api/test_a.py", "tests/contracts/on_ray/test_c.py"
    ]  # fmt: skip
