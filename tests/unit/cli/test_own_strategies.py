"""A strategy of one's own may be configured, may print, and may not end the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybrid_ml_scheduler.cli.main import run

STRATEGY = """
import sys
from hybrid_ml_scheduler import Decision

print("imported")

class Fixed:
    name = "fixed_share"

    def __init__(self, share: float = 0.0) -> None:
        print("made")
        self.share = share

    def decide(self, task, cluster):
        print("deciding", task.task_id)
        return Decision(gpu_fraction=self.share)

class Bare:
    name = "bare"

    def decide(self, task, cluster):
        return Decision(gpu_fraction=0.0)

class Slips:
    name = "slips"

    def decide(self, task, cluster):
        cluster.estimator.parts(task, 0.5, "first")
        return Decision(gpu_fraction=0.0)

class AnyGpu:
    name = "any_gpu"

    def decide(self, task, cluster):
        least = cluster.least_loaded_gpu
        assert cluster.completion_s(task, 0.5, None) == cluster.completion_s(task, 0.5, least)
        parts = cluster.estimator.parts(task, 0.5, least)
        known = cluster.estimator
        known.execution_s(parts), known.energy_j(parts, least), known.cost_usd(parts, least)
        return Decision(gpu_fraction=0.5)

class Quits:
    name = "quits"

    def decide(self, task, cluster):
        sys.exit(0)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(STRATEGY)
    (tmp_path / "quits_at_once.py").write_text("raise SystemExit\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plan(folder: Path, *sections: str) -> list[str]:
    """The words that race a plan with these sections of options."""
    lines = ["[workload]", "num_tasks = 20", "[schedulers]", 'race = ["mine.py:Fixed", "cpu_only", "gpu_only"]']
    (folder / "plan.toml").write_text("\n".join([*lines, *sections]))
    return ["race", "--plan", "plan.toml", "--format", "json"]


def energies(capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    found = json.loads(capsys.readouterr().out)
    return {name: metrics["energy_j"] for name, metrics in found["schedulers"].items()}


@pytest.mark.parametrize("key", ["fixed_share", '"mine.py:Fixed"'])
def test_the_options_of_a_class_in_a_file_are_applied_under_its_name_or_its_file(
    key: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(plan(folder)) == 0
    without = energies(capsys)
    assert without["fixed_share"] == without["cpu_only"]
    assert run(plan(folder, f"[schedulers.{key}]", "share = 1.0")) == 0
    found = energies(capsys)
    assert found["fixed_share"] == found["gpu_only"]
    assert found["fixed_share"] != found["cpu_only"]


@pytest.mark.parametrize(
    ("sections", "culprit"),
    [
        (["[schedulers.fixed_share]", "shares = 1.0"], "fixed_share has no option 'shares'; did you mean 'share'?"),
        (["[schedulers.fixed_share]", 'share = "all"'], "fixed_share.share = 'all' must be a finite number."),
        (["[schedulers.fixed_share]", "share = 1.0", '[schedulers."mine.py:Fixed"]'], "stand twice"),
    ],
)
def test_options_that_the_class_cannot_take_are_refused(
    sections: list[str], culprit: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(plan(folder, *sections)) == 2
    assert culprit in capsys.readouterr().err.splitlines()[-1]


def test_options_for_a_class_that_takes_none_are_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "plan.toml").write_text('[schedulers]\nrace = ["mine.py:Bare"]\n[schedulers.bare]\nshare = 1.0\n')
    assert run(["race", "--plan", "plan.toml"]) == 2
    assert "bare has no option 'share'" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    "words",
    [
        ["race", "--tasks", "5", "--scheduler", "mine.py:Fixed", "--format", "json"],
        ["schedulers", "--check", "mine.py:Fixed", "--format", "json"],
    ],
)
def test_what_a_strategy_prints_is_no_part_of_the_results(
    words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)
    assert "deciding 4" in captured.err


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (["race", "--tasks", "5", "--scheduler", "mine.py:Quits"], "quits wanted to end the program: sys.exit(0) in"),
        (["schedulers", "--check", "mine.py:Quits"], "cannot be asked about task 0: sys.exit(0) in mine.py, line"),
        (["race", "--scheduler", "quits_at_once.py:Mine"], "quits_at_once.py cannot be imported: sys.exit() in"),
    ],
)
def test_a_strategy_that_exits_is_refused_with_its_line(
    words: list[str], culprit: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert culprit in captured.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "culprit"),
    [
        (["race", "--tasks", "5", "--scheduler", "mine.py:Slips"], "TypeError in mine.py, line 28: "),
        (["schedulers", "--check", "mine.py:Slips"], "cannot be asked about task 0: TypeError: "),
    ],
)
def test_a_slip_of_the_pen_is_refused_with_the_line_of_its_author(
    words: list[str], culprit: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert culprit in said
    assert "mine.py, line 28" in said
    assert "fault of hms" not in said


def test_what_the_documents_offer_a_strategy_can_be_called_as_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["schedulers", "--check", "mine.py:AnyGpu"]) == 0
    assert run(["race", "--tasks", "5", "--scheduler", "mine.py:AnyGpu", "--format", "json"]) == 0


def test_a_race_with_an_own_strategy_and_trace_is_explained_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    away.mkdir()
    (home / "mine.py").write_text(STRATEGY)
    (home / "jobs.csv").write_text("arrival_time,cpu_time\n" + "".join(f"{row},{row % 5 + 1}\n" for row in range(30)))
    monkeypatch.chdir(home)
    race = ["race", "--workload", "jobs.csv", "--scheduler", "mine.py:Fixed", "--out", "race", "--format", "json"]
    assert run(race) == 0
    monkeypatch.chdir(away)
    capsys.readouterr()
    for words in (["--task", "7"], ["--worst", "2", "--looked-at", "5"]):
        assert run(["explain", "../home/race", *words, "--format", "json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["scheduler"] == "fixed_share"
    assert Path.cwd() == away


def test_a_task_is_explained_and_drawn_by_its_id_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("jobs.csv").write_text("job,run_s\n" + "".join(f"job-{row},{row % 5 + 1}\n" for row in range(30)))
    flags = ["--workload", "jobs.csv", "--map", "task_id=job", "--map", "duration=run_s", "--scheduler", "greedy"]
    assert run(["race", *flags, "--seeds", "1", "--out", "race", "--trace", "trace.json", "--format", "json"]) == 0
    assert '"name":"task job-17"' in Path("trace.json").read_text()
    capsys.readouterr()
    assert run(["explain", "race", "--task", "job-17", "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["tasks"]
    assert (found["task_id"], found["label"]) == (17, "job-17")
    assert run(["explain", "race", "--task", "17"]) == 0
    assert "Task job-17 of greedy" in capsys.readouterr().out
    assert run(["explain", "race", "--worst", "3", "--looked-at", "5"]) == 0
    assert "job-" in capsys.readouterr().out
    assert run(["explain", "race", "--task", "job-17x"]) == 2
    assert "did you mean 'job-17'?" in capsys.readouterr().err
