"""Times and ratios cannot be negative: no interval of a published table begins below zero, and no maker prints one."""

from __future__ import annotations

import importlib.util
import re
import sys
from types import ModuleType

import pytest

from benchmarks.everywhere import RULES, lines, standing
from tests.unit.workload.comparing import REPOSITORY

DOCS = REPOSITORY / "docs"
BELOW_ZERO = re.compile(r"\d \[-\d")
WILD = [1.0, 1.0, 100.0]


@pytest.mark.parametrize("name", ["strategies", "traces", "knowledge", "experiments", "learning"])
def test_no_interval_of_a_page_begins_below_zero(name: str) -> None:
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("|") and BELOW_ZERO.search(line)] == []


def maker(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # a dataclass looks its module up
    spec.loader.exec_module(module)
    return module


def test_the_table_of_all_cells_cuts_its_intervals_at_zero() -> None:
    values = {**{rule: [10.0, 10.0, 10.0] for rule in RULES}, "earliest_finish": [10.0] * 3, "rl_hold": WILD}
    found = standing(values, "rl_hold")
    assert found["interval"][0] == 0.0 < found["ratio"] < found["interval"][1]
    cells = {"exact |  | philly | 80": {"rl_hold": found}}
    assert BELOW_ZERO.search("\n".join(lines({"cells": cells, "verdict": {}}))) is None


def test_the_table_of_the_portfolio_cuts_its_intervals_at_zero() -> None:
    table = maker("portfolio_table")
    cell = table.Cell(source="philly.csv", load=0.8, level="exact", tasks=3, seeds=3)
    values = dict.fromkeys((*table.RULES, *table.LEARNED), WILD)
    row = table.row_of(cell, {"values": {**values, "rl_hold": [1.0, 50.0, 1.0]}, "floors": [1.0]})
    assert "[0, " in row
    assert BELOW_ZERO.search(row) is None
