"""Devices are classes of workers: strategies place tasks among them by what was measured."""

from __future__ import annotations

import os
from collections import Counter, deque
from typing import Any

import numpy as np
import pytest

from hybrid_ml_scheduler.core import ClusterView, Decision, Task
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.execution import Device, ExecutorOptions, HybridExecutor, Kept, KeptResultLost
from hybrid_ml_scheduler.execution.devices import CPU, core_sets, node_devices, places
from hybrid_ml_scheduler.execution.futures import HybridFuture
from hybrid_ml_scheduler.execution.placing.durations import LearnedDurations
from hybrid_ml_scheduler.execution.placing.load import PlaceLoad
from hybrid_ml_scheduler.execution.placing.placement import strategy_of
from hybrid_ml_scheduler.execution.work import Work
from tests.unit.execution.conftest import NO_STORE
from tests.unit.execution.samples import crowded, cube, die, made_at, same, seen_at, square


class Fixed:
    """Gives every task the same share."""

    name = "fixed"

    def __init__(self, share: float) -> None:
        self._share = share

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        return Decision(gpu_fraction=self._share, gpu=0)


def placed(executor: HybridExecutor, kind: str) -> Counter[str]:
    return Counter(record.place for record in executor.records() if record.kind == kind)


def test_the_faster_implementation_is_found_and_used(hybrid: HybridExecutor) -> None:
    values = np.arange(200_000, dtype=np.float64)
    latest: deque[str] = deque(maxlen=10)
    for _ in range(500):
        future = hybrid.submit(square, values)
        np.testing.assert_array_equal(future.result(), values * values)
        latest.append(hybrid.explain(future)["place"])
        if list(latest) == ["vector_0"] * 10:
            break
    assert list(latest) == ["vector_0"] * 10
    assert placed(hybrid, "square")["cpu"] >= 1


def test_an_explanation_says_what_was_believed_and_why(hybrid: HybridExecutor) -> None:
    values = np.ones(1000)
    futures = [hybrid.submit(square, values) for _ in range(4)]
    assert [float(future.result()[0]) for future in futures] == [1.0] * 4
    told = hybrid.explain(futures[-1])
    assert told["kind"] == "square"
    assert set(told["believed_s"]) == set(told["backlog_s"]) == {"cpu", "vector_0"}
    assert told["state"] == "done"
    assert "earliest completion" in told["reason"]
    plain = hybrid.submit(same, 1)
    assert plain.result() == 1
    assert hybrid.explain(plain)["reason"] == "on this machine only the CPU has an implementation of it"


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_a_task_that_can_be_shared_is_divided_and_put_together(workers: str) -> None:
    values = np.arange(1000, dtype=np.float64)
    with HybridExecutor(1, devices=["vector"], workers=workers, strategy=Fixed(0.25), options=NO_STORE) as executor:
        np.testing.assert_array_equal(executor.submit(cube, values).result(), values**3)
        np.testing.assert_array_equal(executor.submit(square, values).result(), values**2)
        shares = sorted((record.place, record.fraction) for record in executor.records() if record.kind == "cube")
        assert shares == [("cpu", 0.75), ("vector_0", 0.25)]
        assert sum(placed(executor, "square").values()) == 1
        with pytest.raises(TypeError, match="unsupported operand"):
            executor.submit(cube.options(), "no array").result()


def test_any_registered_strategy_decides_by_name_class_or_instance() -> None:
    values = np.ones(100)
    for strategy, expected in (("cpu_only", "cpu"), ("gpu_only", "vector_0"), (Fixed(1.0), "vector_0")):
        with HybridExecutor(1, devices=["vector"], workers="threads", strategy=strategy, options=NO_STORE) as executor:
            executor.submit(square, values).result()
            executor.submit(same, 1).result()
            assert dict(placed(executor, "square")) == {expected: 1}


@pytest.mark.parametrize("strategy", ["round_robin", "random", "greedy", "hybrid_ml", "earliest_finish", "rl_split"])
def test_every_kind_of_strategy_can_drive_real_tasks(strategy: str) -> None:
    values = np.ones(50)
    with HybridExecutor(1, devices=["vector"], workers="threads", strategy=strategy, options=NO_STORE) as executor:
        for future in [executor.submit(square, values) for _ in range(8)]:
            assert future.result().sum() == 50.0


@pytest.mark.parametrize("rule", ["cpu", "fail"])
def test_a_device_without_memory_hands_over_to_the_cpu_or_fails(rule: str) -> None:
    options = ExecutorOptions(store="", memory_rule=rule)
    with HybridExecutor(1, devices=["vector"], workers="threads", strategy="gpu_only", options=options) as executor:
        future = executor.submit(crowded, np.ones(3))
        if rule == "cpu":
            assert future.result() == "cpu"
            assert executor.statistics()["out_of_memory"] == 1
        else:
            with pytest.raises(MemoryError):
                future.result()


