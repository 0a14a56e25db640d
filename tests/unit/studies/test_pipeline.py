"""Phases of the pipeline: in order, apart, resumable; learners are judged frozen on seeds they never saw."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest
from pypdf import PdfReader

from hybrid_ml_scheduler.core import RaceContext
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.learning.files import load_agent
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.plans.metrics import figure
from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice, plan_from_mapping
from hybrid_ml_scheduler.reports.pipeline import PHASES, run_phase, run_pipeline
from hybrid_ml_scheduler.reports.report import report_pdf
from hybrid_ml_scheduler.schedulers.agents.rl_agent import RlAgent
from hybrid_ml_scheduler.studies.engines import LocalEngine
from hybrid_ml_scheduler.studies.folder import INCOMPLETE, ResultsFolder
from hybrid_ml_scheduler.studies.pipeline import AGENT_FILE, TRAINING_SEEDS_FROM, Pipeline
from hybrid_ml_scheduler.studies.pretraining import pretrain_agent
from hybrid_ml_scheduler.workload import generate, preset, write_csv


def small(seed: int = 0) -> Pipeline:
    plan = Plan(
        seed=seed,
        seeds=2,
        schedulers=("round_robin", "hybrid_ml_share", "rl_agent", "oracle"),
        workload=WorkloadChoice(num_tasks=60),
    )
    return Pipeline(plan=plan, training_tasks=200, agent_tasks=120, engine=LocalEngine(2))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> ResultsFolder:
    pipeline = small()
    path = tmp_path_factory.mktemp("pipeline") / "out"
    folder = ResultsFolder.create(path, kind="pipeline", plan=pipeline.to_mapping())
    for name in ("data", "forest", "agent", "evaluate"):
        run_phase(pipeline, folder, name)
    return folder


def test_a_phase_alone_needs_what_it_reads(tmp_path: Path) -> None:
    pipeline = small()
    folder = ResultsFolder.create(tmp_path / "out", kind="pipeline", plan=pipeline.to_mapping())
    with pytest.raises(PlanError, match="forest needs data"):
        run_phase(pipeline, folder, "forest")
    with pytest.raises(PlanError, match="evaluate needs forest"):
        run_phase(pipeline, folder, "evaluate")


def test_the_learners_are_frozen_and_say_so(trained: ResultsFolder) -> None:
    modes = trained.read_json("run.json")["schedulers"]
    assert modes == {"round_robin": "none", "hybrid_ml_share": "frozen", "rl_agent": "frozen", "oracle": "none"}


def test_training_and_evaluation_meet_no_common_task(trained: ResultsFolder) -> None:
    training, evaluated = trained.read_table("training")["size"], trained.read_table("workload")["size"]
    assert not np.isin(training, evaluated).any()
    with pytest.raises(PlanError, match="stay below"):
        small(seed=999_999)


def of_file(tmp_path: Path, count: int, *, at_once: bool = False) -> Pipeline:
    law = preset("mixed").with_values({"num_tasks": count, **({"arrival_law": "batch"} if at_once else {})})
    path = tmp_path / "tasks.csv"
    write_csv(generate(law, 4), path)
    workload = WorkloadChoice(source=str(path), num_tasks=1_000)
    plan = Plan(schedulers=("round_robin", "hybrid_ml_share", "rl_agent"), workload=workload)
    return Pipeline(plan=plan, training_tasks=1_000, agent_tasks=1_000, engine=LocalEngine(1))


def test_a_file_trains_on_its_earlier_part_and_is_tested_on_its_later_one(tmp_path: Path) -> None:
    pipeline = of_file(tmp_path, 200)
    folder = ResultsFolder.create(tmp_path / "out", kind="pipeline", plan=pipeline.to_mapping())
    for name in ("data", "forest", "agent", "evaluate"):
        run_phase(pipeline, folder, name)
    training, evaluated = folder.read_table("training")["size"], folder.read_table("workload")["size"]
    assert (len(training), len(evaluated)) == (100, 80)
    assert not np.isin(training, evaluated).any()
    agent, run = folder.read_table("agent").iloc[0], folder.read_json("run.json")
    assert (agent["demonstrations"], agent["held_out"], agent["judged_on"]) == (100, 20, "later tasks")
    assert any("apart in time: of the 200 tasks" in sentence for sentence in run["assumptions"])
    assert run["plan"]["workload"]["part"] == [0.6, 1.0]
    assert plan_from_mapping(run["plan"]).tasks(0).size.tolist() == evaluated.tolist()


@pytest.mark.parametrize(("count", "at_once", "why"), [(99, False, "has 99 tasks"), (200, True, "arrive at once")])
def test_a_file_that_cannot_be_cut_is_said_to_test_what_it_trained_on(
    tmp_path: Path, count: int, at_once: bool, why: str
) -> None:
    apart = of_file(tmp_path, count, at_once=at_once).separation()
    assert not apart.is_apart
    assert why in apart.sentence
    assert "judged on the very tasks it was learned from" in apart.sentence
    assert "other" not in apart.judged_on


def test_the_forest_beats_guessing_on_tasks_it_never_saw(trained: ResultsFolder) -> None:
    row = trained.read_table("forest").iloc[0]
    assert row["mean_error"] < row["mean_error_of_the_mean"] / 3


def test_the_agent_is_pre_trained_from_nothing_and_the_report_says_so(trained: ResultsFolder) -> None:
    row = trained.read_table("agent").iloc[0]
    assert (row["begins_with"], row["teacher"]) == ("nothing", "earliest_device")
    assert row["demonstrations"] == row["updates"] == 120
    agent, fresh = load_agent(trained.path / AGENT_FILE), RlAgent(model=None)
    fresh.prepare(RaceContext(estimator=PhysicsEstimator(Node()), seed=TRAINING_SEEDS_FROM))
    assert not np.array_equal(agent["dqn"]["weights"], fresh.dqn.weights), "it learned nothing"
    page = re.sub(r"\s+", " ", " ".join(one.extract_text() for one in PdfReader(io.BytesIO(report_pdf(trained))).pages))
    assert "The agent began with nothing and was pre-trained on 120 decisions of Earliest device" in page
    assert f"its mean latency was {figure(float(row['mean_latency_s']))} s" in page


def test_a_plan_may_begin_with_a_model(trained: ResultsFolder) -> None:
    options = {"model": str(trained.path / AGENT_FILE)}
    lessons = small().tasks_for(1, 100)
    _, taught = pretrain_agent(options, lessons, Node(), TRAINING_SEEDS_FROM)
    assert taught["begins_with"] == options["model"]
    assert pretrain_agent({"model": "default"}, lessons, Node(), 1)[1]["begins_with"] == "the shipped weights"


def test_a_half_done_pipeline_is_marked_and_goes_on_where_it_stopped(trained: ResultsFolder) -> None:
    assert (trained.path / INCOMPLETE).is_file()
    stamps = {
        path: path.stat().st_mtime_ns for path in trained.path.rglob("*") if path.parent.name in ("models", "tables")
    }
    done: list[str] = []
    pipeline = small()
    for name in ("profile", "plots"):
        with trained.phase(name):
            trained.write_json(f"{name}.json", {})
    run_pipeline(pipeline, trained, done.append)
    assert [name for name in done if name in PHASES] == ["report"]
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    assert trained.is_complete
    assert (trained.path / "report.pdf").is_file()
    done.clear()
    run_pipeline(pipeline, trained, done.append)
    assert done == []


def test_too_little_to_learn_from_is_refused() -> None:
    with pytest.raises(PlanError, match="training_tasks"):
        Pipeline(plan=Plan(), training_tasks=10)
