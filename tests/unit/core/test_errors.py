"""A wrong value is a `ValueError`, and stays the error that it is wherever others are translated."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.execution import ExecutorOptions, HybridExecutor, task
from hybrid_ml_scheduler.schedulers.registry import create
from hybrid_ml_scheduler.workload.files import open_for_writing


def test_a_wrong_argument_of_the_executor_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="max_workers = 0"):
        HybridExecutor(0, options=ExecutorOptions(store=""))
    with pytest.raises(ValueError, match="retries = -1"):
        task(max, retries=-1)


def test_a_wrong_option_of_a_strategy_is_still_a_plan_error() -> None:
    with pytest.raises(PlanError, match="rl_hold: patience = -3"):
        create("rl_hold", {"patience": -3.0})


def test_a_plan_error_while_a_file_is_written_is_not_blamed_on_the_file(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="no such preset"), open_for_writing(tmp_path / "tasks.csv"):
        raise PlanError("There is no such preset.")
    assert list(tmp_path.iterdir()) == []
