"""The forest strategy: sensible at once, retrained on time, the same after a restore."""

from __future__ import annotations

import pickle
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import BacklogView, Simulation, certificate
from hybrid_ml_scheduler.core import RaceContext, Task, TaskBatch, train_if_due
from hybrid_ml_scheduler.core.errors import ModelError, PlanError
from hybrid_ml_scheduler.physics import CoExecution, Gpu, MemoryRule, Node, PhysicsEstimator
from hybrid_ml_scheduler.schedulers import check_scheduler
from hybrid_ml_scheduler.schedulers.forest.hybrid_ml_share import HybridMlShare
from hybrid_ml_scheduler.schedulers.forest.labels import best_fractions
from hybrid_ml_scheduler.workload import generate, preset


def _tasks(count: int, seed: int = 3) -> TaskBatch:
    return generate(preset("mixed").with_values({"num_tasks": count}), seed)


def _execution(strategy: HybridMlShare, tasks: TaskBatch, node: Node, *, trains: bool = True) -> np.ndarray:
    outcomes = Simulation(node, strategy, seed=1, trains=trains).run((task, 1.0) for task in tasks)
    return np.array([outcome.execution_s for outcome in outcomes])


def test_it_keeps_the_contract_of_a_strategy() -> None:
    check_scheduler(HybridMlShare)


def test_it_is_near_the_optimum_from_the_first_task_on() -> None:
    tasks, node = _tasks(50), Node()
    assert _execution(HybridMlShare(), tasks, node).mean() <= 1.05 * certificate(tasks, node).mean_time_s


def test_it_is_within_two_percent_of_the_optimum_after_training() -> None:
    tasks, node = _tasks(1_500), Node()
    times = _execution(HybridMlShare(retrain_every=250), tasks, node)[1_000:]
    assert times.mean() <= 1.02 * certificate(tasks.take(slice(1_000, 1_500)), node).mean_time_s


def test_it_is_retrained_every_interval_on_the_window_only() -> None:
    strategy = HybridMlShare(retrain_every=20, window=40)
    _execution(strategy, _tasks(101), Node())
    assert strategy.last_training["generation"] == 5
    assert strategy.model.samples == 40


def test_a_frozen_forest_never_trains() -> None:
    strategy = HybridMlShare(online=False, retrain_every=5)
    _execution(strategy, _tasks(30), Node())
    assert strategy.learning == "frozen"
    assert strategy.last_training["generation"] == 0


def test_in_the_background_it_waits_for_its_driver() -> None:
    strategy = HybridMlShare(retrain_every=10)
    _execution(strategy, _tasks(25), Node(), trains=False)
    assert strategy.training_due()
    before, data = strategy.model, strategy.training_data()
    model = strategy.fit(data)
    assert strategy.model is before
    strategy.activate(model, data)
    assert strategy.model is model
    assert not strategy.training_due()
    assert strategy.last_training["error"] == data.recent_error


def test_it_keeps_no_more_than_a_window_when_nobody_trains_it() -> None:
    strategy = HybridMlShare(window=20)
    _execution(strategy, _tasks(95), Node(), trains=False)
    assert len(strategy.training_data().fractions) == 20


def test_training_in_the_background_gives_the_same_forest_as_in_the_race() -> None:
    inside, outside = HybridMlShare(retrain_every=30), HybridMlShare(retrain_every=30)
    _execution(inside, _tasks(31), Node())
    _execution(outside, _tasks(30), Node(), trains=False)
    assert np.array_equal(inside.model.forest.nodes, outside.fit(outside.training_data()).forest.nodes)


def test_a_restored_strategy_equals_an_uninterrupted_one() -> None:
    tasks, node = _tasks(120), Node()
    whole = Simulation(node, HybridMlShare(retrain_every=25), seed=1)
    outcomes = whole.run((task, 1.0) for task in tasks)
    first = Simulation(node, HybridMlShare(retrain_every=25), seed=1)
    head = first.run((task, 1.0) for task in tasks.take(slice(0, 60)))
    second = Simulation(node, HybridMlShare(retrain_every=25), seed=1)
    second.restore(pickle.loads(pickle.dumps(first.capture())))
    shares = [outcome.gpu_fraction for outcome in head]
    for task in tasks.take(slice(60, 120)):
        train_if_due(second.scheduler)
        shares.append(second.scheduler.decide(task, second.cluster.view(task.arrival_time)).gpu_fraction)
    assert shares == [outcome.gpu_fraction for outcome in outcomes]


