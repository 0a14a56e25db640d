"""The executor computes what the call says: with the values of that moment, on every device that has the task."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.execution import Device, ExecutorOptions, HybridExecutor, task
from hybrid_ml_scheduler.execution.devices import node_devices
from tests.unit.execution.conftest import NO_STORE
from tests.unit.execution.samples import add, same


class Scaled:
    """A callable with a value that its owner changes."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def __call__(self, value: int) -> int:
        return self.factor * value

    def times(self, value: int) -> int:
        return self.factor * value


@dataclass(frozen=True)
class Equal:
    """Two of these are equal although they do different things."""

    name: str
    factors: list[int]

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal) and self.name == other.name

    def __call__(self, value: int) -> int:
        return self.factors[0] * value


class Unhashable:
    """Raises whenever it is hashed or compared."""

    def __hash__(self) -> int:
        raise RuntimeError("no hash")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    def __call__(self, value: int) -> int:
        return 3 * value


def test_a_callable_object_runs_with_its_values_at_submission(processes: HybridExecutor) -> None:
    scaled = Scaled(1)
    first = processes.submit(scaled, 10)
    scaled.factor = 2
    second = processes.submit(scaled, 10)
    assert (first.result(), second.result()) == (10, 20)


def test_a_bound_method_runs_with_its_objects_values_while_an_earlier_future_lives(processes: HybridExecutor) -> None:
    scaled, results = Scaled(1), []
    futures = []
    for factor in range(1, 6):
        scaled.factor = factor
        futures.append(processes.submit(scaled.times, 10))
        results.append(10 * factor)
    assert [future.result() for future in futures] == results


def test_a_partial_that_was_changed_and_equal_objects_run_as_they_are(processes: HybridExecutor) -> None:
    bound = [1]
    call = partial(add, bound)
    assert processes.submit(call, [5]).result() == [1, 5]
    bound[0] = 2
    assert processes.submit(call, [5]).result() == [2, 5]
    both = Equal("same", [1]), Equal("same", [2])
    assert [processes.submit(one, 10).result() for one in both] == [10, 20]


def test_what_a_call_changes_in_its_callable_is_not_seen_by_the_next_call(processes: HybridExecutor) -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        def __call__(self) -> int:
            self.count += 1
            return self.count

    counter = Counter()
    assert [processes.submit(counter).result() for _ in range(5)] == [1] * 5


def test_a_function_that_cannot_be_hashed_is_run(either: HybridExecutor) -> None:
    assert either.submit(Unhashable(), 2).result(timeout=60) == 6
    assert either.submit(same, 1).result(timeout=60) == 1


def test_a_lambda_over_a_large_array_is_sent_whole(processes: HybridExecutor) -> None:
    values = np.arange(100_000.0)
    assert processes.submit(lambda: values.sum()).result() == values.sum()


PROGRAM = """
import sys, time
from hybrid_ml_scheduler.execution import ExecutorOptions, HybridExecutor
def mark(path): time.sleep(0.05); open(path, "a").write("x")
if __name__ == "__main__":
    with HybridExecutor(2, devices=[], workers=sys.argv[2], options=ExecutorOptions(store="")) as executor:
        for _ in range(10): executor.submit(mark, sys.argv[1])
        sys.exit(int(sys.argv[3]))
"""


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_sys_exit_inside_with_finishes_queued_work_and_keeps_the_exit_code(tmp_path: Path, workers: str) -> None:
    program, marks = tmp_path / "program.py", tmp_path / "marks"
    program.write_text(PROGRAM)
    done = subprocess.run([sys.executable, str(program), str(marks), workers, "3"], timeout=120, check=False)
    assert (done.returncode, len(marks.read_text())) == (3, 10)


@task(kind="scaled where")
def scaled_where(factor: int, value: int) -> tuple[str, int]:
    return "cpu", factor * value


@scaled_where.on("vector")
def scaled_where_vector(factor: int, value: int) -> tuple[str, int]:
    return "vector", factor * value


