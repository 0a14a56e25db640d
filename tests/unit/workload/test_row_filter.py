"""Rows are taken by a column's value, and a status that nobody asked about is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.core import HmsError
from hybrid_ml_scheduler.workload import load
from tests.unit.workload.comparing import DATA

JOBS = "job,in,run_s,Status\na,0,1,COMPLETED\nb,1,2,FAILED\nc,2,3,PENDING\nd,3,4,Completed\ne,4,5,FAILED\n"
NAMES = {"task_id": "job", "arrival_time": "in", "duration": "run_s"}


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.csv"
    path.write_text(JOBS)
    return path


def test_rows_that_did_not_end_well_are_left_out_where_asked(jobs: Path) -> None:
    batch = load(jobs, options={"map": NAMES, "where": {"Status": "COMPLETED"}})
    assert batch.cpu_time.tolist() == [1.0, 4.0]
    assert "where: 3 rows of 5 left out; the others have Status=COMPLETED." in batch.assumptions
    both = load(jobs, options={"map": NAMES, "where": {"Status": ["completed", "failed"]}})
    assert both.cpu_time.tolist() == [1.0, 2.0, 4.0, 5.0]


def test_a_status_that_nobody_asked_about_is_said(jobs: Path) -> None:
    said = " ".join(load(jobs, options={"map": NAMES}).assumptions)
    assert "whatever 'Status' says (FAILED: 2, COMPLETED: 1, PENDING: 1, Completed: 1)" in said
    assert "--where Status=COMPLETED takes some of them" in said
    jobs.write_text(JOBS.replace("FAILED", "COMPLETED").replace("PENDING", "done"))
    assert not any("whatever" in note for note in load(jobs, options={"map": NAMES}).assumptions)


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ({"Staus": "COMPLETED"}, "--where needs the column 'Staus'; did you mean 'Status'"),
        ({"Status": "CANCELLED"}, "no row has Status=CANCELLED; 'Status' has FAILED: 2"),
        ({"Status": []}, "must be a value or a list of values"),
        ("COMPLETED", "must name columns and values"),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(where: object, sentence: str, jobs: Path) -> None:
    with pytest.raises(HmsError, match=sentence):
        load(jobs, options={"map": NAMES, "where": where})


def test_public_tables_are_filtered_too_and_documents_are_not(tmp_path: Path) -> None:
    whole = load(DATA / "philly.csv")
    one = whole.kind_names[whole.kind[0]]
    part = load(DATA / "philly.csv", options={"where": {"cluster": one}})
    assert 0 < len(part) < len(whole)
    assert set(part.kind_names) == {"", one}
    with pytest.raises(HmsError, match=r"--where takes rows of a table, and .* is read as wfformat"):
        load(DATA / "workflow.json", options={"where": {"status": "ok"}})


def test_the_flag_reaches_races_descriptions_and_conversions(jobs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--map", "duration=run_s", "--map", "arrival_time=in", "--where", "Status=COMPLETED"]
    for words in (
        ["workload", "describe", str(jobs)],
        ["workload", "convert", str(jobs), str(jobs.with_name("out.csv"))],
        ["race", "--workload", str(jobs), "--scheduler", "cpu_only"],
    ):
        assert run([*words, *flags, "--format", "json"]) == 0
        assert "3 rows of 5 left out" in capsys.readouterr().out
    assert run(["race", "--workload", "mixed", "--where", "Status=COMPLETED"]) == 2
    assert "flag --where applies to files only" in capsys.readouterr().err
