"""Stored runs come out the same, to 1e-12, on every machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hybrid_ml_scheduler.schedulers import available
from tests.golden.cases import STORED, STRATEGIES, cases, results

# The mean wait is a small difference of large sums, so its last digits are those of the sums. The makespan bound
# is a search for the best proof, whose steps use exp(); another machine may stop at another, equally valid proof.
TOLERANCE = {"mean_wait_s": 1e-9, "lower_bound.makespan_s": 1e-6}


@pytest.fixture(scope="module")
def computed() -> dict[str, Any]:
    return results()


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(STORED.read_text(encoding="utf-8"))
    return found


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every number with the path to it."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from leaves(item, f"{path}[{place}]")
    else:
        yield path, value


@pytest.mark.parametrize("case", list(cases()))
def test_a_stored_run_is_reproduced(case: str, computed: dict[str, Any], stored: dict[str, Any]) -> None:
    expected, found = dict(leaves(stored[case])), dict(leaves(computed[case]))
    assert found.keys() == expected.keys()
    wrong = {}
    for path, value in expected.items():
        tolerance = next((limit for end, limit in TOLERANCE.items() if path.endswith(end)), 1e-12)
        same = found[path] == (value if not isinstance(value, float) else pytest.approx(value, rel=tolerance))
        if not same:
            wrong[path] = (value, found[path])
    assert wrong == {}


def test_the_golden_runs_hold_every_baseline_and_the_reference() -> None:
    entries = available()
    assert {name for name, entry in entries.items() if entry.kind in ("baseline", "reference")} <= set(STRATEGIES)
    assert set(STRATEGIES) <= set(entries)


def test_the_golden_runs_see_failing_and_paging_tasks(stored: dict[str, Any]) -> None:
    fails = stored["big_memory_fails"]["schedulers"]["gpu_only"]
    pages = stored["big_memory_pages"]["schedulers"]["gpu_only"]
    assert fails["failed_count"] > fails["oom_count"] > 0
    assert pages["oom_count"] > 0
    assert pages["failed_count"] == 0
