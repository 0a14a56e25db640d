"""`hms knowledge` and `hms shift` on a file: what is learned and what is judged lie apart in time (E11)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.file_tasks import choice_text, tasks_of
from hybrid_ml_scheduler.plans.plan import WorkloadChoice
from hybrid_ml_scheduler.studies.knowledge import KnowledgeStudy
from hybrid_ml_scheduler.studies.shift import ShiftBudget

JOBS = 300
LATER = range(180, JOBS)


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.csv"
    rows = "".join(
        f"{row},{row},{row % 7 + 1},job{row % 3},{'FAILED' if row >= JOBS else 'done'}\n" for row in range(400)
    )
    path.write_text("nr,in,run_s,what,status\n" + rows)
    return path


READING = ("--map", "duration=run_s", "--map", "arrival_time=in", "--map", "kind=what", "--map", "task_id=nr")
TAKEN = (*READING, "--where", "status=done")


def file_of(jobs: Path) -> str:
    names = {"duration": "run_s", "arrival_time": "in", "kind": "what", "task_id": "nr"}
    options = {"map": names, "where": {"status": ["done"]}}
    return choice_text(WorkloadChoice(source=str(jobs), options=options))


def test_learners_are_trained_on_the_earlier_part_and_meet_the_later_one(jobs: Path) -> None:
    budget = ShiftBudget(file=file_of(jobs), test_tasks=100, forest_tasks=100, agent_tasks=100)
    source = budget.source(Node(), budget.before)
    trained = {int(one) for seed in range(5) for one in tasks_of(source, budget.training_seed + seed, 100).task_id}
    met = {int(one) for seed in range(5) for one in budget.test_batch(Node(), seed).task_id}
    assert max(trained) < JOBS // 2
    assert met <= set(LATER)
    known = KnowledgeStudy(file=file_of(jobs), tasks=1000).known_tasks(0.8, 0)
    assert known.batch.task_id.tolist() == list(LATER)
    assert known.is_measured, "what jobs took is the truth, which levels below exact do not know"


@pytest.mark.parametrize("load", [0.4, 0.8])
def test_a_load_asked_for_is_that_of_the_files_tasks(load: float, jobs: Path) -> None:
    study = KnowledgeStudy(file=file_of(jobs), tasks=1000)
    half, whole = (study.known_tasks(one, 0).batch.arrival_time[-1] for one in (load / 2, load))
    assert half == pytest.approx(2 * whole)


def test_knowledge_takes_a_file(jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--tasks", "1000", "--seeds", "1", "--load", "0.8", "--scheduler", "earliest_finish", "--workers", "1"]
    words = ["knowledge", "--workload", str(jobs), *TAKEN, *flags, "--out", str(tmp_path / "out")]
    assert run([*words, "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert {"exact_s", "nominal_s", "learned_s"} <= row.keys()
    facts = json.loads((tmp_path / "out" / "run.json").read_text())
    assert (facts["tasks"], facts["source"]) == (len(LATER), "jobs.csv")
    assert any("the last 40% of the file's tasks" in note for note in facts["assumptions"])
    assert any("100 rows of 400 left out" in note for note in facts["assumptions"])
    jobs.write_text(jobs.read_text().replace("299,299,6", "299,299,5"))
    assert run(words) == 2
    assert "begun with another" in capsys.readouterr().err


def test_shift_takes_a_file(jobs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["shift", "--workload", str(jobs), *TAKEN, "--tasks", "100", "--seeds", "1", "--workers", "1"]
    assert run([*words, "--out", str(tmp_path / "out"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["tasks"] == 100
    facts = json.loads((tmp_path / "out" / "run.json").read_text())
    assert any("Training and test are apart in time" in note for note in facts["assumptions"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["knowledge", "--workload", "few.csv"], "has 30 tasks, and 100 are needed to cut it"),
        (["shift", "--workload", "few.csv"], "has 30 tasks, and 100 are needed to cut it"),
        (["shift", "--workload", "heavy"], "heavy is a preset; name presets by --before and --after"),
        (["shift", "--after", "cpu_friendli"], "cpu_friendly"),
        (["knowledge", "--workload", "heavy", "--map", "duration=x"], "applies to files only"),
    ],
)
def test_what_cannot_be_cut_or_meant_is_refused_before_a_folder_is_begun(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("few.csv").write_text("arrival_time,cpu_time\n" + "".join(f"{row},1\n" for row in range(30)))
    assert run([*words, "--out", "out"]) == 2
    assert sentence in capsys.readouterr().err
    assert not Path("out").exists()
