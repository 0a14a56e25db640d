"""Tasks and their columns say the same."""

from __future__ import annotations

import dataclasses
import json
import pickle
from typing import Any

import numpy as np
import pytest

from hybrid_ml_scheduler.core import Outcome, Task, TaskBatch

TASKS = [
    Task(task_id=4, size=100.0, compute_intensity=0.5, memory_required=10.0, arrival_time=0.0),
    Task(task_id=7, size=200.0, compute_intensity=1.0, memory_required=0.0, arrival_time=0.5, cpu_time=2.0),
    Task(
        task_id=5,
        size=300.0,
        compute_intensity=0.0,
        memory_required=30.0,
        arrival_time=1.5,
        dependencies=(7, 4),
        gpu_time=0.25,
        kind="resnet",
        deadline=3.0,
        divisible=False,
        gpus_required=2,
        gpu_times=(("k80", 4.0), ("v100", 1.0)),
        speedup_factor=1.5,
    ),
]


def outcome(**changes: float) -> Outcome:
    values: dict[str, float] = {
        "task_id": 1,
        "gpu_fraction": 0.5,
        "gpu": 2,
        "arrival_s": 1.0,
        "ready_s": 2.0,
        "cpu_start_s": 4.0,
        "gpu_start_s": 3.0,
        "finish_s": 10.0,
        "execution_s": 5.0,
        "cpu_s": 5.0,
        "gpu_s": 1.0,
        "energy_j": 200.0,
        "cost_usd": 0.1,
    }
    return Outcome(**{**values, **changes})  # type: ignore[arg-type]


def test_a_batch_gives_back_the_tasks_it_was_made_of() -> None:
    assert list(TaskBatch.from_tasks(TASKS)) == TASKS


def test_a_row_a_part_and_a_choice_of_rows_say_the_same_as_the_whole() -> None:
    batch = TaskBatch.from_tasks(TASKS)
    assert [batch.task(row) for row in range(3)] == TASKS
    assert list(batch.take(slice(1, 3))) == TASKS[1:]
    assert list(batch.select(np.array([2, 0]))) == [TASKS[2], TASKS[0]]


def test_a_task_survives_being_written_as_json() -> None:
    assert [Task.from_mapping(json.loads(json.dumps(task._asdict()))) for task in TASKS] == TASKS


def test_a_column_that_no_batch_has_is_refused() -> None:
    columns: dict[str, Any] = {
        "size": [1],
        "compute_intensity": [0],
        "memory_required": [0],
        "arrival_time": [0],
        "colour": [1],
    }
    with pytest.raises(TypeError, match="no column 'colour'"):
        TaskBatch.from_columns(**columns)


def test_a_batch_has_the_field_names_of_a_task() -> None:
    shared = set(Task._fields) - {"dependencies", "label"}  # a batch holds parents and labels in forms of their own
    assert shared <= {item.name for item in dataclasses.fields(TaskBatch)}


def test_what_is_left_out_takes_its_neutral_value() -> None:
    batch = TaskBatch.from_columns(size=[1, 2], compute_intensity=[0, 1], memory_required=[0, 0], arrival_time=[0, 0])
    assert batch.task_id.tolist() == [0, 1]
    assert not batch.has_dependencies
    assert not batch.is_noisy
    assert np.isnan(batch.cpu_time).all()
    assert batch.assumptions == ()
    assert (batch.kind_names, batch.kind.tolist(), batch.gpu_types) == (("",), [0, 0], ())
    assert (batch.divisible.tolist(), batch.gpus_required.tolist()) == ([True, True], [1, 1])
    assert np.isnan(batch.deadline).all()


def test_columns_cannot_be_written() -> None:
    batch = TaskBatch.from_tasks(TASKS)
    for name in ("task_id", "size", "compute_intensity", "memory_required", "arrival_time", "duration_factor"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(batch, name)[0] = 1


def test_making_a_batch_leaves_the_callers_array_writable() -> None:
    sizes = np.array([100.0, 200.0])
    TaskBatch.from_columns(size=sizes, compute_intensity=[0, 1], memory_required=[0, 0], arrival_time=[0, 0])
    sizes[0] = 5.0
    assert sizes[0] == 5.0


def test_a_part_of_a_batch_keeps_its_tasks_and_their_parents() -> None:
    batch = TaskBatch.from_tasks(TASKS)
    assert list(batch.take(slice(1, 3))) == TASKS[1:]
    assert list(batch.take(slice(2, None))) == TASKS[2:]
    assert len(batch.take(slice(3, 3))) == 0
    assert len(batch.take(slice(2, 1))) == 0


def test_a_part_must_be_contiguous() -> None:
    with pytest.raises(ValueError, match="contiguous"):
        TaskBatch.from_tasks(TASKS).take(slice(0, 3, 2))


def test_a_batch_survives_pickling() -> None:
    batch = TaskBatch.from_tasks(TASKS)
    assert list(pickle.loads(pickle.dumps(batch))) == TASKS


def test_a_task_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        TASKS[0].size = 3.0  # type: ignore[misc]


def test_latency_counts_from_arrival_and_wait_from_readiness() -> None:
    assert outcome().latency_s == 9.0
    assert outcome().wait_s == 3.0
    assert outcome().start_s == 3.0


@pytest.mark.parametrize(
    ("gpu", "fraction", "words"), [(-1, 0.0, "cpu"), (2, 1.0, "gpu_2"), (2, 0.5, "cpu+gpu_2"), (0, 0.99, "cpu+gpu_0")]
)
def test_the_device_is_named_in_words(gpu: int, fraction: float, words: str) -> None:
    assert outcome(gpu=gpu, gpu_fraction=fraction).device == words


@pytest.mark.parametrize(("cpu", "gpu", "start"), [(float("nan"), 3.0, 3.0), (4.0, float("nan"), 4.0), (1.0, 2.0, 1.0)])
def test_the_start_is_that_of_the_earlier_part(cpu: float, gpu: float, start: float) -> None:
    assert outcome(cpu_start_s=cpu, gpu_start_s=gpu).start_s == start
