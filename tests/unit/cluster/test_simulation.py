"""The stepping form, one small story at a time."""

from __future__ import annotations

import math

import pytest

from hybrid_ml_scheduler.cluster import Simulation
from hybrid_ml_scheduler.core import ClusterView, Decision, Outcome, Task
from hybrid_ml_scheduler.core.errors import SchedulerError, WorkloadError
from hybrid_ml_scheduler.physics import CoExecution, Gpu, MemoryRule, Node
from hybrid_ml_scheduler.schedulers import create

SECOND = Task(task_id=0, size=1000.0, compute_intensity=0.5, memory_required=0.0, arrival_time=0.0)
"""One second on the CPU, 0.4 seconds on a GPU."""


class Says:
    """A strategy that says what it was told to, and notes what it saw."""

    name = "says"

    def __init__(self, *decisions: Decision) -> None:
        self.left = list(decisions)
        self.seen: list[tuple[float, float, list[float]]] = []

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        self.seen.append((cluster.now_s, cluster.cpu_backlog_s, list(cluster.gpu_backlogs_s)))
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]


def tasks(*arrivals: float, **changes: float) -> list[tuple[Task, float]]:
    return [
        (SECOND._replace(task_id=number, arrival_time=arrival, **changes), 1.0)  # type: ignore[arg-type]
        for number, arrival in enumerate(arrivals)
    ]


def test_parts_queue_first_in_first_out() -> None:
    outcomes = Simulation(Node(), create("cpu_only")).run(tasks(0.0, 0.25, 5.0))
    assert [outcome.finish_s for outcome in outcomes] == [1.0, 2.0, 6.0]
    assert [outcome.wait_s for outcome in outcomes] == [0.0, 0.75, 0.0]
    assert [outcome.start_s for outcome in outcomes] == [0.0, 1.0, 5.0]


def test_a_split_runs_both_parts_at_once() -> None:
    outcome = Simulation(Node(), Says(Decision(gpu_fraction=0.5))).run(tasks(0.0))[0]
    assert (outcome.cpu_s, outcome.gpu_s, outcome.execution_s, outcome.finish_s) == (0.5, 0.2, 0.5, 0.5)


def test_in_series_the_gpu_part_waits_for_the_cpu_part() -> None:
    node = Node(co_execution=CoExecution.SERIAL)
    outcome = Simulation(node, Says(Decision(gpu_fraction=0.5))).run(tasks(0.0))[0]
    assert (outcome.cpu_start_s, outcome.gpu_start_s, outcome.finish_s) == (0.0, 0.5, 0.7)
    assert outcome.execution_s == 0.7


def test_in_series_a_gpu_keeps_its_promises_in_order() -> None:
    """A GPU that waits for a CPU part does not take a later task first."""
    node = Node(gpus=(Gpu(),), co_execution=CoExecution.SERIAL)
    strategy = Says(Decision(gpu_fraction=0.5, gpu=0), Decision(gpu_fraction=1.0, gpu=0))
    first, second = Simulation(node, strategy).run(tasks(0.0, 0.0))
    assert first.gpu_start_s == 0.5
    assert second.gpu_start_s == first.finish_s


def test_a_strategy_sees_the_clock_and_the_backlogs() -> None:
    strategy = Says(Decision(gpu_fraction=0.0), Decision(gpu_fraction=1.0, gpu=1), Decision(gpu_fraction=0.0))
    Simulation(Node.uniform(2), strategy).run(tasks(0.0, 0.25, 0.5))
    assert strategy.seen == [(0.0, 0.0, [0.0, 0.0]), (0.25, 0.75, [0.0, 0.0]), (0.5, 0.5, [0.0, pytest.approx(0.15)])]


def test_simultaneous_tasks_are_decided_by_id() -> None:
    strategy = Says(Decision(gpu_fraction=0.0))
    simulation = Simulation(Node(), strategy)
    for number in (5, 3, 4):
        simulation.offer(SECOND._replace(task_id=number))
    assert [outcome.task_id for outcome in simulation.drain()] == [3, 4, 5]