class Model:
    """A class with a task as a method."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    @task(kind="model times")
    def times(self, value: int) -> tuple[str, int]:
        return "cpu", self.factor * value

    @times.on("vector")
    def times_vector(self, value: int) -> tuple[str, int]:
        return "vector", self.factor * value

    @task(kind="model static")
    @staticmethod
    def static(value: int) -> int:
        return value


@pytest.fixture(scope="module", params=["threads", "processes"])
def on_vector(request: pytest.FixtureRequest) -> Any:
    """An executor whose strategy sends everything to the other device that can run it."""
    options = ExecutorOptions(store="")
    with HybridExecutor(1, devices="vector", workers=request.param, strategy="gpu_only", options=options) as executor:
        yield executor


def test_a_partial_of_a_task_keeps_its_implementations(on_vector: HybridExecutor) -> None:
    assert on_vector.submit(partial(scaled_where, 3), 4).result() == ("vector", 12)
    assert on_vector.submit(partial(partial(scaled_where, 3), value=4)).result() == ("vector", 12)
    assert list(on_vector.map(partial(scaled_where, 3), range(5), chunksize=2)) == [("vector", 3 * i) for i in range(5)]


def test_a_task_that_is_a_method_is_called_and_submitted_as_a_method(on_vector: HybridExecutor) -> None:
    model = Model(3)
    assert model.times(4) == ("cpu", 12)
    assert Model.times(model, 4) == ("cpu", 12)
    assert model.static(5) == Model.static(5) == 5
    assert on_vector.submit(model.times, 4).result() == ("vector", 12)
    assert on_vector.submit(Model.times, model, 4).result() == ("vector", 12)


@pytest.mark.parametrize("function", [same, lambda value: -value, task(same, kind="chunked same")])
def test_chunks_are_run_as_one_task_each_with_the_results_in_order(
    either: HybridExecutor, function: Callable[[int], int]
) -> None:
    before = sum(either.statistics().values())
    assert list(either.map(function, range(10), chunksize=4)) == [function(number) for number in range(10)]
    assert sum(either.statistics().values()) - before == 3


def test_a_chunk_takes_the_shortest_iterable_futures_and_exceptions_as_map_does(either: HybridExecutor) -> None:
    futures = [either.submit(same, number) for number in range(3)]
    assert list(either.map(add, futures, [10, 20, 30, 40], chunksize=2)) == [10, 21, 32]
    assert list(either.map(same, [], chunksize=3)) == []
    results = either.map(divmod, [4, 4, 4], [2, 0, 2], chunksize=3)
    with pytest.raises(ZeroDivisionError):
        next(results)


@pytest.mark.parametrize("length", [0, -1])
def test_a_chunk_size_below_one_is_refused_as_the_standard_library_does(either: HybridExecutor, length: int) -> None:
    with ProcessPoolExecutor(1) as usual, pytest.raises(ValueError, match="chunksize") as expected:
        usual.map(same, [1], chunksize=length)
    with pytest.raises(ValueError, match=str(expected.value)):
        either.map(same, [1], chunksize=length)


class Lazy:
    """An argument whose size cannot be asked for."""

    @property
    def nbytes(self) -> int:
        raise OSError("not loaded")


@pytest.mark.parametrize("size", [len, lambda _: 1 / 0, lambda _: float("nan"), lambda _: "long", -1.0])
@pytest.mark.parametrize("value", [[], 5])
def test_a_size_is_a_hint_that_never_fails_a_task(either: HybridExecutor, size: Any, value: Any) -> None:
    assert either.submit(task(same, kind="hinted", size=size), value).result() == value


def test_an_argument_that_does_not_tell_its_bytes_is_sent(either: HybridExecutor) -> None:
    assert isinstance(either.submit(same, Lazy()).result(), Lazy)


def test_one_name_is_one_device() -> None:
    assert [one.name for one in node_devices(1, "numba")] == ["cpu", "numba"]
    assert [one.workers for one in node_devices(1, Device(name="numba", workers=2))] == [1, 2]


def test_a_gpu_that_is_not_there_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    with pytest.raises(PlanError, match="1 cuda worker, but this process may use 0 CUDA GPUs"):
        HybridExecutor(1, devices=["cuda"], options=NO_STORE)


class Interrupted:
    """A callable that is being looked at when Ctrl-C is pressed."""

    def __call__(self) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        raise KeyboardInterrupt


def test_an_interrupt_while_a_task_is_submitted_reaches_the_program(either: HybridExecutor) -> None:
    with pytest.raises(KeyboardInterrupt):
        either.submit(Interrupted())
    assert either.submit(same, 3).result() == 3
    assert either.statistics()["unfinished"] == 0
