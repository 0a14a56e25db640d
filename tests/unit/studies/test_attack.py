"""An attack finds workloads on which a strategy does badly, and leaves them as plans that can be raced."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.studies.attack import Attack, attack, runs_of

SMALL = {"node": Node.uniform(2), "tasks": 60, "tries": 8}


def test_an_attack_finds_something_worse_than_usual_and_the_same_again() -> None:
    asked = Attack(strategy="greedy", **SMALL)  # type: ignore[arg-type]
    found, again = attack(asked), attack(asked)
    assert found.worst.ratio > found.usual.ratio > 0.0
    assert found.smallest.ratio >= 1.0
    assert (found.worst.ratio, found.smallest.ratio) == (again.worst.ratio, again.smallest.ratio)
    assert found.looked_at == runs_of(asked) + 1


def test_nothing_beats_the_bound() -> None:
    found = attack(Attack(strategy="earliest_finish", against="bound", **SMALL))  # type: ignore[arg-type]
    assert found.worst.rival == "bound"
    assert min(one.ratio for one in (found.usual, found.worst, found.smallest)) >= 1.0


def test_a_rival_that_is_none_is_refused() -> None:
    with pytest.raises(PlanError, match="portfolio or bound"):
        attack(Attack(strategy="greedy", against="everybody", **SMALL))  # type: ignore[arg-type]


def test_the_cases_can_be_raced_and_show_the_same_latencies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["attack", "round_robin", "--tasks", "60", "--tries", "8", "--gpus", "2", "--out", str(tmp_path / "cases")]
    assert run([*words, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert run(["race", "--plan", str(tmp_path / "cases" / "worst.toml"), "--format", "json"]) == 0
    raced = json.loads(capsys.readouterr().out)["schedulers"]
    assert raced["round_robin"]["mean_latency_s"] == found["worst"]["latency_s"]
    small = ["race", "--workload", str(tmp_path / "cases" / "smallest.csv"), "--gpus", "2", "--format", "json"]
    assert run([*small, "--scheduler", "round_robin"]) == 0
    assert json.loads(capsys.readouterr().out)["tasks"] == 6
    assert run(words) == 2
    assert "there is something already" in capsys.readouterr().err
    assert run(["attack", "nobody"]) == 2
