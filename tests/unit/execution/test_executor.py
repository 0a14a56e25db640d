"""The executor keeps the promises of `concurrent.futures`, with threads and with processes."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time

import numpy as np
import pytest

from hybrid_ml_scheduler.core.errors import PlanError, SchedulerError
from hybrid_ml_scheduler.execution import ExecutorOptions, HybridExecutor, TaskTimeout, task
from tests.unit.execution.conftest import NO_STORE
from tests.unit.execution.samples import add, raises, same, slow


def test_a_function_is_run_and_its_result_returned(either: HybridExecutor) -> None:
    assert isinstance(either, concurrent.futures.Executor)
    assert either.submit(add, 1, right=2).result() == 3
    assert list(either.map(add, range(5), range(5))) == [0, 2, 4, 6, 8]
    assert either.submit(lambda value: value * 2, 21).result() == 42


def test_an_exception_is_the_futures_with_its_traceback(either: HybridExecutor) -> None:
    future = either.submit(raises, "oh")
    assert isinstance(future.exception(), KeyError)
    with pytest.raises(KeyError, match="oh"):
        future.result()


def test_futures_serve_as_completed_wait_and_asyncio(either: HybridExecutor) -> None:
    futures: dict[concurrent.futures.Future[int], int] = {either.submit(same, number): number for number in range(20)}
    assert {futures[one] for one in concurrent.futures.as_completed(futures)} == set(range(20))
    done, waiting = concurrent.futures.wait([either.submit(same, 1), either.submit(same, 2)])
    assert (len(done), len(waiting)) == (2, 0)

    async def ask() -> list[int]:
        loop = asyncio.get_running_loop()
        return list(await asyncio.gather(*(loop.run_in_executor(either, add, number, 1) for number in range(5))))

    assert asyncio.run(ask()) == [1, 2, 3, 4, 5]


def test_waiting_for_a_result_can_time_out_and_the_task_goes_on(either: HybridExecutor) -> None:
    future = either.submit(slow, 0.3)
    with pytest.raises(concurrent.futures.TimeoutError):
        future.result(timeout=0.01)
    assert future.result() == 0.3


def test_futures_as_arguments_are_waited_for_and_share_their_fate(either: HybridExecutor) -> None:
    first = either.submit(slow, 0.05)
    assert either.submit(add, first, either.submit(same, 1.0)).result() == 1.05
    assert either.submit(sum, [first, first]).result() == 0.1
    with pytest.raises(KeyError, match="parent"):
        either.submit(add, either.submit(raises, "parent"), 1).result()


def test_arrays_come_back_as_they_went_small_and_large(either: HybridExecutor) -> None:
    for count in (0, 10, 100_000, 1_000_000):
        sent = np.arange(count, dtype=np.float64)
        back = either.submit(same, (sent, "x", sent[::2])).result()
        np.testing.assert_array_equal(back[0], sent)
        np.testing.assert_array_equal(back[2], sent[::2])
        assert back[1] == "x"
    back[0][0] = 7.0  # what was returned is the caller's own
    text = "é" * 400_000
    assert either.submit(same, text).result() == text


def test_many_tiny_tasks_all_end_in_order(either: HybridExecutor) -> None:
    assert list(either.map(same, range(2000))) == list(range(2000))
    assert either.statistics()["unfinished"] == 0


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_shutdown_cancels_what_waits_and_finishes_what_runs(workers: str) -> None:
    executor = HybridExecutor(1, devices=[], workers=workers, options=NO_STORE)
    executor.submit(same, 0).result()
    running = executor.submit(slow, 0.3)
    while not running.running():
        time.sleep(0.001)
    waiting = [executor.submit(slow, 9.0) for _ in range(5)]
    executor.shutdown(wait=True, cancel_futures=True)
    assert running.result() == 0.3
    assert all(future.cancelled() for future in waiting)
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(same, 1)
    executor.shutdown()  # harmless when repeated


def test_a_waiting_task_can_be_cancelled_and_its_children_with_it() -> None:
    with HybridExecutor(1, devices=[], workers="threads", options=NO_STORE) as executor:
        release = threading.Event()
        executor.submit(release.wait)
        waiting = executor.submit(same, 1)
        child = executor.submit(add, waiting, 1)
        assert waiting.cancel()
        release.set()
        with pytest.raises(concurrent.futures.CancelledError):
            child.result()
    assert executor.statistics()["cancelled"] == 1


def test_submitting_waits_while_the_queue_is_full() -> None:
    options = ExecutorOptions(queue_limit=2, store="")
    with HybridExecutor(1, devices=[], workers="threads", options=options) as executor:
        release = threading.Event()
        blocked = [executor.submit(release.wait) for _ in range(2)]
        third = threading.Thread(target=executor.submit, args=(same, 1))
        third.start()
        third.join(0.1)
        assert third.is_alive()
        release.set()
        third.join(120.0)
        assert not third.is_alive()
        assert all(future.result() for future in blocked)


def test_a_task_in_a_thread_may_wait_for_tasks_of_the_same_executor() -> None:
    with HybridExecutor(1, devices=[], workers="threads", options=NO_STORE) as executor:

        def nested(depth: int) -> int:
            return 1 + executor.submit(nested, depth - 1).result() if depth else 0

        assert executor.submit(nested, 5).result(timeout=120) == 5
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("hms-cpu")] == []


def test_a_thread_that_exceeds_its_time_is_given_up_and_replaced() -> None:
    release = threading.Event()
    with HybridExecutor(1, devices=[], workers="threads", options=NO_STORE) as executor:
        endless = task(release.wait, kind="endless", timeout_s=0.05)
        with pytest.raises(TaskTimeout, match="longer than its time-out"):
            executor.submit(endless).result()
        assert executor.submit(same, 1).result(timeout=120) == 1
    release.set()


def test_a_strategy_that_fails_is_the_futures_problem() -> None:
    class Broken:
        name = "broken"

        def decide(self, task: object, cluster: object) -> object:
            raise ZeroDivisionError("mine")

    honest = task(same, kind="liar")
    honest.on("other")(same)
    with HybridExecutor(1, devices=["other"], workers="threads", strategy=Broken, options=NO_STORE) as executor:
        with pytest.raises(SchedulerError, match=r"'broken' cannot decide about liar: ZeroDivisionError: mine"):
            executor.submit(honest, 1).result()
        assert executor.submit(same, 1).result() == 1


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"max_workers": 0}, "max_workers = 0"),
        ({"devices": ["cpu"]}, "named twice"),
        ({"workers": "fibres"}, "must be 'processes' or 'threads'"),
        ({"engine": "cloud"}, "must be 'local'"),
        ({"strategy": "no_such"}, "no strategy called"),
        ({"strategy": "earliest_finish@exact"}, "there is no level exact; ask for earliest_finish"),
    ],
)
def test_what_cannot_be_made_is_refused_with_a_sentence(wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises((PlanError, SchedulerError), match=sentence):
        HybridExecutor(**wrong)  # type: ignore[arg-type]
