"""The performance store: shared, versioned, and never in the way."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hybrid_ml_scheduler.execution import ExecutorOptions, HybridExecutor, task
from hybrid_ml_scheduler.execution.kind_names import kind_of
from hybrid_ml_scheduler.execution.placing.store import KEPT, PerformanceStore
from tests.unit.execution.samples import same


def test_two_programs_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    first, second = PerformanceStore(tmp_path), PerformanceStore(tmp_path)
    for number in range(10):
        first.add("fft", "cpu", 10.0, 0.5)
        second.add("fft", "cuda", 10.0, 0.1)
        if number % 3 == 0:
            first.save()
            second.save()
    first.save()
    second.save()
    found = {(one.kind, one.device): one for one in PerformanceStore(tmp_path).histories()}
    assert {key: one.count for key, one in found.items()} == {("fft", "cpu"): 10, ("fft", "cuda"): 10}
    assert found["fft", "cuda"].latest == ((10.0, 0.1),) * 10


def test_a_program_starts_with_what_an_earlier_one_measured(tmp_path: Path) -> None:
    options = ExecutorOptions(store=str(tmp_path))
    with HybridExecutor(1, devices=[], workers="threads", options=options) as executor:
        for _ in range(5):
            executor.submit(same, 1).result()
    stored = PerformanceStore(tmp_path).histories()
    assert [(one.device, one.count) for one in stored] == [("cpu", 4)]  # the first run was a warm-up
    with HybridExecutor(1, devices=[], workers="threads", options=options) as executor:
        assert executor.durations.pairs() == [(stored[0].kind, "cpu")]


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"format": 99}', '{"format": 1, "kind": "k", "devices": {"cpu": {}}}']
)
def test_a_file_that_cannot_be_read_costs_a_sentence_and_a_fresh_start(
    tmp_path: Path, content: str, capfd: pytest.CaptureFixture[str]
) -> None:
    store = PerformanceStore(tmp_path)
    store.add("k", "cpu", 1.0, 1.0)
    store.save()
    path = next(store.folder.glob("*.json"))
    path.write_text(content)
    assert store.observations() == []
    assert "begun afresh" in capfd.readouterr().err
    store.add("k", "cpu", 2.0, 3.0)
    store.save()
    assert store.observations() == [("k", "cpu", 2.0, 3.0)]


def test_only_the_latest_are_kept_and_a_kind_can_be_forgotten(tmp_path: Path) -> None:
    store = PerformanceStore(tmp_path)
    for number in range(3 * KEPT):
        store.add("k", "cpu", 1.0, number + 1.0)
    store.save()
    (kept,) = store.histories()
    assert kept.count == 3 * KEPT
    assert [seconds for _, seconds in kept.latest] == [3 * KEPT - KEPT + one + 1.0 for one in range(KEPT)]
    assert json.loads(next(store.folder.glob("*.json")).read_text())["format"] == 1
    assert store.forget("other") == 0
    assert store.forget("k") == 1
    assert store.histories() == []


def test_a_folder_that_cannot_be_written_costs_a_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    store = PerformanceStore(blocked)
    store.add("k", "cpu", 1.0, 1.0)
    store.save()
    assert "cannot be kept" in capfd.readouterr().err


PROGRAM = """
import sys
from hybrid_ml_scheduler.execution import ExecutorOptions, HybridExecutor, task
from hybrid_ml_scheduler.execution.kind_names import kind_of
def work(number): return {result}
if __name__ == "__main__":
    options = ExecutorOptions(store=sys.argv[1])
    with HybridExecutor(1, devices=[], workers="threads", options=options) as executor:
        print(len(executor.durations.pairs()), sum(executor.map(work, range(5))))
"""


def kinds_after(program: Path, result: str, folder: Path) -> list[str]:
    """The stored kinds once a program has run whose `work` returns this."""
    program.parent.mkdir(exist_ok=True)
    program.write_text(PROGRAM.format(result=result))
    subprocess.run([sys.executable, str(program), str(folder)], check=True, timeout=120, capture_output=True)
    return [one.kind for one in PerformanceStore(folder).histories()]


def test_kinds_of_one_name_in_two_programs_or_with_other_code_share_no_times(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    first = kinds_after(tmp_path / "one" / "train.py", "number", folder)
    assert [kind.partition("#")[0] for kind in first] == ["train.work"]
    assert kinds_after(tmp_path / "one" / "train.py", "number", folder) == first
    assert len(kinds_after(tmp_path / "two" / "train.py", "number", folder)) == 2
    assert len(kinds_after(tmp_path / "one" / "train.py", "number + 1", folder)) == 3


def test_a_store_of_an_earlier_version_is_read_and_serves_kinds_with_a_name_of_their_own(tmp_path: Path) -> None:
    store = PerformanceStore(tmp_path)
    for kind in ("fft", "__main__.work"):
        for _ in range(5):
            store.add(kind, "cpu", 1.0, 0.5)
    store.save()
    with HybridExecutor(1, devices=[], workers="threads", options=ExecutorOptions(store=str(tmp_path))) as executor:
        assert executor.durations.pairs() == [("__main__.work", "cpu"), ("fft", "cpu")]
        future = executor.submit(task(same, kind="fft"), 1)
        future.result()
        assert executor.explain(future)["predicted_s"] == pytest.approx(0.5, rel=0.1)


def test_functions_under_a_decorator_and_callable_objects_have_kinds_of_their_own() -> None:
    def decorated(function: Callable[[], int]) -> Callable[[], int]:
        @functools.wraps(function)
        def inner() -> int:
            return function()

        return inner

    class Endless:
        """Answers whatever it is asked for."""

        def __getattr__(self, name: str) -> Endless:
            if name.startswith("__") and name != "__wrapped__":
                raise AttributeError(name)
            return self

        def __call__(self) -> int:
            return 3

    assert kind_of(decorated(lambda: 1)) != kind_of(decorated(lambda: 2))
    assert kind_of(functools.partial(same, 1)) == kind_of(same)
    assert kind_of(Endless()).startswith("tests.unit.execution.test_store.")
    assert kind_of(len) == "builtins.len"
