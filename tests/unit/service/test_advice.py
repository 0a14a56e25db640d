"""What a strategy answers about a task from outside is what then happens."""

from __future__ import annotations

import pytest

from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.live.hidden import HiddenTruth
from hybrid_ml_scheduler.live.racer import Racer
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.physics.truth import Truth
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
    best = oracle_choice(gang, node, HiddenTruth(Truth(), 1, node))
    assert (best.device, best.energy, best.cost) == (came.device, came.energy_j, came.cost_usd)


def test_the_oracle_of_an_audit_is_told_what_is_hidden_from_all_others() -> None:
    node, task = Node.uniform(2), Task(0, 900.0, 0.6, 100.0, 0.0, kind="kind-1")
    hidden, nominal = HiddenTruth(Truth(kind_spread=0.8), 3, node), PhysicsEstimator(node).seconds(task)
    true = hidden.of(task, nominal, 1.0).true
    best, plain = oracle_choice(task, node, hidden), oracle_choice(task, node, HiddenTruth(Truth(), 3, node))
    parts_s = (1.0 - best.gpu_fraction) * true.cpu_s, best.gpu_fraction * true.gpu_s[0]
    assert best.time == pytest.approx(max(parts_s), rel=1e-12)
    assert best.time != pytest.approx(plain.time)
