"""The folder of a race: `hms report` draws it, and its numbers are those of the race."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.plans.metrics import figure_with_interval
from hybrid_ml_scheduler.studies.folder import ResultsFolder

WORDS = ["race", "--tasks", "80", "--seeds", "3", "--scheduler", "greedy", "--scheduler", "earliest_finish"]


@pytest.fixture(scope="module")
def raced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("race") / "out"
    assert run([*WORDS, "--scheduler", "round_robin", "--out", str(out)]) == 0
    assert ResultsFolder.open(out).is_complete
    assert run(["report", str(out), "--workers", "1"]) == 0
    return out


def test_report_draws_the_folder_of_a_race(raced: Path) -> None:
    names = {path.name for path in (raced / "plots").iterdir()}
    assert {"makespan_comparison.png", "makespan_comparison.svg", "cost_comparison.png"} <= names
    assert ResultsFolder.open(raced).is_complete


def test_the_pdf_tells_the_numbers_of_the_race(raced: Path) -> None:
    reader = PdfReader(io.BytesIO((raced / "report.pdf").read_bytes()))
    text = re.sub(r"\s+", " ", " ".join(page.extract_text() for page in reader.pages))
    result: dict[str, Any] = json.loads((raced / "race.json").read_text())
    for row in result["schedulers"].values():
        for metric in ("mean_latency_s", "makespan_s", "energy_j"):
            assert figure_with_interval(row[metric], *row[f"{metric}_ci"]) in text


def test_a_race_does_not_write_over_another_plans_results(raced: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (raced / "race.json").read_bytes()
    assert run([*WORDS, "--out", str(raced)]) == 2
    assert "another plan" in capsys.readouterr().err
    assert (raced / "race.json").read_bytes() == before


def test_no_gap_to_a_proven_bound_reaches_below_zero(raced: Path) -> None:
    rows = json.loads((raced / "race.json").read_text())["schedulers"].values()
    assert all(row["makespan_gap_ci"][0] >= 0.0 for row in rows)
    intervals = ResultsFolder.open(raced).read_table("intervals")
    assert (intervals["low"].dropna() >= 0.0).all()


def test_a_folder_of_an_older_race_is_refused_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "race.json").write_text("{}")
    assert run(["report", str(tmp_path)]) == 2
    assert "race into a new folder with `hms race --out`" in capsys.readouterr().err
    words = ["race", "--tasks", "20", "--scheduler", "greedy", "--out"]
    assert run([*words, str(tmp_path)]) == 2
    assert run([*words, str(tmp_path / "new")]) == 0


def test_repeats_of_one_file_name_no_winner_in_any_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(__file__).parents[2] / "data" / "own.csv"
    out = tmp_path / "out"
    names = ["--scheduler", "greedy", "--scheduler", "cpu_only"]
    assert run(["heavy", "--workload", str(file), "--seeds", "2", *names, "--out", str(out), "--workers", "1"]) == 0
    said = capsys.readouterr().out
    assert "Every seed gives the same tasks, so no winner is named." in said
    assert "beats" not in said
    assert len(ResultsFolder.open(out).read_table("comparisons")) == 0
    assert any(text.startswith("same_tasks") for text in ResultsFolder.open(out).read_json("run.json")["assumptions"])


def test_many_looks_are_paid_for_by_the_level_of_the_winners(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["race", "--tasks", "60", "--scheduler", "random", "--scheduler", "earliest_finish", "--out", str(out)]
    assert run([*words, "--until-decided", "--max-seeds", "10"]) == 0
    said = capsys.readouterr().out
    assert "(97.5 % at this look, of this pair alone, paired; Holm's p" in said
    assert "unadjusted" not in said
    result = json.loads((out / "race.json").read_text())
    assert result["comparison_level"] == pytest.approx(0.975)
    assert json.loads((out / "plan.json").read_text())["until_decided"] == 10
    stored: Any = ResultsFolder.open(out).read_table("comparisons")
    assert set(stored["level"]) == {result["comparison_level"]}
    said_by = {
        (one["metric"], one["first"], one["second"]): one["winner"] or ("equal" if one["is_decided"] else "not decided")
        for one in result["comparisons"]
    }
    kept_by = {(row.metric, row.first, row.second): row.winner for row in stored.itertuples()}
    assert {key: kept_by[key] for key in said_by} == said_by
    assert run(["report", str(out)]) == 0
    for pair in result["comparisons"]:
        (low, high), (low_all, high_all) = pair["difference_ci"], pair["difference_ci_all_pairs"]
        assert low_all <= low <= high <= high_all
