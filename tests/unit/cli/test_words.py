"""What a command says is plain English, down to the plural."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hybrid_ml_scheduler import __version__
from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.core import RaceContext
from hybrid_ml_scheduler.core.text import amount
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.schedulers.agents.rl_agent import RlAgent

REPOSITORY = Path(__file__).parents[3]
ONE_TASK = "task_id,size,compute_intensity,memory_required,arrival_time\n0,800,0.5,10,0\n"


def test_a_noun_follows_its_number() -> None:
    assert [amount(number, "task") for number in (0, 1, 2000)] == ["0 tasks", "1 task", "2,000 tasks"]
    assert amount(3, "strategy", "strategies") == "3 strategies"


def test_one_task_is_not_called_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.csv").write_text(ONE_TASK)
    for words in (
        ["race", "--tasks", "1", "--gpus", "1", "--scheduler", "greedy"],
        ["race", "--workload", "one.csv", "--scheduler", "greedy"],
        ["workload", "describe", "one.csv"],
        ["workload", "generate", "--tasks", "1", "--out", "made.csv"],
    ):
        assert run(words) == 0
        said = capsys.readouterr().out
        assert "1 task" in said
        for wrong in ("1 tasks", "1 GPUs", "1 edges", "1 parents"):
            assert wrong not in said, words


@pytest.mark.parametrize("name", ["", "race", "workload", "workload describe", "train forest", "db check"])
def test_two_letters_ask_for_help_as_well(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*name.split(), "-h"]) == 0
    short = capsys.readouterr().out
    assert run([*name.split(), "--help"]) == 0
    assert capsys.readouterr().out == short
    assert "Usage: hms" in short


def test_a_shell_completes_commands_and_flags() -> None:
    program = "from hybrid_ml_scheduler.cli.main import main; main()"
    for words, expected in (("hms ra", "race"), ("hms race --sch", "--scheduler"), ("hms workload de", "describe")):
        environment = {"_HMS_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        ended = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        assert ended.stdout.split() == [expected]


@pytest.mark.parametrize("words", [["--help"], ["schedulers"], ["schedulers", "--format", "json"]])
def test_a_reader_who_goes_away_is_no_failure(words: list[str]) -> None:
    program = "from hybrid_ml_scheduler.cli.main import main; main()"
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run([sys.executable, "-c", program, *words], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_full_disk_is_told_in_a_sentence() -> None:
    program = "from hybrid_ml_scheduler.cli.main import main; main()"
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-c", program, "schedulers"]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert ended.returncode == 2
    assert ended.stderr.decode() == "hms: The output cannot be written: No space left on device.\n"


def test_an_agent_for_another_node_is_refused_in_gpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agent = RlAgent(model=None)
    agent.prepare(RaceContext(estimator=PhysicsEstimator(Node()), seed=1))
    agent.save_model(tmp_path / "agent.npz")
    plan = tmp_path / "plan.toml"
    plan.write_text(f"""
[simulation]
num_gpus = 2
[workload]
num_tasks = 5
[schedulers]
race = ["rl_agent"]
[schedulers.rl_agent]
model = "{tmp_path / "agent.npz"}"
""")
    assert run(["race", "--plan", str(plan)]) == 2
    assert "The agent was trained for 4 GPUs, and this node has 2." in capsys.readouterr().err


def test_the_citation_names_the_version() -> None:
    lines = (REPOSITORY / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert "cff-version: 1.2.0" in lines
    assert f"version: {__version__}" in lines
