"""Where a task can run: the column of a file, the option of a generator and of a trace, and what fits no GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.core import HmsError
from hybrid_ml_scheduler.physics import Gpu, MemoryRule, Node
from hybrid_ml_scheduler.workload import WorkloadParameters, generate, load, write_csv
from tests.unit.workload.comparing import DATA, fingerprint

HEAD = "task_id,size,compute_intensity,memory_required,arrival_time"


def own(tmp_path: Path, header: str, *rows: str) -> Path:
    path = tmp_path / "own.csv"
    path.write_text("\n".join([f"{HEAD},{header}", *(f"{i},9,0.5,100,{i},{row}" for i, row in enumerate(rows))]) + "\n")
    return path


def test_a_file_says_where_its_tasks_run_and_is_written_back_alike(tmp_path: Path) -> None:
    batch = load(own(tmp_path, "runs_on,precision", "gpu,fp32", "cpu,", "any,tensor", ","))
    assert [task.runs_on for task in batch] == ["gpu", "cpu", "any", "any"]
    assert batch.gpus_required.tolist() == [1, 0, 1, 1]
    assert batch.divisible.tolist() == [False, False, True, True]
    assert batch.fp32.tolist() == [True, False, False, False]
    write_csv(batch, tmp_path / "again.csv")
    assert fingerprint(load(tmp_path / "again.csv")) == fingerprint(batch)


@pytest.mark.parametrize(
    ("header", "row", "sentence"),
    [
        ("runs_on", "tpu", "line 2: runs_on is 'tpu', which is none of gpu, cpu and any"),
        ("runs_on,gpus_required", "gpu,0", "line 2: runs_on is gpu and gpus_required is 0, which contradict"),
        ("runs_on,gpus_required", "cpu,2", "line 2: runs_on is cpu and gpus_required is 2, which contradict"),
        ("runs_on,gpu_time", "cpu,2", "gpu_time is '2', which contradict"),
        ("runs_on,divisible", "gpu,yes", "runs on GPUs only (runs_on = gpu) and is called divisible, which contradict"),
        ("precision", "int8", "line 2: precision is 'int8', which is neither fp32 nor tensor"),
        ("run_on", "gpu", "did you mean 'runs_on'"),
    ],
)
def test_what_contradicts_itself_is_refused(tmp_path: Path, header: str, row: str, sentence: str) -> None:
    with pytest.raises(HmsError) as caught:
        load(own(tmp_path, header, row))
    assert sentence in str(caught.value)


def test_a_generator_draws_shares_and_changes_nothing_else() -> None:
    plain = generate(WorkloadParameters(), 5)
    mixed = generate(WorkloadParameters(gpu_only=0.3, cpu_only=0.2), 5)
    words = [task.runs_on for task in mixed]
    assert 250 < words.count("gpu") < 350
    assert 150 < words.count("cpu") < 250
    assert not mixed.divisible[mixed.gpu_only | (mixed.gpus_required == 0)].any()
    for name in ("size", "compute_intensity", "memory_required", "arrival_time"):
        assert np.array_equal(getattr(plain, name), getattr(mixed, name))
    with pytest.raises(HmsError, match="together they must not exceed 1"):
        WorkloadParameters(gpu_only=0.7, cpu_only=0.5)


@pytest.mark.parametrize("name", ["philly.csv", "azure_llm.csv", "openb_pods.csv", "openb_requests.csv"])
def test_a_trace_runs_where_it_ran_if_asked_and_else_says_what_it_assumes(name: str) -> None:
    assumed = {note.split(":")[0]: note for note in load(DATA / name).assumptions}
    assert "may run on the CPU and on GPUs" in assumed["runs_on"]
    batch = load(DATA / name, options={"runs_on": "traced"})
    words = {task.runs_on for task in batch}
    assert words <= {"gpu", "cpu"}
    assert "gpu" in words
    assert ("cpu" in words) == name.startswith("openb")
    assert any(note.startswith("runs_on: ") and "run on GPUs only" in note for note in batch.assumptions)


def test_a_trace_that_does_not_tell_refuses_the_option() -> None:
    with pytest.raises(HmsError, match="this trace does not say which tasks ran on GPUs"):
        load(DATA / "jobs.swf", options={"runs_on": "traced"})
    with pytest.raises(HmsError, match="must be traced or any"):
        load(DATA / "philly.csv", options={"runs_on": "gpu"})


def test_a_task_for_gpus_only_that_fits_none_is_left_out_counted_and_named(tmp_path: Path) -> None:
    path = own(tmp_path, "runs_on", "gpu", "any", "gpu")
    text = path.read_text().replace("2,9,0.5,100", "2,9,0.5,9000")
    path.write_text(text)
    small, large = Node(gpus=(Gpu(memory_mb=500.0),)), Node(gpus=(Gpu(memory_mb=500.0), Gpu(memory_mb=9500.0)))
    kept = load(path, node=small)
    assert kept.task_id.tolist() == [0, 1]
    assert "1 of 3 tasks run on GPUs only and fit no GPU of the node (up to 9,000 MB)" in kept.assumptions[-1]
    assert "(tasks 2)" in kept.assumptions[-1]
    assert len(load(path, node=large)) == len(load(path, node=Node(gpus=small.gpus, memory_rule=MemoryRule.PAGE))) == 3
    path.write_text(text.replace("100", "9000").replace("any", "gpu"))
    with pytest.raises(HmsError, match="every task runs on GPUs only and needs more memory"):
        load(path, node=small)
