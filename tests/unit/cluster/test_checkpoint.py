"""What a checkpoint must hold, one thing at a time."""

from __future__ import annotations

import pickle

import pytest

from hybrid_ml_scheduler.cluster import Simulation
from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.core.errors import WorkloadError
from hybrid_ml_scheduler.physics import MemoryRule, Node
from hybrid_ml_scheduler.schedulers import create

SECOND = Task(task_id=0, size=1000.0, compute_intensity=0.5, memory_required=0.0, arrival_time=0.0)


def restored(simulation: Simulation) -> Simulation:
    """The same simulation after its process died."""
    again = Simulation(simulation.cluster.node, create(simulation.scheduler.name))
    again.restore(pickle.loads(pickle.dumps(simulation.capture())))
    return again


def test_the_clock() -> None:
    simulation = Simulation(Node(), create("cpu_only"))
    simulation.run([(SECOND._replace(arrival_time=5.0), 1.0)])
    again = restored(simulation)
    assert again.now_s == simulation.now_s == 5.0
    with pytest.raises(WorkloadError, match="before the clock"):
        again.offer(SECOND._replace(task_id=1, arrival_time=1.0))


def test_tasks_that_wait_for_their_moment() -> None:
    simulation = Simulation(Node(), create("cpu_only"))
    simulation.offer(SECOND._replace(arrival_time=3.0))
    assert [outcome.finish_s for outcome in restored(simulation).drain()] == [4.0]


def test_tasks_whose_fate_is_sealed() -> None:
    """One parent failed, the other still runs: the child must fail after the restart as well."""
    simulation = Simulation(Node(memory_rule=MemoryRule.FAIL), create("gpu_only"))
    simulation.offer(SECOND._replace(memory_required=9000.0))
    simulation.offer(SECOND._replace(task_id=1))
    simulation.offer(SECOND._replace(task_id=2, dependencies=(0, 1)))
    simulation.advance(0.1)
    assert [outcome.failed for outcome in restored(simulation).drain()] == [True]


def test_tasks_that_wait_for_parents_and_the_finishes_of_parents() -> None:
    simulation = Simulation(Node(), create("cpu_only"))
    simulation.offer(SECOND)
    simulation.offer(SECOND._replace(task_id=1, dependencies=(7,)))
    simulation.advance(0.5)
    again = restored(simulation)
    again.offer(SECOND._replace(task_id=7, arrival_time=0.5, dependencies=(0,)))
    assert [(outcome.task_id, outcome.ready_s) for outcome in again.drain()] == [(7, 1.0), (1, 2.0)]


def test_what_was_forgotten_and_what_still_waits() -> None:
    simulation = Simulation(Node(), create("cpu_only"), recall=1)
    simulation.offer(SECOND._replace(task_id=-1, dependencies=(9,)))
    for number in range(5):
        simulation.offer(SECOND._replace(task_id=number, arrival_time=2.0 * number))
    simulation.advance(20.0)
    again = Simulation(Node(), create("cpu_only"), recall=1)
    again.restore(pickle.loads(pickle.dumps(simulation.capture())))
    again.offer(SECOND._replace(task_id=9, arrival_time=20.0, dependencies=(0,)))
    again.offer(SECOND._replace(task_id=10, arrival_time=20.0, dependencies=(-1,)))
    ready = {outcome.task_id: outcome.ready_s for outcome in again.drain()}
    assert ready == {9: 20.0, -1: 21.0, 10: 22.0}


def test_the_recent_past_that_viewers_see() -> None:
    simulation = Simulation(Node(), create("cpu_only"))
    simulation.run([(SECOND, 1.0), (SECOND._replace(task_id=1, arrival_time=9.0), 1.0)])
    before = simulation.cluster.utilization(12.0, recent=True)
    assert before["cpu"] == pytest.approx(2 / 12)
    again = restored(simulation).cluster
    assert again.utilization(12.0, recent=True) == before
    assert again.utilization(12.0, recent=False) == simulation.cluster.utilization(12.0, recent=False)


def test_beliefs_about_parts_that_run_late() -> None:
    simulation = Simulation(Node(), create("cpu_only"))
    simulation.offer(SECOND, duration_factor=4.0)
    simulation.offer(SECOND._replace(task_id=1), duration_factor=0.5)
    simulation.advance(0.5)
    again = restored(simulation).cluster
    for moment, believed in ((0.5, 1.5), (2.0, 1.0), (4.25, 0.75), (4.5, 0.0)):
        assert again.view(moment).cpu_backlog_s == pytest.approx(believed)


def test_the_turn_of_round_robin_and_the_stream_of_random() -> None:
    for name in ("round_robin", "random"):
        whole = Simulation(Node(), create(name), seed=4)
        for number in range(6):
            whole.offer(SECOND._replace(task_id=number, arrival_time=float(number)))
        whole.advance(2.5)
        again = restored(whole)
        assert repr(again.drain()) == repr(whole.drain())
