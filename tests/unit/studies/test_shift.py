"""The shift experiment in small: who adapts, and a folder that resumes, is remade and tells its own numbers."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.metrics import figure_with_interval
from hybrid_ml_scheduler.plans.palette import label_of
from hybrid_ml_scheduler.reports.making import remake, study_shift
from hybrid_ml_scheduler.reports.plots import SHIFT_PLOTS
from hybrid_ml_scheduler.reports.shift_words import SHIFT_METHOD, shift_text
from hybrid_ml_scheduler.studies.engines import LocalEngine
from hybrid_ml_scheduler.studies.folder import INCOMPLETE, ResultsFolder
from hybrid_ml_scheduler.studies.shift import (
    STRATEGIES,
    ShiftBudget,
    figure_interval,
    last_tasks,
    run_shift,
    shift_result,
)
from hybrid_ml_scheduler.studies.shift_study import KIND, ShiftStudy

SMALL = ShiftStudy(seed=5, seeds=3, budget=ShiftBudget(forest_tasks=200, agent_tasks=150, test_tasks=100))
RESULTS = ("shift.json", "run.json", "tables/seeds.parquet", "tables/pairs.csv", "tables/along.csv", "report.pdf")


def begun(path: Path) -> ResultsFolder:
    return ResultsFolder.create(path, kind=KIND, plan=SMALL.to_mapping(), inputs=SMALL.inputs())


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> ResultsFolder:
    """A finished folder that nobody interrupted; look, do not touch."""
    folder = begun(tmp_path_factory.mktemp("shift") / "out")
    study_shift(folder, SMALL, engine=LocalEngine(2))
    return folder


class PulledPlug(Exception):
    """What ends the engine below in the middle of its work."""


class FailingEngine:
    """Does one job and is then interrupted."""

    def results(self, function: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        yield 0, function(jobs[0])
        raise PulledPlug


def test_the_frozen_forest_fails_and_the_agent_adapts() -> None:
    runs = run_shift(Node(), (5, 6), ShiftBudget(agent_tasks=400, test_tasks=400))
    result = shift_result(runs)
    assert set(result["strategies"]) == set(STRATEGIES)
    assert result["frozen_forest_vs_agent"] > 1.5
    assert result["frozen_forest_vs_agent_last_300"] > 2.0
    assert result["agent_adapted_after"] <= 200
    assert result["agent_adapted_after_ci"][0] >= 0.0
    assert "rl_agent" in shift_text(result)


def test_the_number_of_last_tasks_is_the_one_that_is_named(studied: ResultsFolder) -> None:
    assert (last_tasks(500), last_tasks(301), last_tasks(300), last_tasks(100)) == (300, 300, 180, 60)
    result = studied.read_json("shift.json")
    assert "frozen_forest_vs_agent_last_60" in result
    assert "last 60 tasks" in shift_text(result)
    assert "300" not in shift_text(result).split("last")[1][:20]


def test_no_interval_says_that_the_agent_adapted_after_more_tasks_than_there_are(studied: ResultsFolder) -> None:
    cut, free = (figure_interval(name, [60.0, 100.0], 100) for name in ("agent_adapted_after", "total_time_s"))
    assert (cut.mean, cut.low, cut.high) == (80.0, 0.0, 100.0)
    assert free.high > 100.0
    ends = studied.read_json("shift.json")["agent_adapted_after_ci"]
    stored: Any = studied.read_table("figures").set_index("figure").loc["agent_adapted_after"]
    assert [stored["low"], stored["high"]] == ends
    assert 0.0 <= ends[0] <= ends[1] <= 100.0
    assert "at zero and at the number of tasks" in SHIFT_METHOD
    assert "at the number of tasks" in shift_text(studied.read_json("shift.json"))
    assert b"(at most 100)" in (studied.path / "plots/shift_by_seed.svg").read_bytes()


def test_an_interrupted_study_is_marked_and_resumes_to_the_same_bytes(studied: ResultsFolder, tmp_path: Path) -> None:
    folder = begun(tmp_path / "out")
    with pytest.raises(PulledPlug):
        study_shift(folder, SMALL, engine=FailingEngine())
    assert (folder.path / INCOMPLETE).is_file()
    assert [path.name for path in (folder.path / "trials").iterdir()] == ["shift-5.npz"]
    stamp = (folder.path / "trials/shift-5.npz").stat().st_mtime_ns
    done: list[str] = []
    again = begun(tmp_path / "out")

    def step(name: str) -> None:
        if name == "shift-6":
            assert (folder.path / "trials/shift-5.npz").stat().st_mtime_ns == stamp, "a stored seed was done again"
        done.append(name)

    study_shift(again, SMALL, engine=LocalEngine(1), step=step)
    assert done[:3] == ["shift-5", "shift-6", "shift-7"]
    assert again.is_complete
    for name in RESULTS:
        assert (again.path / name).read_bytes() == (studied.path / name).read_bytes(), name


def test_plots_and_pdf_are_remade_to_the_same_bytes_without_simulating(studied: ResultsFolder, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(studied.path, copy)
    before = {path.name: path.read_bytes() for path in (*copy.glob("plots/*"), copy / "report.pdf")}
    assert {path.stem for path in copy.glob("plots/*")} == set(SHIFT_PLOTS)
    shutil.rmtree(copy / "plots")
    (copy / "report.pdf").unlink()
    assert run(["report", str(copy), "--workers", "1"]) == 0
    assert {path.name: path.read_bytes() for path in (*copy.glob("plots/*"), copy / "report.pdf")} == before
    (copy / "tables/means.csv").write_text("changed")
    assert run(["report", str(copy)]) == 2


def test_every_number_of_the_tables_is_in_the_pdf(studied: ResultsFolder) -> None:
    reader = PdfReader(io.BytesIO((studied.path / "report.pdf").read_bytes()))
    text = re.sub(r"\s+", " ", " ".join(page.extract_text() for page in reader.pages))
    means: Any = studied.read_table("means").set_index(["scheduler", "metric"])
    for name in STRATEGIES:
        row = label_of(name)
        for metric in ("total_time_s", "last_time_s", "mean_time_s", "makespan_s"):
            cell = means.loc[(name, metric)]
            row += " " + figure_with_interval(cell["mean"], cell["low"], cell["high"])
        assert row in text
    for found in studied.read_table("figures").to_dict("records"):
        assert figure_with_interval(found["mean"], found["low"], found["high"]) in text
    pairs: Any = studied.read_table("pairs").query("metric == 'total_time_s' and second == 'rl_agent'")
    for pair in pairs.itertuples():
        assert figure_with_interval(-pair.difference, -pair.high, -pair.low) in text


def test_a_pdf_tells_other_numbers_when_the_tables_do(studied: ResultsFolder, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(studied.path, copy)
    folder = ResultsFolder.open(copy)
    with folder.phase("simulate"):
        for name in folder.tables():
            frame = folder.read_table(name)
            if name == "means":
                frame[["mean", "low", "high"]] *= 2.0
            folder.write_table(name, frame)
    remake(folder, engine=LocalEngine(1))
    assert (copy / "report.pdf").read_bytes() != (studied.path / "report.pdf").read_bytes()


def test_the_command_tells_draws_and_refuses_another_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["shift", "--tasks", "100", "--out", str(tmp_path / "out"), "--workers", "1"]
    assert run([*words, "--seeds", "1"]) == 0
    said = capsys.readouterr().out
    assert "frozen forest's time ÷ agent's time, last 60 tasks" in said
    assert "One seed shows no winner" in said
    assert json.loads((tmp_path / "out/shift.json").read_text())["seeds"] == [0]
    assert (tmp_path / "out/report.pdf").read_bytes().startswith(b"%PDF")
    assert run([*words, "--seeds", "2"]) == 2
    assert "another plan" in capsys.readouterr().err


def test_trials_that_an_interrupt_left_behind_are_deleted_with_the_next_plots(
    studied: ResultsFolder, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(studied.path, copy)
    (copy / "trials").mkdir()
    (copy / "trials" / "shift-5.npz").write_bytes(b"")
    (copy / INCOMPLETE).touch()
    folder = ResultsFolder.open(copy)
    study_shift(folder, SMALL, engine=LocalEngine(1))
    assert folder.is_complete
    assert not (copy / "trials").exists()
