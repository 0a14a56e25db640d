"""A device that was measured at a bad moment is tried again, and one that is slow is tried ever more rarely."""

from __future__ import annotations

import time

import pytest

from hybrid_ml_scheduler.execution import HybridExecutor, task
from hybrid_ml_scheduler.execution.devices import Device, places
from hybrid_ml_scheduler.execution.futures import HybridFuture
from hybrid_ml_scheduler.execution.placing.durations import LearnedDurations
from hybrid_ml_scheduler.execution.placing.placement import Placer, strategy_of
from hybrid_ml_scheduler.execution.work import Work
from tests.unit.execution.conftest import NO_STORE
from tests.unit.execution.samples import square

CPU_S = 0.010


def placer() -> Placer:
    node = places([Device(name="cpu"), Device(name="vector")])
    return Placer(strategy_of("earliest_device"), node, LearnedDurations(["cpu", "vector"]))


def placed_one(judge: Placer, number: int, vector_s: float) -> int:
    """Place one task on an idle node and let it take the truth's seconds; where it went."""
    work = Work(HybridFuture(), square, (), {})
    work.kind, work.size, work.task_id, work.options = "square", 1.0, number, square.chosen
    chosen = judge.place(work, float(number))
    assert chosen is not None
    work.place = chosen.place
    judge.learn(work, vector_s if work.place else CPU_S, number + 1.0, cold=False)
    return work.place


@pytest.mark.parametrize("unlucky", [2.0, 10.0, 100.0])
def test_one_slow_first_measurement_does_not_decide_for_ever(unlucky: float) -> None:
    judge = placer()
    first = [placed_one(judge, number, unlucky * CPU_S) for number in range(2)]
    assert sorted(first) == [0, 1]
    went = [placed_one(judge, number, 0.05 * CPU_S) for number in range(2, 3000)]
    assert set(went[-50:]) == {1}
    assert went.index(1) <= 10.0 * unlucky


@pytest.mark.parametrize("slower", [1.3, 4.0, 30.0])
def test_tries_of_a_slower_device_cost_a_share_of_the_time_that_goes_to_zero(slower: float) -> None:
    judge, vector_s = placer(), slower * CPU_S
    went = [placed_one(judge, number, vector_s) for number in range(20_000)]
    lost = sum(went) * (vector_s - CPU_S)
    assert 2 <= sum(went) <= 16
    assert lost < 0.02 * len(went) * CPU_S
    assert sum(went[:10_000]) >= sum(went[10_000:])


def test_the_same_measurements_give_the_same_tries() -> None:
    one, other = placer(), placer()
    assert [placed_one(one, number, 0.03) for number in range(500)] == [
        placed_one(other, number, 0.03) for number in range(500)
    ]


_calls = 0


@task(kind="unlucky")
def steady() -> None:
    time.sleep(0.002)


@steady.on("vector")
def unlucky_at_first() -> None:
    """Its first runs meet a busy machine."""
    global _calls
    _calls += 1
    if _calls <= 2:
        time.sleep(0.1)


def test_an_executor_finds_a_device_whose_first_runs_were_unlucky_and_says_why_it_tried_again() -> None:
    reasons = []
    with HybridExecutor(1, devices=["vector"], workers="threads", options=NO_STORE) as executor:
        for _ in range(4000):
            future = executor.submit(steady)
            future.result()
            told = executor.explain(future)
            if "trial" in told:
                reasons.append(told["reason"])
            if _calls >= 50:
                break
    assert _calls >= 50
    assert reasons
    assert reasons[0].startswith("vector_0 is tried again: ")
