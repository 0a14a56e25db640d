"""The split agent and the frugal rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hybrid_ml_scheduler.cluster import BacklogView
from hybrid_ml_scheduler.core import Task
from hybrid_ml_scheduler.core.errors import ModelError, PlanError
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.schedulers import check_scheduler
from hybrid_ml_scheduler.schedulers.frugal_finish import FrugalFinish
from hybrid_ml_scheduler.schedulers.rl_split import RlSplit, load_weights, weights_document

TASK = Task(task_id=1, size=900.0, compute_intensity=0.6, memory_required=80.0, arrival_time=0.0)


@pytest.mark.parametrize("strategy", [RlSplit, FrugalFinish])
def test_it_keeps_the_contract_of_a_strategy(strategy: type) -> None:
    check_scheduler(strategy)


def test_the_choice_has_the_least_charge() -> None:
    view = BacklogView(PhysicsEstimator(Node()), 0.0, 0.4, [0.5, 0.0, 2.0, 0.1])
    reasons = RlSplit().explain(TASK, view)
    assert reasons["charge"] <= min(reasons["whole_device_charge"].values()) + 1e-12


@pytest.mark.parametrize("least", [0.0, 25.0])
def test_equal_gpus_are_interchangeable(least: float) -> None:
    estimator, agent = PhysicsEstimator(Node()), RlSplit()
    one = agent.decide(TASK, BacklogView(estimator, 0.0, least + 1.0, [least, least + 3, least + 2, least + 9]))
    two = agent.decide(TASK, BacklogView(estimator, 0.0, least + 1.0, [least + 9, least + 2, least + 3, least]))
    assert one.gpu_fraction == two.gpu_fraction
    assert one.gpu is not None
    assert two.gpu == 3 - one.gpu


def test_bad_weight_files_are_refused_with_one_sentence(tmp_path: Path) -> None:
    good = weights_document(load_weights(), {})
    place = tmp_path / "weights.json"
    cases = [
        ("no json", "no JSON"),
        (json.dumps([1]), "not a file of the kind"),
        (json.dumps({**good, "format": "x"}), "not a file of the kind"),
        (json.dumps({**good, "version": 7}), "version 7"),
        (json.dumps({**good, "weights": [1.0]}), "finite weights"),
        (json.dumps({**good, "weights": ["a"] * 23}), "finite weights"),
    ]
    for text, words in cases:
        place.write_text(text)
        with pytest.raises(ModelError, match=words):
            RlSplit(model=str(place))
    with pytest.raises(ModelError, match="cannot be read"):
        RlSplit(model=str(tmp_path / "missing.json"))


def test_the_frugal_rule_uses_fewer_device_seconds_than_the_hasty_one() -> None:
    estimator = PhysicsEstimator(Node())
    view = BacklogView(estimator)
    seconds = []
    for price in (0.0, 5.0):
        decision = FrugalFinish(price=price).decide(TASK, view)
        parts = estimator.parts(TASK, decision.gpu_fraction, decision.gpu or 0)
        seconds.append(parts.cpu_s + parts.gpu_s)
    assert seconds[1] < seconds[0]


def test_a_negative_price_is_refused() -> None:
    with pytest.raises(PlanError, match="price"):
        FrugalFinish(price=-1.0)
