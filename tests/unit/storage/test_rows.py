"""From the race's nouns to rows."""

from __future__ import annotations

import math

from hybrid_ml_scheduler.core import Outcome, Task
from hybrid_ml_scheduler.storage import result_row, result_rows, stored_task, task_row
from hybrid_ml_scheduler.storage.connect.tables import ROW_TABLES
from hybrid_ml_scheduler.storage.rows import ResultRow

OUTCOME = Outcome(
    task_id=3,
    gpu_fraction=0.4,
    gpu=2,
    arrival_s=1.0,
    ready_s=1.5,
    cpu_start_s=2.0,
    gpu_start_s=2.5,
    finish_s=4.0,
    execution_s=1.25,
    cpu_s=1.25,
    gpu_s=0.5,
    energy_j=60.0,
    cost_usd=0.001,
    out_of_memory=True,
)


def test_a_result_row_says_what_the_outcome_says() -> None:
    row = result_row("greedy", OUTCOME)
    assert (row.task_id, row.scheduler_name, row.device, row.gpu_id) == (3, "greedy", "cpu+gpu_2", 2)
    assert (row.actual_time, row.latency, row.wait) == (OUTCOME.execution_s, OUTCOME.latency_s, OUTCOME.wait_s)
    assert (row.energy_consumption, row.execution_cost) == (60.0, 0.001)
    assert (row.ready_time, row.start_time, row.finish_time) == (1.5, 2.0, 4.0)
    assert (row.cpu_start, row.gpu_start) == (2.0, 2.5)
    assert (row.cpu_part, row.gpu_part, row.out_of_memory, row.failed) == (1.25, 0.5, True, False)


def test_a_failed_outcome_has_no_number_that_is_none() -> None:
    nothing = dict.fromkeys(("cpu_start_s", "gpu_start_s", "finish_s", "execution_s", "energy_j"), math.nan)
    values = OUTCOME._asdict() | nothing
    row = result_row("greedy", Outcome(**(values | {"failed": True})))
    assert (row.actual_time, row.latency, row.wait, row.start_time, row.finish_time) == (None,) * 5
    assert row.energy_consumption is None
    assert row.failed
    assert not any(isinstance(value, float) and math.isnan(value) for value in row)


def test_the_start_on_a_device_that_is_not_used_is_none() -> None:
    alone = OUTCOME._replace(gpu_fraction=1.0, cpu_start_s=math.nan, cpu_s=0.0)
    row = result_row("greedy", alone)
    assert (row.start_time, row.cpu_start, row.gpu_start) == (2.5, None, 2.5)


def test_rows_of_several_strategies_keep_their_names() -> None:
    rows = result_rows({"a": [OUTCOME], "b": [OUTCOME, OUTCOME]})
    assert [row.scheduler_name for row in rows] == ["a", "b", "b"]


def test_a_task_row_holds_all_that_is_known_before_it_runs_and_gives_it_back() -> None:
    task = Task(
        task_id=9,
        size=10.0,
        compute_intensity=0.5,
        memory_required=2.0,
        arrival_time=1.0,
        dependencies=(3, 4),
        kind="sort",
        deadline=5.0,
        divisible=False,
        gpus_required=2,
        gpu_only=True,
        label="job-9",
    )
    expected = (9, 7, 10.0, 0.5, 2.0, 1.0, "[3, 4]", "sort", 5.0, False, 2, "gpu", "job-9")
    assert task_row(7, task) == expected
    assert stored_task(task_row(7, task)) == task


def test_every_row_type_has_exactly_the_columns_of_its_table() -> None:
    for row_type, table in ROW_TABLES.items():
        columns = [column.name for column in table.c if not (row_type is ResultRow and column.name == "id")]
        assert list(row_type._fields) == columns  # type: ignore[attr-defined]
