"""`hms heavy`, `report`, `sweep` and `pipeline` from the outside."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybrid_ml_scheduler.cli.main import run

SMALL = ("--tasks", "120", "--seeds", "2", "--scheduler", "round_robin", "--scheduler", "earliest_finish")
SWEEP = '[workload]\nnum_tasks = 50\n[schedulers]\nrace = ["greedy"]\n[sweep]\n"simulation.num_gpus" = [1, 2]\n'


def test_a_finished_folder_is_not_computed_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "s.toml"
    plan.write_text(SWEEP)
    times = []
    for _ in range(2):
        assert run(["sweep", str(plan), "--out", str(tmp_path / "out"), "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["done"] == 2
        times.append({path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")})
    assert times[0] == times[1]
    assert tmp_path / "out/plots/sweep_lines.svg" in times[0]


def test_a_sweep_of_which_every_cell_failed_has_nothing_to_draw_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin = tmp_path / "sad.py"
    plugin.write_text(
        "class Sad:\n    name = 'sad'\n    def decide(self, task, cluster):\n        raise RuntimeError\n"
    )
    plan = tmp_path / "s.toml"
    plan.write_text(SWEEP.replace('"greedy"', f'"{plugin}:Sad"'))
    assert run(["sweep", str(plan), "--out", str(tmp_path / "out")]) == 1
    assert "0 of 2 cells are done. There is nothing to draw yet." in capsys.readouterr().out
    assert run(["report", str(tmp_path / "out")]) == 2
    assert "no cell of the sweep has a result" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("heavy", "--workload", "hevy"), "heavy"),
        (("heavy", "--scheduler", "gredy"), "greedy"),
        (("report", "nowhere"), "no results folder"),
        (("sweep", "nowhere.toml"), "nowhere.toml"),
        (("pipeline", "--phase", "report", *SMALL), "needs evaluate"),
    ],
)
def test_a_mistake_is_one_sentence_and_nothing_is_left_behind(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(list(words)) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert "Traceback" not in told
    assert list(tmp_path.iterdir()) == []


def test_an_address_without_ray_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "s.toml"
    plan.write_text(SWEEP)
    assert run(["sweep", str(plan), "--address", "127.0.0.1:1", "--out", str(tmp_path / "out")]) == 2
    assert "--engine ray" in capsys.readouterr().err


def test_a_command_that_ran_nothing_leaves_the_folder_to_another_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, out = tmp_path / "s.toml", tmp_path / "results" / "out"
    plan.write_text(SWEEP)
    assert run(["sweep", str(plan), "--engine", "ray", "--address", "127.0.0.1:1", "--out", str(out)]) == 2
    assert "No Ray cluster answers" in capsys.readouterr().err
    assert [item.name for item in tmp_path.iterdir()] == ["s.toml"]
    sad = "class Sad:\n    name = 'sad'\n    def decide(self, task, cluster):\n        raise ValueError\n"
    (tmp_path / "sad.py").write_text(sad)
    for command in (["race"], ["heavy", "--workers", "1"]):
        words = [*command, "--tasks", "20", "--seeds", "1", "--scheduler", f"{tmp_path / 'sad.py'}:Sad"]
        assert run([*words, "--out", str(out)]) == 2
        assert not out.exists()
