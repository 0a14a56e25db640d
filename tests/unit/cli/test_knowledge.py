"""`hms knowledge` from the outside: levels of knowledge and the price of not knowing in a results folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybrid_ml_scheduler.cli.main import run

SMALL = ("--tasks", "300", "--seeds", "2", "--load", "0.8", "--scheduler", "earliest_finish", "--workers", "1")


def test_levels_and_prices_come_with_intervals_tables_plots_and_a_pdf(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(["knowledge", *SMALL, "--out", str(out), "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["load"], row["scheduler"]) == (0.8, "earliest_finish")
    for level in ("nominal", "learned"):
        low, high = row[f"{level}_price_ci"]
        assert low <= row[f"{level}_price"] <= high
    for name in ("report.pdf", "plots/knowledge_levels.png", "plots/knowledge_prices.svg", "tables/prices.csv"):
        assert (out / name).stat().st_size > 0
    assert not (out / "INCOMPLETE").exists()
    assert run(["knowledge", *SMALL, "--out", str(out)]) == 0
    assert "Load 0.8: while learning, Earliest finish" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--scheduler", "earliest_finish@exact"), "name it without one"),
        (("--scheduler", "oracle"), "level of its own"),
        (("--scheduler", "greedy", "--scheduler", "greedy"), "more than once"),
        (("--scheduler", "gredy"), "greedy"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_a_folder_is_begun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    assert run(["knowledge", *words, "--out", str(tmp_path / "out")]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
