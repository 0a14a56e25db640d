"""What commands print for people: numbers whole and without the signs of rounding, and which files were written."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from pypdf import PdfReader

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.cli.output.show import print_race
from hybrid_ml_scheduler.plans.metrics import format_fixed
from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice
from hybrid_ml_scheduler.reports.report_page import Page
from hybrid_ml_scheduler.reports.report_parts import pair_table
from hybrid_ml_scheduler.studies.race import entrants, run_race
from hybrid_ml_scheduler.studies.results import race_mapping


def test_a_table_of_a_race_shows_no_zero_with_a_sign(capsys: pytest.CaptureFixture[str]) -> None:
    plan = Plan(schedulers=("greedy", "earliest_finish"), workload=WorkloadChoice(source="mixed", num_tasks=20))
    result = race_mapping(plan, entrants(plan), run_race(plan))
    for row in result["schedulers"].values():  # what rounding may leave in place of zeros
        row.update(makespan_gap=-2.2e-16, energy_j=-3e-18, cost_usd=-0.0)
    print_race(result)
    said = capsys.readouterr().out
    rows = [line.split() for line in said.splitlines() if line.split()[1:2] == ["exact"]]
    assert [row[-3:] for row in rows[:2]] == [["0.00", "0", "0"]] * 2


def test_no_number_is_cut_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert run(["race", "--seeds", "4", "--tasks", "10", "--scheduler", "greedy"]) == 0
    said = capsys.readouterr().out
    row, tail = (line for line in said.splitlines() if line.split()[:1] == ["greedy"])
    assert "…" not in said
    assert len(re.findall(r"[0-9.]+ (?:\[|±)", tail)) == 5  # p99, p99.9, longest, both slowdowns
    assert row.count("[0, ") == row.count("]") > 1


def test_the_file_of_a_trace_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["race", "--tasks", "5", "--scheduler", "greedy", "--trace", str(tmp_path / "t.json")]
    assert run(words) == 0
    assert f"The trace of the first seed is {tmp_path / 't.json'}" in capsys.readouterr().out
    assert run([*words, "--format", "json"]) == 0
    json.loads(capsys.readouterr().out)


def test_a_strategy_of_ones_own_can_be_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(STRATEGY)
    assert run(["schedulers", "--check", f"{mine}:Mine"]) == 0
    assert capsys.readouterr().out == "mine keeps the contract.\n"
    assert run(["schedulers", "--check", f"{mine}:Mine", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"name": "mine", "keeps_the_contract": True}
    assert run(["schedulers", "--check", f"{mine}:Lucky"]) == 2
    assert capsys.readouterr().err == "hms: lucky: two runs with the same seed decide differently.\n"


STRATEGY = """
import random
from hybrid_ml_scheduler import Decision

class Mine:
    name = "mine"
    def decide(self, task, cluster):
        return Decision(gpu_fraction=0.5)

class Lucky(Mine):
    name = "lucky"
    def decide(self, task, cluster):
        return Decision(gpu_fraction=random.random())
"""


@pytest.mark.parametrize(("best", "other"), [("greedy", "oracle"), ("oracle", "greedy")])
def test_equal_strategies_differ_by_zero_from_either_side(best: str, other: str) -> None:
    pair = {"metric": "makespan_s", "first": "greedy", "second": "oracle", "winner": "tie", "p_holm": 1.0}
    ends = dict.fromkeys(("difference", "relative", "low", "high", "low_all", "high_all"), 0.0)
    page, target = Page(title="Pairs", subtitle="Two."), io.BytesIO()
    pair_table(page, "Makespan", pd.DataFrame([{**pair, **ends}]), best, [other])
    page.build(target)
    text = PdfReader(target).pages[0].extract_text()
    assert "0 [0, 0]" in text
    assert "-0" not in text


def test_a_number_with_places_has_no_sign_once_it_is_rounded_to_zero() -> None:
    assert [format_fixed(value, 4) for value in (-1e-6, -0.0, -0.00006, 1234.5)] == [
        "0.0000",
        "0.0000",
        "-0.0001",
        "1,234.5000",
    ]
