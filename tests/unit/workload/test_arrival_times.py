"""A file's arrival times follow what is asked: a factor, a rate or a load of the node; nothing is silent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.core import HmsError
from hybrid_ml_scheduler.physics import Gpu, Node, durations
from hybrid_ml_scheduler.workload import Part, load, resolve, write_csv
from tests.unit.workload.comparing import DATA, fingerprint

HEAD = "task_id,size,compute_intensity,memory_required,arrival_time"
FILES = (DATA / "own.csv", DATA / "philly.csv", DATA / "jobs.swf", DATA / "openb_pods.csv", DATA / "azure_llm.csv")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("gpus", [1, 3])
def test_a_target_load_follows_the_node(path: Path, gpus: int) -> None:
    node = Node(gpus=(Gpu(speed=2.0),) * gpus)
    batch = load(path, options={"target_load": 0.5}, node=node)
    busy_s = (durations(batch, node).on_gpu(0) * batch.gpus_required).sum()
    assert busy_s / (gpus * batch.arrival_time[-1]) == pytest.approx(0.5, rel=1e-9)
    assert f"keep {'1 GPU' if gpus == 1 else '3 GPUs'} busy 50%" in batch.assumptions[-1]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_rate_and_a_factor_work_on_every_file(path: Path) -> None:
    at_rate = resolve(path, values={"arrival_rate": 8.0})
    assert (len(at_rate) - 1) / at_rate.arrival_time[-1] == pytest.approx(8.0)
    assert "8 tasks arrive a second" in at_rate.assumptions[-1]
    plain, wide = (load(path, options={"arrival_scale": scale}) for scale in (1, 2))
    assert wide.arrival_time.tolist() == (2.0 * plain.arrival_time).tolist()


@pytest.mark.parametrize(
    ("values", "options", "sentence"),
    [
        ({"arrival_rate": 1.0}, {"target_load": 0.5}, "target_load cannot be given together with arrival_rate"),
        ({"arrival_rate": 1.0}, {"arrival_scale": 2}, "arrival_scale cannot be given together with arrival_rate"),
        ({"arrival_rate": 0.0}, {}, "arrival_rate = 0.0 must be a finite number above 0"),
        ({"arrival_rate": float("nan")}, {}, "arrival_rate = nan must be a finite number above 0"),
    ],
)
def test_arrivals_that_contradict_are_refused(
    values: dict[str, float], options: dict[str, float], sentence: str
) -> None:
    with pytest.raises(HmsError, match=sentence):
        resolve(DATA / "own.csv", values=values, options=options)


def test_tasks_that_all_arrive_at_once_have_no_rate(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(f"{HEAD}\n0,1,0.5,1,0\n1,1,0.5,1,0\n")
    with pytest.raises(HmsError, match="these all arrive at once"):
        resolve(path, values={"arrival_rate": 2.0})


def test_a_missing_time_follows_from_the_measured_one_and_is_said(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(f"{HEAD},cpu_time,gpu_time\n0,1000,0.8,16000,0,,23.6\n1,1000,0.8,16000,1,34,\n2,1000,0.8,0,2,,\n")
    batch = load(path)
    seconds = durations(batch, Node())
    speedup = 1 + 3 * 0.8
    assert seconds.cpu_s[0] == pytest.approx(23.6 * speedup)
    assert seconds.on_gpu(0)[:2].tolist() == [23.6, pytest.approx(34 / speedup + 1.0)]
    assert [note.partition(":")[0] for note in batch.assumptions] == [
        "guessed_cpu_time",
        "guessed_gpu_time",
        "computed_times",
    ]
    assert all("1 of 3 tasks" in note for note in batch.assumptions)


def test_a_file_without_any_measured_time_says_nothing_of_times(tmp_path: Path) -> None:
    path = tmp_path / "tasks.csv"
    path.write_text(f"{HEAD}\n0,1000,0.8,16000,0\n")
    assert load(path).assumptions == ()


@pytest.mark.parametrize("path", [DATA / "own.csv", DATA / "philly.csv"], ids=lambda path: path.name)
def test_parts_of_a_file_lie_apart_in_time_and_make_it_whole(path: Path) -> None:
    node = Node.uniform(8)
    earlier, later = (load(path, part=Part(begin=a, end=b), node=node) for a, b in ((0.0, 0.5), (0.5, 1.0)))
    whole = load(path, node=node)
    assert sorted([*earlier.task_id.tolist(), *later.task_id.tolist()]) == sorted(whole.task_id.tolist())
    assert later.arrival_time[0] == 0.0
    assert any(note.startswith("part: 2 of 4 tasks, those from 50% to 100%") for note in later.assumptions)


def test_a_parent_of_the_earlier_part_is_taken_as_done_and_said() -> None:
    later = load(DATA / "own.csv", part=Part(begin=0.5, end=1.0))
    assert not later.has_dependencies
    assert any("parents_before_the_part: 2 dependencies" in note for note in later.assumptions)


@pytest.mark.parametrize("value", [[0.5, 0.5], [0, 2], [-1, 1], [0.5], "half", [True, 1]])
def test_a_part_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(HmsError, match=r"workload\.part = .* must be two rising shares"):
        Part.from_value(value)


def test_a_preset_has_no_part() -> None:
    with pytest.raises(HmsError, match="part applies to files only"):
        resolve("mixed", part=Part(end=0.5))


def test_a_trace_written_as_csv_keeps_its_times_on_any_node(tmp_path: Path) -> None:
    batch = load(DATA / "jobs.swf", options={"arrival_scale": 1})
    write_csv(batch, tmp_path / "copy.csv")
    copy = load(tmp_path / "copy.csv")
    again = {name: value for name, value in fingerprint(copy).items() if name != "assumptions"}
    assert again == {name: value for name, value in fingerprint(batch).items() if name != "assumptions"}
    fast = Node(max_speedup=40.0)
    assert np.array_equal(durations(copy, fast).gpu_s, durations(batch, fast).gpu_s)
