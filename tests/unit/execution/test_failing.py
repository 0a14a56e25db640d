"""A device on which everything fails does not attract everything: it is avoided, tried again and reported."""

from __future__ import annotations

import logging
import time
from collections import Counter
from pathlib import Path

import pytest

from hybrid_ml_scheduler.execution import HybridExecutor, task
from tests.unit.execution.conftest import NO_STORE
from tests.unit.execution.samples import die, slow


@task(kind="broken there")
def broken_there(path: str) -> str:
    time.sleep(0.002)  # the broken device is faster
    return "cpu"


@broken_there.on("vector")
def broken_there_vector(path: str) -> str:
    if Path(path).exists():
        raise OSError("the driver is gone")
    return "vector"


@task(kind="broken everywhere")
def broken_everywhere() -> None:
    raise KeyError("mine")


@broken_everywhere.on("vector")
def broken_everywhere_vector() -> None:
    raise KeyError("mine")


@task(kind="deadly there")
def deadly_there() -> str:
    return "cpu"


deadly_there.on("vector")(die)


@pytest.fixture
def broken(tmp_path: Path) -> str:
    """While this file is there the device is broken."""
    (tmp_path / "broken").write_text("x")
    return str(tmp_path / "broken")


@pytest.fixture(params=["earliest_device", "earliest_finish", "gpu_only", "sjf"])
def strategy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_a_device_that_fails_everything_costs_few_tasks_and_is_reported(
    workers: str, strategy: str, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    with HybridExecutor(1, devices=["vector"], workers=workers, strategy=strategy, options=NO_STORE) as executor:
        executor.wait_until_ready()
        futures = [executor.submit(broken_there, broken) for _ in range(400)]
        ends = Counter("failed" if future.exception(timeout=120) else future.result() for future in futures)
        told = executor.explain(futures[-1])
    assert set(ends) == {"cpu", "failed"}
    assert 3 <= ends["failed"] <= 24, ends  # the first ones, those on their way, and tries after 16, 32, ... tasks
    assert "tasks of this kind failed there in a row" in told["avoided"]["vector_0"]
    reports = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert len([text for text in reports if "vector_0 failed 3 tasks of kind broken there in a row" in text]) == 1


def test_a_device_whose_worker_dies_of_everything_is_avoided() -> None:
    with HybridExecutor(1, devices=["vector"], options=NO_STORE) as executor:
        executor.wait_until_ready()
        ends = Counter(
            type(future.exception()).__name__ for future in [executor.submit(deadly_there) for _ in range(60)]
        )
    assert ends["WorkerDied"] + ends["NoneType"] == 60
    assert ends["WorkerDied"] <= 8, ends


def test_a_device_that_works_again_is_used_again(broken: str) -> None:
    with HybridExecutor(1, devices=["vector"], workers="threads", strategy="gpu_only", options=NO_STORE) as executor:
        results = [executor.submit(broken_there, broken).exception() for _ in range(10)]
        assert len([error for error in results if error is not None]) == 3
        Path(broken).unlink()
        assert "vector" in [executor.submit(broken_there, broken).result() for _ in range(40)]
        assert [executor.submit(broken_there, broken).result() for _ in range(5)] == ["vector"] * 5


def test_a_kind_that_fails_everywhere_fails_with_its_own_exception() -> None:
    with HybridExecutor(1, devices=["vector"], workers="threads", options=NO_STORE) as executor:
        futures = [executor.submit(broken_everywhere) for _ in range(60)]
        assert all(isinstance(future.exception(timeout=60), KeyError) for future in futures)
        assert executor.submit(slow, 0.0).result(timeout=60) == 0.0