def test_luck_is_seen_only_when_a_part_has_ended() -> None:
    strategy = Says(Decision(gpu_fraction=0.0))
    arrivals = (0.0, 0.5, 1.5, 3.5)
    duration_factors = (3.0, 1.0, 1.0, 1.0)
    Simulation(Node(), strategy).run(
        (SECOND._replace(task_id=number, arrival_time=arrival), duration_factor)
        for number, (arrival, duration_factor) in enumerate(zip(arrivals, duration_factors, strict=True))
    )
    # Believed: half a second left; overdue, so any moment now, and one queued; after 3 s the truth is known.
    assert [cpu for _, cpu, _ in strategy.seen] == [0.0, 0.5, 1.0, 1.5]


def test_a_child_is_ready_when_its_last_parent_has_finished() -> None:
    simulation = Simulation(Node(), create("cpu_only"))
    outcomes = simulation.run(
        [(SECOND, 1.0), (SECOND._replace(task_id=1), 1.0), (SECOND._replace(task_id=2, dependencies=(0, 1)), 1.0)]
    )
    assert outcomes[2].ready_s == 2.0
    assert outcomes[2].latency_s == 3.0
    assert outcomes[2].wait_s == 0.0


def test_a_parent_may_arrive_after_its_child() -> None:
    child = SECOND._replace(task_id=0, dependencies=(1,))
    parent = SECOND._replace(task_id=1, arrival_time=4.0)
    outcomes = Simulation(Node(), create("cpu_only")).run([(child, 1.0), (parent, 1.0)])
    assert [(outcome.task_id, outcome.ready_s) for outcome in outcomes] == [(1, 4.0), (0, 5.0)]


def test_a_parent_that_was_announced_for_later_is_waited_for_however_many_come_before_it() -> None:
    simulation = Simulation(Node(), create("gpu_only"), recall=2)
    simulation.offer(SECOND._replace(task_id=0, arrival_time=50.0))
    for number in range(1, 10):
        simulation.advance(number)
        simulation.offer(SECOND._replace(task_id=number, arrival_time=float(number)))
    simulation.advance(20.0)
    simulation.offer(SECOND._replace(task_id=10, arrival_time=20.0, dependencies=(0,)))
    ready = {outcome.task_id: outcome.ready_s for outcome in simulation.drain()}
    assert ready[10] == pytest.approx(50.4)


def test_a_failed_task_takes_its_descendants_with_it_and_uses_nothing() -> None:
    big = SECOND._replace(memory_required=9000.0)
    child, grandchild = (SECOND._replace(task_id=n, dependencies=(n - 1,)) for n in (1, 2))
    strategy = Says(Decision(gpu_fraction=1.0))
    node = Node(memory_rule=MemoryRule.FAIL)
    outcomes = Simulation(node, strategy).run([(big, 1.0), (child, 1.0), (grandchild, 1.0)])
    assert [outcome.failed for outcome in outcomes] == [True, True, True]
    assert [outcome.out_of_memory for outcome in outcomes] == [True, False, False]
    assert len(strategy.seen) == 1
    assert all(math.isnan(outcome.finish_s) and outcome.energy_j == 0.0 for outcome in outcomes)


@pytest.mark.parametrize(
    ("decision", "sentence"),
    [
        (Decision(gpu_fraction=1.5), "says: task 0: gpu_fraction = 1.5 is outside"),
        (Decision(gpu_fraction=-0.1), "says: task 0: gpu_fraction = -0.1 is outside"),
        (Decision(gpu_fraction=math.nan), "says: task 0: gpu_fraction = nan is outside"),
        (Decision(gpu_fraction=1.0, gpu=4), "says: task 0: there is no GPU 4"),
        (Decision(gpu_fraction=1.0, gpu=-1), "says: task 0: there is no GPU -1"),
    ],
)
def test_a_decision_outside_the_contract_is_refused(decision: Decision, sentence: str) -> None:
    with pytest.raises(SchedulerError, match=f"^{sentence}"):
        Simulation(Node(), Says(decision)).run(tasks(0.0))


