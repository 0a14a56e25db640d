"""What the estimator remembers of tasks that it was asked about."""

from __future__ import annotations

from time import process_time

import numpy as np

from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.physics import Gpu, Node, PhysicsEstimator


def test_asking_about_measured_tasks_again_costs_far_less_than_the_first_time() -> None:
    """A strategy that compares all waiting tasks, such as `min_min`, asks about each of them at every wake."""
    node = Node(gpus=(Gpu(type="v100"),) * 4)
    batch = TaskBatch.from_columns(
        size=np.full(200, 1000.0),
        compute_intensity=np.full(200, 0.8),
        memory_required=np.full(200, 10.0),
        arrival_time=np.arange(200.0),
        gpu_times=np.linspace(1.0, 9.0, 200)[:, None],
        gpu_types=("v100",),
        divisible=np.zeros(200, dtype=np.bool_),
        gpus_required=np.arange(200) % 3 + 1,
    )
    tasks = list(batch)
    estimator = PhysicsEstimator(node)
    changed = tasks[7]._replace(gpu_times=(("v100", 99.0),))
    other = estimator.seconds(changed)  # compiled code is there from now on
    begin = process_time()
    first = [estimator.seconds(task) for task in tasks]
    once_s = process_time() - begin
    begin = process_time()
    for _ in range(10):
        assert [estimator.seconds(task) for task in tasks] == first
    assert process_time() - begin < once_s
    assert estimator.seconds(changed) == other != first[7], (
        "another task with the id of an earlier one has seconds of its own"
    )
