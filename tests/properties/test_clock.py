"""The clock of the stepping form only moves forward, and finishes come before decisions of the same instant."""

from __future__ import annotations

from hypothesis import given

from hybrid_ml_scheduler.cluster import Simulation
from hybrid_ml_scheduler.core import ClusterView, Decision, Outcome, Task, TaskBatch
from hybrid_ml_scheduler.physics import Node
from tests.properties.samples import batches, nodes


class Witness:
    """Decides like greedy and writes down everything it is told, in order."""

    name = "witness"

    def __init__(self) -> None:
        self.events: list[tuple[float, int, int]] = []

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        self.events.append((cluster.now_s, 1, task.task_id))
        return Decision(gpu_fraction=task.compute_intensity)

    def observe(self, task: Task, outcome: Outcome) -> None:
        assert task.task_id == outcome.task_id
        self.events.append((outcome.finish_s, 0, task.task_id))


@given(batch=batches(), node=nodes())
def test_events_come_in_their_declared_order(batch: TaskBatch, node: Node) -> None:
    witness = Witness()
    simulation = Simulation(node, witness)
    outcomes = simulation.run((task, float(batch.duration_factor[row])) for row, task in enumerate(batch))
    moments = [(moment, rank) for moment, rank, _ in witness.events]
    assert moments == sorted(moments)
    decided = [(moment, task_id) for moment, rank, task_id in witness.events if rank == 1]
    assert decided == sorted(decided)
    finished = [task_id for _, rank, task_id in witness.events if rank == 0]
    assert sorted(finished) == sorted(outcome.task_id for outcome in outcomes if not outcome.failed)


@given(batch=batches(), node=nodes())
def test_the_clock_never_runs_backwards(batch: TaskBatch, node: Node) -> None:
    simulation, clock = Simulation(node, Witness()), [0.0]
    for row, task in enumerate(batch):
        simulation.advance(task.arrival_time)
        assert simulation.now_s <= task.arrival_time
        clock.append(simulation.now_s)
        simulation.offer(task, float(batch.duration_factor[row]))
    simulation.drain()
    clock.append(simulation.now_s)
    assert clock == sorted(clock)


@given(batch=batches(), node=nodes())
def test_an_outcome_is_observed_only_once_its_task_has_finished(batch: TaskBatch, node: Node) -> None:
    witness = Witness()
    Simulation(node, witness).run((task, 1.0) for task in batch)
    latest = 0.0
    for moment, rank, _ in witness.events:
        latest = max(latest, moment) if rank == 1 else latest
        assert rank == 1 or moment >= latest