def test_a_task_too_large_for_a_device_stays_on_the_cpu() -> None:
    small = Device(name="vector", memory_mb=0.001)
    with HybridExecutor(1, devices=[small], workers="threads", strategy="gpu_only", options=NO_STORE) as executor:
        executor.submit(square, np.ones(1000)).result()
        assert dict(placed(executor, "square")) == {"cpu": 1}


def test_a_result_may_stay_where_it_is_for_the_next_task() -> None:
    with HybridExecutor(2, devices=["vector"], options=NO_STORE) as executor:
        for _ in range(4):
            kept = executor.submit(made_at).result()
            assert isinstance(kept, Kept)
            maker, user = executor.submit(seen_at, kept).result()
            assert maker == user != os.getpid()
            assert kept.fetch() == {"pid": maker}
        chained = executor.submit(seen_at, executor.submit(made_at))
        assert len(set(chained.result())) == 1


def test_a_kept_result_is_lost_with_its_worker() -> None:
    with HybridExecutor(1, devices=[], options=NO_STORE) as executor:
        kept = executor.submit(made_at).result()
        assert executor.submit(die).exception() is not None
        with pytest.raises(KeptResultLost):
            executor.submit(seen_at, kept).result(timeout=60)


def test_kept_results_of_threads_are_simply_here() -> None:
    with HybridExecutor(1, devices=[], workers="threads", options=NO_STORE) as executor:
        assert executor.submit(seen_at, executor.submit(made_at)).result() == (os.getpid(), os.getpid())


def test_workers_get_cores_of_their_own_where_there_are_enough() -> None:
    assert core_sets([0, 1, 2, 3, 4], 2) == [(0, 1), (2, 3, 4)]
    assert core_sets([0, 1], 3) == [(), (), ()]
    node = node_devices(3, [Device(name="cuda", workers=2), "numba"])
    assert [place.name for place in places(node)] == [CPU, "cuda_0", "cuda_1", "numba_0"]
    assert [place.workers for place in places(node)] == [3, 1, 1, 1]


def test_one_of_many_cores_is_left_to_the_program_where_a_device_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def cpu_workers(cores: int, *names: str) -> int:
        monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)))
        return node_devices(None, names)[0].workers

    assert [cpu_workers(cores, "cuda") for cores in (2, 7, 8, 16)] == [1, 6, 6, 14]
    assert [cpu_workers(cores) for cores in (2, 16)] == [2, 16]


def test_the_first_run_in_a_worker_is_a_warm_up_that_does_not_count() -> None:
    learned = LearnedDurations([CPU, "vector"])
    assert learned.estimate("k", CPU, 1.0) is None
    learned.observe("k", CPU, 1.0, 9.0, cold=True)
    assert learned.estimate("k", CPU, 1.0) is None
    for _ in range(20):
        learned.observe("k", CPU, 1.0, 0.5)
    found: Any = learned.estimate("k", CPU, 1.0)
    assert found.seconds == pytest.approx(0.5, rel=0.1)
    for size in (1.0, 2.0, 4.0, 8.0):
        for _ in range(10):
            learned.observe("square", "vector", size, 0.1 * size * size)
    grown: Any = learned.estimate("square", "vector", 16.0)
    assert grown.seconds == pytest.approx(25.6, rel=0.4)


def test_a_strategy_that_must_know_exact_seconds_is_refused() -> None:
    with pytest.raises(SchedulerError, match="oracle must be told exact seconds"):
        strategy_of("oracle")


def test_a_backlog_can_be_told_while_another_thread_hands_out_tasks() -> None:
    load = PlaceLoad(places([Device(name=CPU)])[0])

    class Meanwhile(Work):
        """Another task begins just as this one is looked at."""

        @property
        def predicted_s(self) -> float:
            load.running[-1] = load.running[1]
            return 1.0

        @predicted_s.setter
        def predicted_s(self, seconds: float) -> None: ...

    load.running[1] = Meanwhile(HybridFuture(), same, (), {})
    load.running[2] = Work(HybridFuture(), same, (), {})
    load.unfinished = 2
    assert load.backlog_s(0.5) == 0.0


def test_a_strategy_that_fails_in_an_unforeseen_way_leaves_nothing_to_wait_for() -> None:
    class Broken(Fixed):
        def decide(self, task: Task, cluster: ClusterView) -> Decision:
            raise KeyboardInterrupt

    with HybridExecutor(1, devices=["vector"], workers="threads", strategy=Broken(0.0), options=NO_STORE) as executor:
        with pytest.raises(KeyboardInterrupt):
            executor.submit(square, np.ones(3))
        assert executor.statistics()["unfinished"] == 0
