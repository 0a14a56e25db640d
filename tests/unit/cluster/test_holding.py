"""Strategies that hold: when they are woken, what they may commit, and what happens when they hold too long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

import pytest

from hybrid_ml_scheduler.cluster import Simulation
from hybrid_ml_scheduler.cluster.held_tasks import HeldTask, ReadyTasks
from hybrid_ml_scheduler.core import ClusterView, Decision, Outcome, Scheduler, Task
from hybrid_ml_scheduler.core.errors import SchedulerError
from hybrid_ml_scheduler.core.holding import Commitment, HeldTasks, HeldView, MayHold
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.schedulers.holding.sjf import ShortestFirst

ONE_GPU = Node.uniform(1)


def task(task_id: int, arrival: float, seconds: float = 1.0, parents: tuple[int, ...] = ()) -> Task:
    """A task that takes so many seconds on the CPU and on the GPU alike."""
    return Task(task_id, 1000.0, 0.5, 0.0, arrival, parents, cpu_time=seconds, gpu_time=seconds)


def simulation_of(strategy: MayHold, most_open: int | None = None) -> Simulation:
    return Simulation(ONE_GPU, cast(Scheduler, strategy), most_open=most_open)


class OneAtATime:
    """Keeps everything off the CPU and says "not yet" while the GPU is busy."""

    name = "one_at_a_time"

    def decide(self, task: Task, cluster: ClusterView) -> Decision | None:
        return None if cluster.gpu_backlogs_s[0] > 0.0 else Decision(gpu_fraction=1.0, gpu=0)


class Notebook:
    """Writes down when it was woken and what was fresh, and commits the first held task to an idle GPU."""

    name = "notebook"

    def __init__(self) -> None:
        self.wakes: list[tuple[float, list[int], list[int]]] = []

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        return Decision(gpu_fraction=0.0)

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterator[Commitment]:
        self.wakes.append((cluster.now_s, [t.task_id for t in held.fresh], [t.task_id for t in held.arrived]))
        if cluster.idle[1]:
            yield Commitment(next(iter(held)).task_id, Decision(gpu_fraction=1.0, gpu=0))


class Never:
    name = "never"

    def decide(self, task: Task, cluster: ClusterView) -> Decision | None:
        return None


class Stranger(Notebook):
    name = "stranger"

    def dispatch(self, held: HeldTasks, cluster: HeldView) -> Iterator[Commitment]:
        yield Commitment(99, Decision(gpu_fraction=1.0))


def run(simulation: Simulation, tasks: Iterable[Task]) -> dict[int, tuple[float, float]]:
    return {o.task_id: (o.ready_s, o.finish_s) for o in simulation.run((one, 1.0) for one in tasks)}


def test_a_task_that_is_not_decided_yet_is_asked_about_again_when_a_device_comes_free() -> None:
    found = run(simulation_of(OneAtATime()), [task(0, 0.0, 2.0), task(1, 0.5), task(2, 0.6)])
    assert found == {0: (0.0, 2.0), 1: (0.5, 3.0), 2: (0.6, 4.0)}


def test_a_wake_comes_with_every_ready_task_and_every_device_that_comes_free_while_tasks_are_held() -> None:
    notebook = Notebook()
    run(simulation_of(notebook), [task(0, 0.0), task(1, 0.0), task(2, 5.0)])
    assert notebook.wakes == [(0.0, [0, 1], [0, 1]), (1.0, [], []), (5.0, [2], [2])]


def test_a_strategy_sees_the_part_of_the_graph_that_has_arrived() -> None:
    notebook = Notebook()
    run(simulation_of(notebook), [task(0, 0.0), task(1, 0.0, parents=(0,))])
    assert notebook.wakes == [(0.0, [0], [0, 1]), (1.0, [1], [])]


def test_holding_for_ever_is_refused_in_a_sentence() -> None:
    with pytest.raises(SchedulerError, match=r"never: 1 task is held while every device is idle"):
        run(simulation_of(Never()), [task(0, 0.0)])


def test_committing_a_task_that_is_not_held_is_refused_in_a_sentence() -> None:
    with pytest.raises(SchedulerError, match=r"stranger: dispatch committed task 99, which it does not hold\."):
        run(simulation_of(Stranger()), [task(0, 0.0)])


@pytest.mark.parametrize("strategy", [Never(), ShortestFirst()])
def test_the_oldest_task_is_committed_when_too_many_came_after_it(strategy: Never | ShortestFirst) -> None:
    simulation = simulation_of(strategy, most_open=2)
    outcomes = []
    for one in (task(0, 0.0, 9.0), task(1, 0.1, 9.0), task(2, 0.2, 9.0), task(3, 0.3, 8.0), task(4, 0.4, 1.0)):
        outcomes += simulation.advance(one.arrival_time)
        simulation.offer(one)
    outcomes += simulation.advance(0.5)
    assert {0, 1, 2} <= {outcome.task_id for outcome in outcomes}


class Watcher(OneAtATime):
    """The same, and told of every task that finishes."""

    def observe(self, task: Task, outcome: Outcome) -> None:
        self.seen = outcome.task_id


def test_a_strategy_that_observes_is_woken_when_a_device_comes_free_all_the_same() -> None:
    """The task that frees the device is observed first, at that very instant."""
    tasks = [task(number, 0.1 * number) for number in range(4)]
    assert run(simulation_of(Watcher()), tasks) == run(simulation_of(OneAtATime()), tasks)


def test_the_oldest_held_task_is_known_whatever_was_taken_before_and_after_a_checkpoint() -> None:
    ready = ReadyTasks()
    for identity in (5, 3, 8, 1):
        ready.hold(HeldTask(task(identity, 0.0), 1.0, 0.0, None))
    ready.woken()
    seen = []
    for taken in (3, 1, 5):
        ready.take(taken)
        again = ReadyTasks()
        again.restore(ready.capture())
        oldest, restored = ready.oldest, again.oldest
        assert oldest is not None
        assert restored == oldest
        seen.append(oldest.task.task_id)
    assert seen == [1, 5, 8]
    ready.take(8)
    assert ready.oldest is None
