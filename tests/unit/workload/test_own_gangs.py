"""Gangs of an own CSV that a node cannot hold are left out aloud, as of a trace; what is only read keeps them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.cli.main import run
from hybrid_ml_scheduler.core import HmsError, TaskBatch
from hybrid_ml_scheduler.physics import Gpu, Node, durations
from hybrid_ml_scheduler.plans.candidates import Candidate
from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice
from hybrid_ml_scheduler.plans.targets import read_target
from hybrid_ml_scheduler.studies.recommending.search import Question, recommend
from hybrid_ml_scheduler.studies.recommending.words import answer_sentences
from hybrid_ml_scheduler.workload import load, resolve

TWO = Node(gpus=(Gpu(),) * 2)
MAPPED = {"map": {"task_id": "job", "arrival_time": "in", "duration": "run", "gpus_required": "gpus"}}
ROWS = "job,in,run,gpus\na,0,5,8\nb,1,6,2\nc,2,7,0\nd,3,8,4\ne,4,9,1\n"


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.csv"
    path.write_text(ROWS)
    return path


def wide(batch: TaskBatch) -> list[str]:
    return [note for note in batch.assumptions if note.startswith("wide_gangs: ")]


def test_gangs_that_the_node_cannot_hold_are_left_out_and_counted(jobs: Path) -> None:
    batch = load(jobs, options=MAPPED, node=TWO)
    assert batch.gpus_required.tolist() == [2, 0, 1]
    assert wide(batch) == [
        "wide_gangs: 2 of 5 tasks need more than the node's 2 GPUs at once (up to 8) and are left out; a node with "
        "more GPUs takes more of them."
    ]
    assert len(durations(batch, TWO).cpu_s) == 3
    assert load(jobs, options=MAPPED, node=TWO, limit=2).gpus_required.tolist() == [2, 0], "the limit counts what stays"


def test_reading_alone_keeps_every_gang(jobs: Path) -> None:
    assert load(jobs, options=MAPPED).gpus_required.tolist() == [8, 2, 0, 4, 1]
    assert not wide(resolve(jobs, options=MAPPED))


def test_a_plan_with_such_a_file_runs(jobs: Path) -> None:
    plan = Plan(node=TWO, workload=WorkloadChoice(source=str(jobs), options=MAPPED))
    assert len(plan.tasks(0)) == 3


def test_a_recommendation_judges_a_node_that_is_too_small_on_its_own(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("job,in,run,gpus\n" + "".join(f"j{row},{row},5,{(1, 2, 4)[row % 3]}\n" for row in range(30)))
    question = Question(
        workload=WorkloadChoice(source=str(path), options=MAPPED),
        nodes=tuple(
            Candidate(name=name, price_usd_h=price, node=Node(gpus=(Gpu(),) * count))
            for name, price, count in (("four", 4.0, 4), ("two", 2.0, 2))
        ),
        policies=("earliest_finish",),
        target=read_target("mean_latency < 1000"),
        seeds=1,
    )
    answer = recommend(question)
    assert answer.tasks == 30
    assert {one.node: (one.cannot_run, one.verdict) for one in answer.trials} == {
        "four": (0, "kept"),
        "two": (10, "broken"),
    }
    assert "two (10)" in " ".join(answer_sentences(question, answer))


def test_wide_gangs_that_others_wait_for_are_refused_with_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("job,run,gpus,after\nbig,5,8,\nnext,6,1,big\n")
    options = {"map": {"task_id": "job", "duration": "run", "gpus_required": "gpus", "dependencies": "after"}}
    demand = r"jobs\.csv: .* wait for each other .* up to 8 GPUs at once, and the node has 2 GPUs; .*--gpus 8"
    with pytest.raises(HmsError, match=demand):
        load(path, options=options, node=TWO)
    assert len(load(path, options=options, node=Node(gpus=(Gpu(),) * 8))) == 2


def test_a_file_of_nothing_but_wide_gangs_is_refused_with_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("job,in,run,gpus\na,0,5,8\nb,1,6,3\n")
    with pytest.raises(HmsError, match=r"jobs\.csv: every task needs more GPUs at once than the node's 2; .*--gpus 3"):
        load(path, options=MAPPED, node=TWO)


def test_tasks_of_a_program_keep_their_refusal_and_name_a_way_out() -> None:
    batch = TaskBatch.from_columns(
        size=np.ones(1),
        compute_intensity=np.ones(1),
        memory_required=np.ones(1),
        arrival_time=np.zeros(1),
        gpus_required=[3],
        divisible=[False],
    )
    with pytest.raises(HmsError, match=r"Task 0 needs 3 GPUs at once, and the node has 2 GPUs \(--gpus"):
        durations(batch, TWO)


def test_a_conversion_keeps_the_gangs_that_the_asked_number_of_gpus_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "philly.csv", tmp_path / "out.csv"
    rows = "".join(f"2017-10-0{one % 9} 07:01:55,60.0,{one},{60.0 * one},x\n" for one in (1, 4, 8, 16))
    source.write_text("timestamp,duration,num_gpus,gpu_time,cluster\n" + rows)
    for flags, kept in (
        ([], [1, 4]),
        (["--option", "gpus=8"], [1, 4, 8]),
        (["--gpus", "16"], [1, 4, 16, 8]),
        (["--gpus", "2", "--gpu-type", "v100"], [1]),
    ):
        assert run(["workload", "convert", str(source), str(out), *flags]) == 0
        said = capsys.readouterr().out
        assert load(out).gpus_required.tolist() == kept
        assert ("need more than the node's" in said) is (len(kept) < 4)
