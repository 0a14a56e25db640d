"""A folder that was begun with other weights, files or another version is not gone on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.plans import inputs
from hybrid_ml_scheduler.plans.inputs import inputs_of, versions
from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice
from hybrid_ml_scheduler.studies.folder import ResultsFolder

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
    assert set(inputs_of(Plan(schedulers=("greedy",)))) == {"version of hms", "format of results"}
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


@pytest.mark.parametrize(
    "name", ["shipped rl_agent.npy", "version of hms", "version of theirs", "format of results", "mine.py"]
)
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


def test_another_format_of_results_does_not_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["race", "--tasks", "20", "--scheduler", "greedy", "--out", str(tmp_path / "out")]
    assert run(words) == 0
    monkeypatch.setattr(inputs, "RESULTS_FORMAT", inputs.RESULTS_FORMAT + 1)
    assert run(words) == 2
    before = inputs.RESULTS_FORMAT - 1
    assert f"another format of results ({before}; now {before + 1})" in capsys.readouterr().err


def test_an_installed_strategy_of_another_version_does_not_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    site, about = tmp_path / "site", tmp_path / "site" / "theirs-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "their_mine.py").write_text(STRATEGY)
    (about / "entry_points.txt").write_text("[hybrid_ml_scheduler.schedulers]\nmine = their_mine:Mine\n")
    monkeypatch.syspath_prepend(str(site))
    words = ["race", "--tasks", "20", "--scheduler", "mine", "--out", str(tmp_path / "out")]
    for version, code in (("1.0", 0), ("1.0", 0), ("1.1", 2)):
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: theirs\nVersion: {version}\n")
        assert run(words) == code
    assert "another version of theirs (1.0; now 1.1)" in capsys.readouterr().err
    assert "version of theirs" not in inputs_of(Plan(schedulers=("greedy",)))
