"""Every fault of a batch is refused with one sentence that names it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hybrid_ml_scheduler.core import TaskBatch, errors, validate_batch
from hybrid_ml_scheduler.core.errors import HmsError, WorkloadError


def batch(dependencies: list[list[int]] | None = None, **columns: Any) -> TaskBatch:
    values: dict[str, Any] = {
        "task_id": [10, 11, 12],
        "size": [100.0, 100.0, 100.0],
        "compute_intensity": [0.0, 0.5, 1.0],
        "memory_required": [0.0, 1.0, 2.0],
        "arrival_time": [0.0, 0.0, 1.0],
    }
    return TaskBatch.from_columns(**{**values, **columns}, dependencies=dependencies)


def refusal(bad: TaskBatch) -> str:
    with pytest.raises(WorkloadError) as caught:
        validate_batch(bad, "jobs.csv")
    sentence = str(caught.value)
    assert sentence.startswith("jobs.csv: ")
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def test_a_good_batch_comes_back_itself() -> None:
    good = batch([[], [10], [10, 11]])
    assert validate_batch(good) is good


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", 0.0),
        ("size", -1.0),
        ("size", math.inf),
        ("size", math.nan),
        ("compute_intensity", -0.01),
        ("compute_intensity", 1.01),
        ("compute_intensity", math.nan),
        ("memory_required", -1.0),
        ("memory_required", math.inf),
        ("arrival_time", -0.5),
        ("arrival_time", math.nan),
        ("cpu_time", 0.0),
        ("cpu_time", math.inf),
        ("gpu_time", -2.0),
        ("duration_factor", 0.0),
        ("duration_factor", math.nan),
        ("deadline", 0.0),
        ("deadline", math.inf),
        ("gpus_required", -1),
    ],
)
def test_a_value_out_of_range_is_named_with_its_task(name: str, value: float) -> None:
    columns: dict[str, Any] = {name: [1.0, value, 1.0]}
    sentence = refusal(batch(**columns))
    assert "task 11" in sentence
    assert f"{name} = {value:g}" in sentence


def test_no_task_at_all_is_refused() -> None:
    empty = TaskBatch.from_columns(size=[], compute_intensity=[], memory_required=[], arrival_time=[])
    assert refusal(empty) == "jobs.csv: there is no task in it."


def test_a_repeated_id_is_named() -> None:
    assert refusal(batch(task_id=[10, 12, 12])) == "jobs.csv: task id 12 occurs more than once."


@pytest.mark.parametrize(("ids", "arrivals"), [([10, 11, 12], [0, 2, 1]), ([10, 12, 11], [0, 1, 1])])
def test_a_task_out_of_order_is_named(ids: list[int], arrivals: list[float]) -> None:
    assert f"task {ids[2]} is out of order" in refusal(batch(task_id=ids, arrival_time=arrivals))


def test_ids_need_not_rise_with_time() -> None:
    validate_batch(batch(task_id=[12, 13, 3]))


def test_an_unknown_parent_is_named_with_its_child() -> None:
    assert refusal(batch([[], [99], []])) == "jobs.csv: task 11 depends on task 99, which does not exist."


def test_a_task_that_waits_for_itself_is_named() -> None:
    assert refusal(batch([[], [], [12]])) == "jobs.csv: task 12 depends on itself."


def test_a_cycle_is_named_with_its_members_only() -> None:
    sentence = refusal(batch([[11], [10], [10]]))
    assert "cycle" in sentence
    assert "10" in sentence
    assert "11" in sentence
    assert "12" not in sentence


def test_a_long_cycle_is_cut_short() -> None:
    count = 30
    ring = TaskBatch.from_columns(
        size=[1.0] * count,
        compute_intensity=[0.5] * count,
        memory_required=[0.0] * count,
        arrival_time=[0.0] * count,
        dependencies=[[(row + 1) % count] for row in range(count)],
    )
    assert "..." in refusal(ring)


def test_a_parent_may_be_named_twice_and_may_arrive_later() -> None:
    validate_batch(batch([[12, 12], [], []]))


def test_a_long_chain_is_checked_without_recursion() -> None:
    count = 20_000
    chain = TaskBatch.from_columns(
        size=[1.0] * count,
        compute_intensity=[0.5] * count,
        memory_required=[0.0] * count,
        arrival_time=[0.0] * count,
        dependencies=[[row - 1] if row else [] for row in range(count)],
    )
    validate_batch(chain)


def test_every_error_a_user_can_cause_is_one_family() -> None:
    members = [getattr(errors, name) for name in errors.__all__ if name not in ("HmsError", "InternalError")]
    assert all(issubclass(member, HmsError) for member in members)
    assert not issubclass(errors.InternalError, HmsError)


def test_a_gang_that_is_called_divisible_is_refused() -> None:
    sentence = refusal(batch(gpus_required=[1, 2, 1]))
    assert "task 11 needs 2 GPUs at once and is called divisible" in sentence
    assert validate_batch(batch(gpus_required=[1, 2, 1], divisible=[True, False, True]))


@pytest.mark.parametrize("kind", ["two\nlines", "k" * 201])
def test_a_kind_that_is_not_a_short_line_is_refused(kind: str) -> None:
    assert "is not one line of at most 200 printable characters" in refusal(
        batch(kind=[0, 1, 0], kind_names=["", kind])
    )


def test_a_kind_without_a_name_is_refused() -> None:
    assert "a kind whose name is not given" in refusal(batch(kind=[0, 1, 0]))


def test_a_time_on_a_named_gpu_type_must_be_above_zero() -> None:
    sentence = refusal(batch(gpu_times=[[1.0], [-1.0], [math.nan]], gpu_types=["v100"]))
    assert "task 11 has gpu_time.v100 = -1" in sentence
