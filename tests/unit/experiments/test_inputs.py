"""A folder that was begun with other weights, files or another version is not gone on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.experiments import inputs
from hybrid_ml_scheduler.experiments.folder import ResultsFolder
from hybrid_ml_scheduler.experiments.inputs import inputs_of
from hybrid_ml_scheduler.experiments.plans import Plan, WorkloadChoice
from hybrid_ml_scheduler.experiments.results import versions

STRATEGY = '''
"""One strategy."""
from hybrid_ml_scheduler.core import CPU_ONLY


class Mine:
    """All on the CPU."""

    name = "mine"

    def decide(self, task, cluster):
        """The CPU."""
        return CPU_ONLY
'''


def create(path: Path, found: dict[str, str]) -> ResultsFolder:
    return ResultsFolder.create(path, kind="heavy", plan={"a": 1}, inputs=found)


def test_shipped_weights_count_for_those_who_use_them() -> None:
    assert set(inputs_of(Plan(schedulers=("greedy",)))) == {"version of hms"}
    names = set(inputs_of(Plan(schedulers=("greedy", "rl_agent", "rl_split"))))
    assert {"shipped rl_agent.npy", "shipped rl_agent.json", "shipped rl_split.json"} <= names


def test_files_that_a_plan_names_count_by_what_they_hold(tmp_path: Path) -> None:
    trace, model = tmp_path / "t.csv", tmp_path / "m.pth"
    trace.write_text("one")
    model.write_text("weights")
    plan = Plan(
        workload=WorkloadChoice(source=str(trace)), schedulers=("greedy",), options={"x": {"model": str(model)}}
    )
    before = inputs_of(plan)
    assert {str(trace), str(model)} <= set(before)
    trace.write_text("two")
    assert inputs_of(plan)[str(trace)] != before[str(trace)]


@pytest.mark.parametrize("name", ["shipped rl_agent.npy", "version of hms", "mine.py"])
def test_a_changed_input_is_refused_by_its_name(tmp_path: Path, name: str) -> None:
    create(tmp_path / "r", {name: "1", "same": "x"})
    create(tmp_path / "r", {name: "1", "same": "x"})
    with pytest.raises(PlanError, match=f"another {name}.*choose another --out"):
        create(tmp_path / "r", {name: "2", "same": "x"})
    with pytest.raises(PlanError, match=f"another {name}"):
        create(tmp_path / "r", {"same": "x"})


def test_another_version_of_the_program_does_not_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["heavy", "--tasks", "40", "--seeds", "1", "--scheduler", "greedy", "--out", str(tmp_path / "out")]
    assert run(words) == 0
    real = versions()
    monkeypatch.setattr(inputs, "versions", lambda: {**real, "hybrid-ml-scheduler": "99.0"})
    assert run(words) == 2
    told = capsys.readouterr().err
    assert f"another version of hms ({real['hybrid-ml-scheduler']}; now 99.0)" in told
    assert run(["report", str(tmp_path / "out")]) == 0, "what is stored can still be drawn"


def test_a_strategy_file_that_changed_does_not_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(STRATEGY)
    words = ["race", "--tasks", "20", "--scheduler", f"{file}:Mine", "--out", str(tmp_path / "out")]
    assert run(words) == 0
    assert run(words) == 0
    file.write_text(STRATEGY.replace("All", "Everything"))
    assert run(words) == 2
    assert "mine.py" in capsys.readouterr().err
