"""Strategies that hold drive real tasks: what they keep back waits in the executor, and no future is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import wait
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.core import ClusterView, Decision, Task
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.core.holding import Commitment, HeldTasks, HeldView
from hybrid_ml_scheduler.execution import HybridExecutor, task
from hybrid_ml_scheduler.execution.kind_names import kind_of
from tests.unit.execution.conftest import NO_STORE
from tests.unit.execution.samples import cube, same, slow, square, until_there


class Gate:
    """Tasks that note the order in which they begin; -1 and -2 keep a worker each busy until they are let go."""

    def __init__(self) -> None:
        self.order: list[int] = []
        self.begun = threading.Semaphore(0)
        self.doors = {-1: threading.Event(), -2: threading.Event()}

        def begin(number: int) -> int:
            self.order.append(number)
            self.begun.release()
            if number in self.doors:
                self.doors[number].wait()
            return number

        def size(number: int) -> float:
            return float(max(number, 1))

        self.task = task(kind="gate", size=size)(begin)
        self.task.on("other")(begin)

    def close(self, executor: HybridExecutor) -> None:
        """Keep both workers busy."""
        for number in (-1, -2):
            executor.submit(self.task, number)
            self.begun.acquire()

    def open(self) -> None:
        """Let both workers go on."""
        for door in self.doors.values():
            door.set()


class LargestFirst:
    """Holds everything; an idle device gets the largest task."""

    name = "largest_first"

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        return Decision(gpu_fraction=0.0)

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterator[Commitment]:
        waiting = sorted(held, key=lambda one: one.size)
        for device, idle in enumerate(cluster.idle):
            if idle and waiting:
                yield Commitment(waiting.pop().task_id, Decision(gpu_fraction=min(device, 1), gpu=max(device - 1, 0)))


class OneAtATime:
    """Says "not yet" while anything runs."""

    name = "one_at_a_time"

    def decide(self, task: Task, cluster: ClusterView) -> Decision | None:
        busy = cluster.cpu_backlog_s > 0.0 or max(cluster.gpu_backlogs_s) > 0.0
        return None if busy else Decision(gpu_fraction=float(task.task_id % 2), gpu=0)


class Never(OneAtATime):
    """Always says "not yet"."""

    def decide(self, task: Task, cluster: ClusterView) -> Decision | None:
        return None


class Breaks(LargestFirst):
    """Raises once it holds two tasks."""

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterator[Commitment]:
        if len(held) > 1:
            raise ZeroDivisionError("mine")
        return super().dispatch(held, cluster)


class ThreeForTheCpu(LargestFirst):
    """Gives an idle CPU the three oldest tasks, and nobody else any."""

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterator[Commitment]:
        if cluster.idle[0]:
            for one in list(held)[:3]:
                yield Commitment(one.task_id, Decision(gpu_fraction=0.0))


def opened(strategy: object) -> HybridExecutor:
    return HybridExecutor(1, devices=["other"], workers="threads", strategy=strategy, options=NO_STORE)  # type: ignore[arg-type]


def test_held_tasks_begin_in_the_order_of_the_strategy_not_of_submission() -> None:
    gate = Gate()
    with opened(LargestFirst()) as executor:
        gate.close(executor)
        futures = [executor.submit(gate.task, number) for number in (3, 9, 1, 7, 5)]
        assert executor.explain(futures[0])["reason"] == "largest_first holds it: it has not been placed yet"
        gate.doors[-1].set()  # one worker alone, so that there is one order
        assert [future.result() for future in futures] == [3, 9, 1, 7, 5]
        gate.open()
    assert gate.order[2:] == [9, 7, 5, 3, 1]


def test_shortest_first_lets_short_tasks_overtake_once_their_times_are_known() -> None:
    gate = Gate()
    with opened("sjf") as executor:
        for number, seconds in ((1, 0.01), (8, 0.5), (64, 20.0)):
            for device in ("cpu", "other"):
                for _ in range(5):
                    executor.durations.observe("gate", device, float(number), seconds, False)
        gate.close(executor)
        long, short = executor.submit(gate.task, 64), executor.submit(gate.task, 1)
        middle = executor.submit(gate.task, 8)
        gate.doors[-1].set()
        wait([long, short, middle])
        gate.open()
    assert gate.order[2:] == [1, 8, 64]


def test_a_held_task_can_be_cancelled_and_the_others_go_on() -> None:
    gate = Gate()
    with opened(LargestFirst()) as executor:
        gate.close(executor)
        first, second = executor.submit(gate.task, 9), executor.submit(gate.task, 3)
        assert first.cancel()
        gate.open()
        assert second.result() == 3
    assert 9 not in gate.order
    assert executor.statistics()["unfinished"] == 0


def test_what_is_held_goes_on_after_everything_before_it_was_cancelled(tmp_path: Path) -> None:
    """The engine ends cancelled tasks without a word from a worker: nobody else would wake it."""
    gates = [tmp_path / name for name in ("first", "second")]
    with HybridExecutor(1, devices=["vector"], strategy=ThreeForTheCpu(), options=NO_STORE) as executor:
        for _ in range(5):  # believed to be too long to be sent ahead, where nothing can be cancelled
            executor.durations.observe(kind_of(slow), "cpu", 1.0, 20.0, False)
        running = [executor.submit(until_there, str(gate)) for gate in gates]
        cancelled, held = [executor.submit(slow, 20.0) for _ in range(2)], executor.submit(same, 7)
        gates[0].touch()
        while not running[1].running():
            time.sleep(0.001)
        could_be = [future.cancel() for future in cancelled]
        gates[1].touch()
        assert could_be == [True, True]
        assert held.result(timeout=60.0) == 7


def test_shutting_down_with_cancellation_cancels_what_is_held() -> None:
    gate = Gate()
    executor = opened(LargestFirst())
    gate.close(executor)
    held = [executor.submit(gate.task, number) for number in range(1, 20)]
    threading.Timer(0.0, gate.open).start()
    executor.shutdown(cancel_futures=True)
    assert all(future.cancelled() or future.result() > 0 for future in held)
    assert executor.statistics()["unfinished"] == 0


@pytest.mark.parametrize("strategy", [OneAtATime, Never, "rl_hold", "c_mu", "hetero_prio", "heft", "work_stealing"])
def test_no_future_is_lost_whatever_is_held(strategy: object) -> None:
    values = np.ones(50)
    with HybridExecutor(2, devices=["vector"], workers="threads", strategy=strategy, options=NO_STORE) as executor:  # type: ignore[arg-type]
        futures = [executor.submit(square if number % 2 else cube, values) for number in range(30)]
        plain = executor.submit(same, 1)
        assert all(future.result().sum() == 50.0 for future in futures)
        assert plain.result() == 1


def test_not_yet_keeps_a_task_back_until_the_one_before_it_has_ended() -> None:
    running, most = 0, []

    def alone(_: int) -> None:
        nonlocal running
        running += 1
        most.append(running)
        running -= 1

    both = task(kind="alone")(alone)
    both.on("other")(alone)
    with opened(OneAtATime()) as executor:
        wait([executor.submit(both, number) for number in range(40)])
        places = {record.place for record in executor.records()}
    assert most == [1] * 40
    assert places == {"cpu", "other_0"}


def test_worker_processes_are_fed_by_a_strategy_that_holds() -> None:
    values = np.arange(500.0)
    with HybridExecutor(1, devices=["vector"], strategy="sjf", options=NO_STORE) as executor:
        for future in [executor.submit(square, values) for _ in range(12)]:
            np.testing.assert_array_equal(future.result(), values * values)


def test_an_error_of_the_strategy_reaches_every_held_future() -> None:
    gate = Gate()
    with opened(Breaks()) as executor:
        gate.close(executor)
        held = [executor.submit(gate.task, number) for number in (1, 2)]
        gate.open()
        for future in held:
            with pytest.raises(SchedulerError, match="ZeroDivisionError: mine"):
                future.result()