def test_the_label_is_the_best_real_share() -> None:
    estimator = PhysicsEstimator(Node())
    task = Task(task_id=1, size=1000.0, compute_intensity=0.8, memory_required=200.0, arrival_time=0.0)
    label = float(best_fractions(TaskBatch.from_tasks([task]), estimator.node)[0])
    best = estimator.execution_s(estimator.parts(task, label, 0))
    grid = [estimator.execution_s(estimator.parts(task, f, 0)) for f in np.linspace(0, 1, 1001)]
    assert best <= min(grid) + 1e-12


def test_a_task_too_large_for_the_gpu_gets_the_best_share_that_fits() -> None:
    task = Task(task_id=1, size=5000.0, compute_intensity=1.0, memory_required=16_000.0, arrival_time=0.0)
    assert 0.0 < best_fractions(TaskBatch.from_tasks([task]), Node())[0] <= 0.5


@pytest.mark.parametrize("memory_rule", list(MemoryRule))
@pytest.mark.parametrize("co_execution", list(CoExecution))
def test_the_label_does_not_depend_on_the_order_of_the_gpus(memory_rule: MemoryRule, co_execution: CoExecution) -> None:
    gpus = (Gpu(memory_mb=4_000.0), Gpu(memory_mb=8_000.0), Gpu(speed=0.5, memory_mb=16_000.0))
    memories = [100.0, 3_000.0, 6_000.0, 12_000.0, 20_000.0]
    batch = TaskBatch.from_columns(
        size=[1_000.0] * 5, compute_intensity=[0.7] * 5, memory_required=memories, arrival_time=[0.0] * 5
    )
    labels = [
        best_fractions(batch, Node(gpus=order, memory_rule=memory_rule, co_execution=co_execution)).tolist()
        for order in permutations(gpus)
    ]
    assert all(found == labels[0] for found in labels[1:])


def test_among_different_gpus_time_and_energy_decide() -> None:
    node = Node(gpus=(Gpu(speed=0.5), Gpu(speed=2.0), Gpu(speed=2.0, power_w=500.0)))
    estimator = PhysicsEstimator(node)
    strategy = HybridMlShare()
    strategy.prepare(RaceContext(estimator=estimator, seed=1))
    task = Task(task_id=1, size=2000.0, compute_intensity=0.9, memory_required=50.0, arrival_time=0.0)
    assert strategy.decide(task, BacklogView(estimator)).gpu == 1


def test_it_says_why() -> None:
    estimator = PhysicsEstimator(Node())
    strategy = HybridMlShare()
    strategy.prepare(RaceContext(estimator=estimator, seed=1))
    task = Task(task_id=1, size=900.0, compute_intensity=0.6, memory_required=80.0, arrival_time=0.0)
    reasons = strategy.explain(task, BacklogView(estimator))
    assert sum(reasons["contributions"].values()) == pytest.approx(reasons["gpu_fraction"])
    assert reasons["gpu_fraction"] == strategy.decide(task, BacklogView(estimator)).gpu_fraction


def test_a_saved_forest_decides_the_same_and_a_bad_file_replaces_nothing(tmp_path: Path) -> None:
    strategy = HybridMlShare()
    strategy.prepare(RaceContext(estimator=PhysicsEstimator(Node()), seed=1))
    strategy.save_model(tmp_path / "forest.joblib")
    again = HybridMlShare(model=str(tmp_path / "forest.joblib"), online=False)
    assert np.array_equal(again.model.forest.value, strategy.model.forest.value)
    (tmp_path / "bad.joblib").write_bytes(b"no model")
    before = strategy.model
    with pytest.raises(ModelError):
        strategy.load_model(tmp_path / "bad.joblib")
    assert strategy.model is before


def test_wrong_options_are_refused() -> None:
    for options in ({"retrain_every": 0}, {"kind": "oak"}, {"energy_weight": 2.0}, {"window": 1}):
        with pytest.raises(PlanError, match="hybrid_ml"):
            HybridMlShare(**options)
