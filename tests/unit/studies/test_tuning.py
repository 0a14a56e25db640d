"""Tuning: what is recommended is judged on tasks that were never searched on, and a second start goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.knowledge import EXACT, LEARNED
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.physics.truth import Truth
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.plans.loads import at_load, at_once
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.running import run_known
from hybrid_ml_scheduler.studies.tuning import tune
from hybrid_ml_scheduler.workload import preset

NODE = Node()


def known(batch: TaskBatch, spread: float = 0.0) -> KnownTasks:
    return KnownTasks(batch=batch, node=NODE, truth=Truth(kind_spread=spread), seed=0)


def test_a_tuned_strategy_is_recommended_where_it_is_better_and_is_the_same_after_an_interruption(
    tmp_path: Path,
) -> None:
    tasks, state = known(at_load(preset("heavy"), NODE, 0.8, 3, 3000).batch), tmp_path / "tuned.json.part"
    calls = []

    def stop_at_the_third(label: str, done: int, total: int) -> None:
        calls.append(label)
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(tasks, EXACT, state=state, tell=stop_at_the_third)
    kept = len(json.loads(state.read_text())["tried"])
    assert kept >= 18
    resumed, whole = tune(tasks, EXACT, state=state), tune(tasks, EXACT)
    assert resumed.tuned == whole.tuned
    assert resumed.values == whole.values
    assert whole.recommended in ("tuned", "rl_hold")
    assert whole.against_best_rule.high < 0.0


def test_it_says_keep_what_you_have_where_nothing_is_better() -> None:
    batch = at_load(preset("cpu_friendly"), NODE, 0.2, 3, 600).batch
    found = tune(known(batch), EXACT)
    assert not found.is_tuned
    assert found.against_best_rule.high >= 0.0
    assert found.recommended == found.best_rule


def test_under_a_bound_of_waiting_everything_that_holds_holds_by_it(capsys: pytest.CaptureFixture[str]) -> None:
    found = tune(known(at_load(preset("cpu_friendly"), NODE, 0.2, 3, 600).batch), EXACT, aging=50.0)
    assert found.tuned.options["aging"] == 50.0
    assert not {"c_mu", "hetero_prio"} & set(found.values)
    assert run(["tune", "--workload", "cpu_friendly", "--tasks", "300", "--aging", "50"]) == 0
    assert "with aging = 50: nothing" in capsys.readouterr().out
    assert run(["tune", "--workload", "cpu_friendly", "--aging", "-1"]) == 2


def test_what_is_no_stream_is_refused_in_a_sentence() -> None:
    with pytest.raises(PlanError, match="all these tasks arrive at once"):
        tune(known(at_once(preset("mixed"), NODE, 0, 300).batch), EXACT)
    with pytest.raises(PlanError, match="at least 200 tasks; there are 50"):
        tune(known(at_load(preset("mixed"), NODE, 0.5, 0, 50).batch), EXACT)


def test_the_command_writes_a_file_that_races(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mine.json"
    words = ["tune", "--workload", "heavy", "--tasks", "1500", "--gpus", "2", "--out", str(out), "--format", "json"]
    words += ["--knowledge", "exact"]
    assert run(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["recommended"] in found["values"]
    assert out.exists() == (found["recommended"] == "tuned")
    assert not (tmp_path / "mine.json.part").exists()
    assert found["recommended"] == "tuned"
    assert run(["race", "--tasks", "60", "--gpus", "2", "--scheduler", str(out), "--scheduler", "sjf"]) == 0
    assert "mine" in capsys.readouterr().out


def test_what_is_assumed_of_a_file_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{row};0,{row % 7 + 1}" for row in range(200))
    (tmp_path / "jobs.csv").write_text(f"in;Run Minutes\n{rows}\n")
    words = ["tune", "--workload", "jobs.csv", "--map", "duration=Run Minutes", "--map", "arrival_time=in"]
    assert run(words) == 0
    said = "assumed  unit_of_name: numbers of 'Run Minutes' are in minutes, by its name."
    assert said in capsys.readouterr().out
    assert run([*words, "--format", "json"]) == 0
    assert said.removeprefix("assumed  ") in json.loads(capsys.readouterr().out)["assumptions"]


def test_everything_is_judged_at_the_level_that_was_asked_for() -> None:
    tasks = known(at_load(preset("unknown"), NODE, 0.5, 3, 700).batch, 0.5)
    found = {level: tune(tasks, level) for level in (EXACT, LEARNED)}
    for level, advice in found.items():
        latency = run_known(create("sjf"), tasks, level).latency_s[420:]
        assert advice.values["sjf"] == pytest.approx(float(latency.mean()), rel=1e-12)
        assert advice.level == level == advice.tuned.record["knowledge"]
    assert found[EXACT].values["sjf"] != found[LEARNED].values["sjf"]
    assert "hybrid_ml" in found[LEARNED].values
    assert "hybrid_ml" not in found[EXACT].values


@pytest.mark.parametrize(("words", "level"), [([], "learned"), (["--knowledge", "exact"], "exact")])
def test_the_command_says_at_which_level_it_judged(
    words: list[str], level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["tune", "--workload", "cpu_friendly", "--tasks", "200", *words]) == 0
    assert f"judged at the level {level} (strategies" in capsys.readouterr().out


def test_a_plan_says_the_level_and_a_wrong_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('[workload]\npreset = "cpu_friendly"\n[knowledge]\nlevel = "nominal"\n')
    assert run(["tune", "--plan", "mine.toml", "--tasks", "200", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["knowledge"] == "nominal"
    assert run(["tune", "--workload", "cpu_friendly", "--tasks", "200", "--knowledge", "all"]) == 2
