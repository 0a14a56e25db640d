"""`hms train`, `hms evaluate` and `hms shift` from end to end, in small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybrid_ml_scheduler.cli.main import run


def _asked(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert run([*words, "--format", "json"]) == 0
    answer: dict[str, object] = json.loads(capsys.readouterr().out)
    return answer


def test_a_forest_is_trained_saved_and_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = str(tmp_path / "forest.joblib")
    trained = _asked(["train", "forest", "--tasks", "300", "--out", place], capsys)
    assert trained["samples"] == 300
    judged = _asked(["evaluate", place, "--seeds", "2", "--tasks", "500"], capsys)
    ratio = judged["execution_time_vs_optimum"]
    assert isinstance(ratio, float)
    assert 1.0 <= ratio < 1.05


@pytest.mark.parametrize(("strategy", "name"), [("rl_split", "split.json"), ("rl_agent", "agent.pth")])
def test_an_agent_is_trained_saved_and_judged(
    strategy: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = str(tmp_path / name)
    words = ["train", "agent", "--strategy", strategy, "--effort", "0.001", "--workload", "light", "--gpus", "2"]
    assert _asked([*words, "--out", place], capsys)["model"] == place
    judged = _asked(["evaluate", place, "--seeds", "2", "--tasks", "300", "--load", "0.5", "--gpus", "2"], capsys)
    assert any(key.startswith("latency_vs_") for key in judged)


def test_the_shipped_agents_can_be_judged_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    judged = _asked(["evaluate", "rl_agent", "--seeds", "2", "--tasks", "2000", "--load", "0.9"], capsys)
    ratio = judged["latency_vs_earliest_device_at_0.9"]
    assert isinstance(ratio, float)
    assert ratio < 1.0


def test_a_bad_model_ends_in_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("bad.joblib", "bad.pth", "bad.npy", "bad.json", "bad.txt"):
        (tmp_path / name).write_text("no model")
        assert run(["evaluate", str(tmp_path / name)]) == 2
        said = capsys.readouterr().err
        assert name in said
        assert "Traceback" not in said
    assert run(["evaluate", "rl_agent", "--gpus", "3"]) == 2


def test_the_shift_is_told_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["shift", "--seeds", "1", "--tasks", "100", "--out", str(tmp_path)]) == 0
    assert "frozen forest vs agent" in capsys.readouterr().out
    assert (tmp_path / "shift.png").is_file()


@pytest.mark.parametrize(
    "words",
    [
        ["train", "forest", "--seed", "0"],
        ["train", "agent", "--seed", "7"],
        ["evaluate", "rl_split", "--seed", "1000000"],
    ],
)
def test_a_seed_is_for_training_or_for_judging_never_for_both(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    assert "--seed" in capsys.readouterr().err
