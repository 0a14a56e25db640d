from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_ml_scheduler.core import HmsError, TaskBatch
from hybrid_ml_scheduler.workload import PRESETS, generate, load, read_csv, write_csv
from tests.unit.workload.comparing import DATA, fingerprint

positive = st.floats(min_value=1e-12, max_value=1e12)
not_negative = st.floats(min_value=0.0, max_value=1e12)
printable = st.characters(codec="utf-8").filter(str.isprintable)
measured = st.one_of(st.just(float("nan")), positive)


@st.composite
def batches(draw: st.DrawFn) -> TaskBatch:
    """Any valid batch, with odd floats, odd ids and odd words."""
    arrival = sorted(draw(st.lists(not_negative, min_size=1, max_size=12)))
    count = len(arrival)
    ids = sorted(draw(st.sets(st.integers(0, 2**62), min_size=count, max_size=count)))

    def column(values: st.SearchStrategy[float]) -> list[float]:
        return draw(st.lists(values, min_size=count, max_size=count))

    parents = [
        draw(st.lists(st.sampled_from(ids[:row]), unique=True, max_size=3)) if row else [] for row in range(count)
    ]
    gangs = draw(st.lists(st.integers(0, 8), min_size=count, max_size=count))

    def no_gpu_no_time(seconds: list[float]) -> list[float]:
        return [one if gang else float("nan") for one, gang in zip(seconds, gangs, strict=True)]

    types = draw(st.lists(st.sampled_from(["h200", "v100", "k80"]), unique=True, max_size=2))
    return TaskBatch.from_columns(
        task_id=ids,
        size=column(positive),
        compute_intensity=column(st.floats(0.0, 1.0)),
        memory_required=column(not_negative),
        arrival_time=arrival,
        cpu_time=column(measured),
        gpu_time=no_gpu_no_time(column(measured)),
        duration_factor=column(positive),
        dependencies=parents,
        kind=draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)),
        kind_names=["", *draw(st.lists(st.text(printable, min_size=1, max_size=9), min_size=2, max_size=2))],
        deadline=column(measured),
        divisible=[gang == 1 and draw(st.booleans()) for gang in gangs],
        gpus_required=gangs,
        gpu_times=np.array([no_gpu_no_time(column(measured)) for _ in types]).reshape(len(types), count).T,
        gpu_types=types,
        speedup_factor=column(positive),
        assumptions=draw(st.lists(st.text(st.characters(codec="utf-8")), max_size=3)),
    )


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batch=batches(), suffix=st.sampled_from(["csv", "csv.gz"]))
def test_any_batch_is_read_back_identically(tmp_path: Path, batch: TaskBatch, suffix: str) -> None:
    path = tmp_path / f"tasks.{suffix}"
    write_csv(batch, path)
    assert fingerprint(read_csv(path)) == fingerprint(batch)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_preset_with_everything_is_read_back_identically(tmp_path: Path, name: str) -> None:
    batch = generate(PRESETS[name].with_values({"dependency_probability": 0.4, "noise_sigma": 0.2}), 3)
    write_csv(batch, tmp_path / "tasks.csv")
    assert fingerprint(load(tmp_path / "tasks.csv")) == fingerprint(batch)


def test_blocks_do_not_show_in_a_long_file(tmp_path: Path) -> None:
    batch = generate(PRESETS["mixed"].with_values({"num_tasks": 70_000, "dependency_probability": 0.1}), 0)
    write_csv(batch, tmp_path / "tasks.csv")
    assert fingerprint(read_csv(tmp_path / "tasks.csv")) == fingerprint(batch)


def test_the_columns_have_the_names_of_a_task_and_dependencies_are_json(tmp_path: Path) -> None:
    batch = generate(PRESETS["mixed"].with_values({"num_tasks": 50, "dependency_probability": 0.8}), 1)
    write_csv(batch, tmp_path / "tasks.csv")
    with open(tmp_path / "tasks.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = ["task_id", "size", "compute_intensity", "memory_required", "arrival_time", "dependencies"]
    assert list(rows[0]) == names
    assert [tuple(json.loads(row["dependencies"])) for row in rows] == [task.dependencies for task in batch]
    assert [float(row["size"]) for row in rows] == batch.size.tolist()


def test_what_a_task_is_can_be_said_in_columns(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    first = "task_id,size,compute_intensity,memory_required,arrival_time"
    head = f"{first},kind,deadline,divisible,gpus_required,gpu_time.v100"
    path.write_text(f"{head}\n0,1,0.5,1,0,resnet,2.5,no,1,7\n1,1,0.5,1,1,,,,4,\n2,1,0.5,1,2,resnet,,TRUE,,3\n")
    one, second, third = read_csv(path)
    assert (one.kind, one.deadline, one.divisible, one.gpus_required) == ("resnet", 2.5, False, 1)
    assert one.gpu_times == (("v100", 7.0),)
    assert (second.kind, second.deadline, second.divisible, second.gpus_required) == ("", None, False, 4)
    assert second.gpu_times == ()
    assert (third.kind, third.divisible, third.gpus_required) == ("resnet", True, 1)


def test_the_same_workload_gives_the_same_packed_bytes(tmp_path: Path) -> None:
    batch = generate(PRESETS["light"], 1)
    for name in ("one.csv.gz", "two.csv.gz"):
        write_csv(batch, tmp_path / name)
    assert (tmp_path / "one.csv.gz").read_bytes() == (tmp_path / "two.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "one.csv.gz").read_bytes()).startswith(b"task_id,size,")


def test_a_file_by_hand_is_sorted_and_its_empty_cells_are_not_measured() -> None:
    batch = read_csv(DATA / "own.csv")
    assert batch.task_id.tolist() == [0, 1, 2, 3]
    assert [task.dependencies for task in batch] == [(), (0,), (), (0, 1)]
    assert [task.cpu_time for task in batch] == [None, 0.7, 3.5, None]
    assert [task.gpu_time for task in batch] == [None, 0.2, None, 0.05]
    assert batch.assumptions == ()


def test_a_column_that_means_nothing_is_stated(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text("task_id,size,compute_intensity,memory_required,arrival_time,colour\n0,1,0.5,1,0,red\n")
    assert read_csv(path).assumptions == ("ignored_columns: colour say nothing that a task has.",)


def test_a_failed_writing_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text("old")
    broken = generate(PRESETS["light"], 0)
    object.__setattr__(broken, "size", np.array(["not a column"]))
    with pytest.raises(HmsError, match=r"tasks\.csv"):
        write_csv(broken, path)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["tasks.csv"]


def test_a_place_that_cannot_be_written_is_refused_in_a_sentence(tmp_path: Path) -> None:
    batch = generate(PRESETS["light"], 0)
    with pytest.raises(HmsError, match=r"nowhere.*cannot be written \(No such file or directory\)"):
        write_csv(batch, tmp_path / "nowhere" / "tasks.csv")
    (tmp_path / "folder").mkdir()
    with pytest.raises(HmsError, match=r"folder: the file cannot be written"):
        write_csv(batch, tmp_path / "folder")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_the_limit_keeps_the_first_tasks_and_refuses_to_orphan_one(tmp_path: Path) -> None:
    assert load(DATA / "own.csv", limit=2).task_id.tolist() == [0, 1]
    path = tmp_path / "tasks.csv"
    path.write_text(
        "task_id,size,compute_intensity,memory_required,arrival_time,dependencies\n0,1,0.5,1,0,[1]\n1,1,0.5,1,5,[]\n"
    )
    assert len(load(path)) == 2
    with pytest.raises(HmsError, match="limit of 1 task leaves out task 1"):
        load(path, limit=1)