def test_a_task_from_the_past_is_refused() -> None:
    simulation = Simulation(Node(), create("cpu_only"))
    simulation.run(tasks(5.0))
    with pytest.raises(WorkloadError, match="Task 9 arrives at 1 s, before the clock"):
        simulation.offer(SECOND._replace(task_id=9, arrival_time=1.0))


def test_a_parent_that_never_comes_is_named_at_the_end() -> None:
    simulation = Simulation(Node(), create("cpu_only"))
    with pytest.raises(WorkloadError, match="Task 1 waits for a parent that never arrived"):
        simulation.run([(SECOND, 1.0), (SECOND._replace(task_id=1, dependencies=(77,)), 1.0)])


class Notes:
    """Notes the outcomes it observes."""

    name = "notes"

    def __init__(self) -> None:
        self.observed: list[Outcome] = []

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        return Decision(gpu_fraction=0.0)

    def observe(self, task: Task, outcome: Outcome) -> None:
        self.observed.append(outcome)


def test_a_learner_sees_an_outcome_when_the_task_finishes_and_not_before() -> None:
    strategy = Notes()
    simulation = Simulation(Node(), strategy)
    simulation.offer(SECOND)
    simulation.advance(0.5)
    assert strategy.observed == []
    simulation.advance(1.0)
    assert strategy.observed == []
    simulation.advance(1.0000001)
    assert [outcome.finish_s for outcome in strategy.observed] == [1.0]


class TestBelief:
    """What a strategy believes of a queue whose parts take other times than estimated."""

    @staticmethod
    def backlogs(duration_factors: tuple[float, ...], *arrivals: float) -> list[float]:
        strategy = Says(Decision(gpu_fraction=0.0))
        stream = [
            (task, duration_factor)
            for (task, _), duration_factor in zip(tasks(*arrivals), duration_factors, strict=True)
        ]
        Simulation(Node.uniform(1), strategy).run(stream)
        return [cpu for _, cpu, _ in strategy.seen]

    def test_a_late_part_delays_the_queue_by_as_much_as_it_is_late_so_far(self) -> None:
        seen = self.backlogs((3.0, 1.0, 1.0, 1.0), 0.0, 0.0, 1.5, 2.5)
        assert seen == pytest.approx([0.0, 1.0, 1.0, 2.0])

    def test_an_early_part_brings_the_queue_forward(self) -> None:
        seen = self.backlogs((0.25, 1.0, 1.0), 0.0, 0.0, 0.5)
        assert seen == pytest.approx([0.0, 1.0, 0.75])

    def test_an_idle_device_has_no_memory_of_late_parts(self) -> None:
        seen = self.backlogs((3.0, 1.0, 1.0), 0.0, 10.0, 10.5)
        assert seen == pytest.approx([0.0, 0.0, 0.5])

    def test_luck_that_comes_late_finds_the_queue_as_it_was(self) -> None:
        """Up to the first surprise everything went as promised, also where the device stood idle between."""
        seen = self.backlogs((1.0, 1.0, 1.0, 2.0, 1.0), 0.0, 5.0, 5.25, 5.5, 7.5)
        assert seen == pytest.approx([0.0, 0.0, 0.75, 1.5, 0.5])


