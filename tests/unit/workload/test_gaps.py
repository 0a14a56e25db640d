"""Tasks of zero seconds are left out aloud, foreign columns are mapped, and what times make needless is filled."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.core import HmsError, TaskBatch
from hybrid_ml_scheduler.physics import Gpu, Node, durations
from hybrid_ml_scheduler.workload import load
from tests.unit.workload.comparing import DATA

EIGHT = Node(gpus=(Gpu(),) * 8)

OWN = "task_id,size,compute_intensity,memory_required,arrival_time,dependencies,cpu_time"


def said(batch: TaskBatch, name: str) -> str:
    found = [note for note in batch.assumptions if note.startswith(f"{name}: ")]
    assert len(found) == 1, batch.assumptions
    return found[0]


def test_children_of_an_own_task_of_zero_seconds_inherit_its_parents(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    rows = ["0,1,0.5,1,0,[],5", "1,1,0.5,1,0,[0],0", "2,1,0.5,1,0,[1],0.0", '3,1,0.5,1,0,"[2, 0]",7', "4,1,0.5,1,0,[],"]
    path.write_text("\n".join([OWN, *rows]))
    batch = load(path)
    assert batch.task_id.tolist() == [0, 3, 4]
    assert [task.dependencies for task in batch] == [(), (0,), ()]
    assert "2 of 5 tasks took 0 seconds and are left out (1, 2)" in said(batch, "zero_seconds")


def test_children_of_a_workflow_step_of_zero_seconds_inherit_its_parents(tmp_path: Path) -> None:
    workflow = json.loads((DATA / "workflow.json").read_text())
    plain = load(DATA / "workflow.json")
    middle = [one for one in workflow["workflow"]["execution"]["tasks"] if one["runtimeInSeconds"] == 10.0]
    middle[0]["runtimeInSeconds"] = 0
    path = tmp_path / "workflow.json"
    path.write_text(json.dumps(workflow))
    batch = load(path)
    assert len(batch) == len(plain) - 1
    assert [task.dependencies for task in batch] == [(), (0,), (0, 2)]
    assert "1 of 4 tasks took 0 seconds" in said(batch, "zero_seconds")


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("philly.csv", ",66.0,1,66.0,", ",0.0,1,0,"),
        ("azure_llm.csv", ",300", ",0"),
        ("openb_pods.csv", None, None),
    ],
)
def test_every_dialect_leaves_out_tasks_of_zero_seconds(
    name: str, old: str | None, new: str | None, tmp_path: Path
) -> None:
    text = (DATA / name).read_text()
    if old is None:
        cells = text.splitlines()[1].split(",")
        text = text.replace(",".join(cells), ",".join([*cells[:-2], cells[-1], cells[-1]]))
    else:
        assert old in text
        text = text.replace(old, str(new))
    path = tmp_path / name
    path.write_text(text)
    batch = load(path)
    assert len(batch) == len(load(DATA / name)) - 1
    assert "1 of " in said(batch, "zero_seconds")


def test_a_job_whose_predecessor_is_left_out_waits_for_that_one_s_predecessor(tmp_path: Path) -> None:
    def job(number: int, run: int, before: int) -> str:
        return f"{number} {number} 0 {run} 1 -1 -1 1 -1 -1 1 1 1 1 1 1 {before} -1"

    path = tmp_path / "jobs.swf"
    path.write_text("\n".join([job(1, 10, -1), job(2, 0, 1), job(3, -1, 2), job(4, 10, 3)]))
    assert [task.dependencies for task in load(path)] == [(), (1,)]


def test_a_foreign_csv_is_read_by_a_mapping_and_every_gap_is_named(tmp_path: Path) -> None:
    path = tmp_path / "foreign.csv"
    path.write_text("start,run_s,colour\n0,30,red\n5,60,blue\n")
    batch = load(path, options={"map": {"duration": "run_s", "arrival_time": "start"}})
    assert batch.cpu_time.tolist() == [30.0, 60.0]
    assert batch.arrival_time.tolist() == [0.0, 5.0]
    assert durations(batch, Node()).cpu_s == pytest.approx([30.0, 60.0])
    for name in ("numbered", "guessed_intensity", "guessed_memory", "derived_size", "guessed_gpu_time"):
        said(batch, name)
    text = " ".join(batch.assumptions)
    assert "colour" in text
    assert "duration_as_cpu_time" in text
    assert load(path, seed=1, options={"map": {"duration": "run_s"}}).arrival_time.tolist() == [0.0, 0.0]


def test_size_and_intensity_are_optional_where_times_are_measured(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text("arrival_time,cpu_time,gpu_time\n0,30,3\n5,,4\n")
    batch = load(path)
    assert durations(batch, Node()).on_gpu(0).tolist() == [3.0, 4.0]
    path.write_text("arrival_time,cpu_time,gpu_time\n0,30,3\n5,,\n")
    with pytest.raises(HmsError, match="line 3: a task without any measured time needs size"):
        load(path)


def test_a_list_of_requests_without_times_says_that_times_are_drawn() -> None:
    batch = load(DATA / "openb_requests.csv", node=EIGHT)
    assert len(batch) == 4
    assert np.isnan(batch.cpu_time).tolist() == [True, True, False, True]
    assert "no times" in said(batch, "guessed_lifetime")
    longer = load(DATA / "openb_requests.csv", node=EIGHT, options={"lifetime_median_s": 1200})
    assert longer.gpu_time[0] == pytest.approx(2 * batch.gpu_time[0])


def test_a_file_with_times_by_type_alone_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("arrival_time,gpu_time.v100,gpus_required\n0,5,1\n1,6,2\n")
    assert load(path).gpu_times[:, 0].tolist() == [5.0, 6.0]
