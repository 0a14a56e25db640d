"""A run that is interrupted and continued is the run that never stopped."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hybrid_ml_scheduler.cluster import RunColumns, Simulation, run_batch
from hybrid_ml_scheduler.core import (
    ClusterView,
    Decision,
    HasRule,
    Outcome,
    Prepares,
    RaceContext,
    Scheduler,
    Task,
    TaskBatch,
)
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from tests.properties.forms import kernel_columns, scheduler_called, stepping_outcomes
from tests.properties.samples import batches, nodes
from tests.reference import STRATEGIES

names = st.sampled_from(STRATEGIES)
seeds = st.integers(0, 9)


def interrupted(batch: TaskBatch, node: Node, name: str, seed: int, stop: int) -> list[Outcome]:
    """Run, but before the task at `stop` put everything into bytes and go on with new objects."""
    simulation = Simulation(node, scheduler_called(name), seed=seed)
    outcomes: list[Outcome] = []
    for row, task in enumerate(batch):
        if row == stop:
            state = pickle.dumps(simulation.capture())
            simulation = Simulation(node, scheduler_called(name), seed=seed + 1)
            simulation.restore(pickle.loads(state))
        outcomes += simulation.advance(task.arrival_time)
        simulation.offer(task, float(batch.duration_factor[row]))
    return outcomes + simulation.drain()


@given(data=st.data(), node=nodes(slots=True), name=names, seed=seeds, stop=st.integers(0, 11))
def test_restored_equals_uninterrupted(data: st.DataObject, node: Node, name: str, seed: int, stop: int) -> None:
    batch = data.draw(batches(most_gpus=node.num_gpus))
    expected = stepping_outcomes(batch, node, name, seed)
    assert repr(interrupted(batch, node, name, seed, stop % len(batch))) == repr(expected)


@given(batch=batches(graphs=True), node=nodes(), name=names, moment=st.floats(0.0, 30.0))
def test_restored_at_any_moment_of_the_clock_equals_uninterrupted(
    batch: TaskBatch, node: Node, name: str, moment: float
) -> None:
    whole = Simulation(node, scheduler_called(name), seed=3)
    for row, task in enumerate(batch):
        whole.offer(task, float(batch.duration_factor[row]))
    before = whole.advance(moment)
    state = pickle.dumps(whole.capture())
    after = whole.drain()
    continued = Simulation(node, scheduler_called(name))
    continued.restore(pickle.loads(state))
    assert repr(continued.drain()) == repr(after)
    assert len(before) + len(after) == len(batch)


class Spectator:
    """Decides like greedy and remembers everything it was shown, the backlogs above all."""

    name = "spectator"

    def __init__(self) -> None:
        self.seen: list[tuple[float, float, list[float]]] = []

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        self.seen.append((cluster.now_s, cluster.cpu_backlog_s, list(cluster.gpu_backlogs_s)))
        return Decision(gpu_fraction=task.compute_intensity)

    def capture(self) -> Mapping[str, Any]:
        return {"seen": list(self.seen)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.seen = list(state["seen"])


@given(batch=batches(), node=nodes(), stop=st.integers(0, 11))
def test_a_restored_cluster_shows_what_the_uninterrupted_one_shows(batch: TaskBatch, node: Node, stop: int) -> None:
    spectators = []
    shown = []
    for halt in (-1, stop % len(batch)):
        simulation = Simulation(node, Spectator())
        for row, task in enumerate(batch):
            if row == halt:
                state = pickle.dumps(simulation.capture())
                simulation = Simulation(node, Spectator())
                simulation.restore(pickle.loads(state))
            simulation.advance(task.arrival_time)
            simulation.offer(task, float(batch.duration_factor[row]))
        moment = float(batch.arrival_time[-1]) + 0.01
        simulation.advance(moment)
        cluster = simulation.cluster
        shown.append((cluster.queue_lengths(moment), cluster.utilization(moment, recent=True)))
        simulation.drain()
        spectators.append(simulation.scheduler)
    assert spectators[0].seen == spectators[1].seen  # type: ignore[attr-defined]
    assert shown[0] == shown[1]


@given(batch=batches(), node=nodes(), name=names, moment=st.floats(0.0, 30.0))
def test_a_captured_state_is_not_changed_by_going_on(batch: TaskBatch, node: Node, name: str, moment: float) -> None:
    simulation = Simulation(node, scheduler_called(name), seed=3)
    for row, task in enumerate(batch):
        simulation.offer(task, float(batch.duration_factor[row]))
    simulation.advance(moment)
    state = simulation.capture()
    kept = repr(state)
    simulation.drain()
    assert repr(state) == kept


def prepared(name: str, node: Node, seed: int) -> Scheduler:
    scheduler = scheduler_called(name)
    if isinstance(scheduler, Prepares):
        scheduler.prepare(RaceContext(estimator=PhysicsEstimator(node), seed=seed))
    return scheduler


@given(
    batch=batches(graphs=False, noisy=False),
    node=nodes(),
    name=names,
    seed=seeds,
    cuts=st.sets(st.integers(0, 12), max_size=4),
)
def test_chunk_by_chunk_equals_one_run(batch: TaskBatch, node: Node, name: str, seed: int, cuts: set[int]) -> None:
    scheduler, free = prepared(name, node, seed), np.zeros(node.num_gpus + 1)
    edges = sorted({0, len(batch), *(cut for cut in cuts if cut < len(batch))})
    chunks: list[RunColumns] = []
    for begin, end in itertools.pairwise(edges):
        part = batch.take(slice(begin, end))
        chunks.append(run_batch(part, node, cast(HasRule, scheduler).rule(part), free_s=free))
    whole = kernel_columns(batch, node, name, seed)
    for column in ("gpu_fraction", "gpu", "cpu_start_s", "gpu_start_s", "finish_s", "cpu_s", "gpu_s", "status"):
        joined = np.concatenate([getattr(chunk, column) for chunk in chunks])
        np.testing.assert_array_equal(joined, getattr(whole, column))
