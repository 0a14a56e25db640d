"""What a strategy says about a decision is what it decides."""

from __future__ import annotations

import pytest

from hybrid_ml_scheduler.cluster import BacklogView
from hybrid_ml_scheduler.core import NO_GPU, Explains, RaceContext, device_name, stream
from hybrid_ml_scheduler.physics import Gpu, Node, PhysicsEstimator
from hybrid_ml_scheduler.schedulers import available, create
from hybrid_ml_scheduler.workload import generate, preset

NODES = {"equal GPUs": Node(), "unlike GPUs": Node(gpus=(Gpu(), Gpu(speed=2.0, memory_mb=4_000.0), Gpu(), Gpu()))}


@pytest.mark.parametrize("node", NODES.values(), ids=NODES)
@pytest.mark.parametrize("name", list(available()))
def test_the_reasons_name_the_device_and_the_share_that_are_chosen(name: str, node: Node) -> None:
    strategy, estimator = create(name, {}), PhysicsEstimator(node)
    if hasattr(strategy, "prepare"):
        strategy.prepare(RaceContext(estimator=estimator, seed=1))
    if not isinstance(strategy, Explains):
        return
    rng = stream(1, "reasons", name)
    for task in generate(preset("mixed").with_values({"num_tasks": 45}), 3):
        backlogs = (5.0 * rng.random(5) ** 3).tolist()
        view = BacklogView(estimator, task.arrival_time, backlogs[0], backlogs[1:])
        reasons, decision = strategy.explain(task, view), strategy.decide(task, view)
        gpu = view.least_loaded_gpu if decision.gpu is None else decision.gpu
        place = device_name(gpu if decision.gpu_fraction > 0.0 else NO_GPU, decision.gpu_fraction)
        if "gpu" in reasons and decision.gpu_fraction > 0.0:
            assert reasons["gpu"] == gpu
        if "gpu_fraction" in reasons:
            assert reasons["gpu_fraction"] == pytest.approx(decision.gpu_fraction, abs=1e-9)
        if "action" in reasons and not getattr(strategy, "exploring", False):
            assert reasons["action"] == place
