"""docs/changed-figures.md says of each changed default or figure how to get the old one, and how long aliases live."""

from __future__ import annotations

import re

import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.schedulers import create
from tests.unit.workload.comparing import REPOSITORY

PAGE = (REPOSITORY / "docs" / "changed-figures.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ")][1:]


@pytest.mark.parametrize("row", ROWS)
def test_every_row_says_what_before_now_why_and_how(row: str) -> None:
    cells = [cell.strip() for cell in row.strip("|").split(" | ")]
    assert len(cells) == 5
    assert all(cells)


def test_the_page_says_how_long_aliases_live_and_they_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert re.search(r"aliases until version \d+\.\d+", PAGE)
    assert create("hybrid_ml", {"mode": "share"}).name.startswith("hybrid_ml")
    assert run(["recommend", "--workload", "mixed", "--nodes", "missing.toml", "--promise", "p95_latency < 2 s"]) == 2
    assert "missing.toml" in capsys.readouterr().err