class TestRecall:
    """A streaming run forgets finished tasks; what it forgot must never be mistaken for what has not yet run."""

    def test_a_forgotten_parent_has_finished_long_ago(self) -> None:
        simulation = Simulation(Node(), create("gpu_only"), recall=2)
        stream = tasks(*(float(n) for n in range(10)))
        simulation.run(stream)
        simulation.offer(SECOND._replace(task_id=10, arrival_time=30.0, dependencies=(0,)))
        assert [outcome.ready_s for outcome in simulation.drain()] == [30.0]

    def test_a_parent_that_failed_long_ago_still_fails_its_children(self) -> None:
        node = Node(gpus=(Gpu(memory_mb=100.0),), memory_rule=MemoryRule.FAIL)
        simulation = Simulation(node, create("gpu_only"), recall=2)
        simulation.offer(SECOND._replace(memory_required=200.0))
        for number in range(1, 10):
            simulation.offer(SECOND._replace(task_id=number, arrival_time=float(number)))
        simulation.advance(20.0)
        again = Simulation(node, create("gpu_only"), recall=2)
        again.restore(simulation.capture())
        for run in (simulation, again):
            run.offer(SECOND._replace(task_id=10, arrival_time=30.0, dependencies=(0,)))
            run.offer(SECOND._replace(task_id=11, arrival_time=30.0, dependencies=(1,)))
            assert [outcome.failed for outcome in run.drain()] == [True, False]

    def test_a_parent_that_still_waits_is_not_taken_for_finished(self) -> None:
        """Task 2 waits behind a chain of long tasks while many with higher ids come, finish and are forgotten."""
        simulation = Simulation(Node(), create("cpu_only"), recall=2)
        for number in range(3):
            parents = (number - 1,) if number else ()
            simulation.offer(SECOND._replace(task_id=number, cpu_time=100.0, dependencies=parents))
        for number in range(3, 20):
            simulation.offer(SECOND._replace(task_id=number, cpu_time=0.01, arrival_time=1.0))
        for number in range(20, 40):
            simulation.offer(SECOND._replace(task_id=number, cpu_time=0.01, arrival_time=150.0))
        placed = simulation.advance(160.0)
        assert 2 not in {outcome.task_id for outcome in placed}
        simulation.offer(SECOND._replace(task_id=40, arrival_time=160.0, dependencies=(2,)))
        ready = {outcome.task_id: (outcome.ready_s, outcome.finish_s) for outcome in simulation.drain()}
        assert ready[40][0] == ready[2][1] > 200.0


class TestUtilization:
    """Busy shares, over the whole run and over the last minute."""

    def test_half_busy_is_half(self) -> None:
        simulation = Simulation(Node.uniform(1), create("cpu_only"))
        simulation.run(tasks(0.0))
        assert simulation.cluster.utilization(2.0, recent=False) == {"cpu": 0.5, "gpu_0": 0.0}

    def test_only_the_past_counts(self) -> None:
        simulation = Simulation(Node.uniform(1), create("cpu_only"))
        simulation.offer(SECOND._replace(size=10_000.0))
        simulation.advance(1.0)
        assert simulation.cluster.utilization(4.0, recent=False)["cpu"] == pytest.approx(1.0)
        assert simulation.cluster.utilization(0.0, recent=False)["cpu"] == 0.0

    def test_the_last_minute_forgets_what_lies_before(self) -> None:
        simulation = Simulation(Node.uniform(1), create("cpu_only"))
        simulation.run(tasks(0.0, 90.0))
        cluster = simulation.cluster
        assert cluster.utilization(100.0, recent=True)["cpu"] == pytest.approx(1 / 60)
        assert cluster.utilization(100.0, recent=False)["cpu"] == pytest.approx(2 / 100)

    def test_queue_lengths_count_waiting_and_running_parts(self) -> None:
        simulation = Simulation(Node.uniform(1), create("cpu_only"))
        for task, _ in tasks(0.0, 0.0, 0.0):
            simulation.offer(task)
        simulation.advance(0.5)
        assert simulation.cluster.queue_lengths(0.5) == {"cpu": 3, "gpu_0": 0}
        assert simulation.cluster.queue_lengths(1.5) == {"cpu": 2, "gpu_0": 0}
