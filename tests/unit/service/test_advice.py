"""What a strategy answers about a task from outside is what then happens."""

from __future__ import annotations

import pytest

from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.live.racer import Racer
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.service.explain.advice import advice_of
from hybrid_ml_scheduler.service.explain.audits import oracle_choice


@pytest.mark.parametrize("name", ["earliest_finish", "gpu_only"])
def test_the_advice_for_a_gang_behind_busy_gpus_is_what_comes_of_it(name: str) -> None:
    node = Node.uniform(3)
    racer = Racer(node, create(name), seed=0)
    before = [Task(at, 800.0, 0.9, 100.0, 0.0, divisible=False) for at in range(2)]
    gang = Task(2, 900.0, 0.95, 100.0, 0.0, divisible=False, gpus_required=3)
    for task in before:
        racer.simulation.offer(task)
    racer.simulation.advance(1e-9)
    told = advice_of(racer, gang)
    racer.simulation.offer(gang)
    (came,) = racer.simulation.advance(1e-9)
    assert len(came.gang) == 2
    assert came.gpu_start_s > 0.0
    assert (told.device, told.gpu_fraction) == (came.device, came.gpu_fraction)
    assert told.predicted_time == came.execution_s
    assert told.predicted_latency == pytest.approx(came.latency_s, rel=1e-12)
    assert (told.predicted_energy, told.predicted_cost) == (came.energy_j, came.cost_usd)
    best = oracle_choice(gang, node)
    assert (best.device, best.energy, best.cost) == (came.device, came.energy_j, came.cost_usd)
