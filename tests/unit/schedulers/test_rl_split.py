"""The split agent and the frugal rule."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import BacklogView
from hybrid_ml_scheduler.core import RaceContext, Task
from hybrid_ml_scheduler.core.errors import ModelError, PlanError, SchedulerError
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.schedulers import check_scheduler
from hybrid_ml_scheduler.schedulers.agents.rl_split import RlSplit
from hybrid_ml_scheduler.schedulers.agents.split_model import load_split, split_document
from hybrid_ml_scheduler.schedulers.rules.earliest import EarliestFinish
from hybrid_ml_scheduler.schedulers.rules.frugal_finish import FrugalFinish
from hybrid_ml_scheduler.workload import generate, preset

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
    good = split_document(load_split())
    place = tmp_path / "weights.json"
    cases = [
        ("no json", "no JSON"),
        (json.dumps([1]), "not a file of the kind"),
        (json.dumps({**good, "format": "x"}), "not a file of the kind"),
        (json.dumps({**good, "version": 2}), "version 2; this program reads version 3"),
        (json.dumps({**good, "weights": [1.0]}), "finite weights"),
        (json.dumps({**good, "weights": ["a"] * 22}), "finite weights"),
        (json.dumps({**good, "home": [1.0] * 8}), "numbers of a training profile"),
        (json.dumps({**good, "home": [0.0] * 9}), "tolerance"),
        (json.dumps({**good, "num_gpus": 0}), "how many GPUs"),
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


def _decisions(strategy: RlSplit | EarliestFinish, name: str, gpus: int, least_s: float) -> list[tuple[float, int]]:
    """What it decides for a few hundred tasks, the queues always the same and never shorter than `least_s`."""
    estimator = PhysicsEstimator(Node.uniform(gpus))
    if isinstance(strategy, RlSplit):
        strategy.prepare(RaceContext(estimator=estimator, seed=0))
    queues = [least_s + 0.1 + 0.4 * gpu for gpu in range(gpus)]
    found = []
    for task in generate(preset(name).with_values({"num_tasks": 300, "arrival_rate": 40.0}), 3):
        made = strategy.decide(task, BacklogView(estimator, task.arrival_time, least_s + 0.7, queues))
        found.append((made.gpu_fraction, made.gpu or 0))
    return found[100:]  # the first tasks still count as those of home


@pytest.mark.parametrize("least_s", [0.0, 30.0], ids=["stream", "flood"])
def test_among_tasks_of_another_length_it_decides_as_earliest_finish(least_s: float) -> None:
    assert _decisions(RlSplit(), "light", 4, least_s) == _decisions(EarliestFinish(), "light", 4, least_s)
    assert _decisions(RlSplit(), "mixed", 4, least_s) != _decisions(EarliestFinish(), "mixed", 4, least_s)


def test_on_a_larger_node_than_its_own_it_decides_as_earliest_finish() -> None:
    assert _decisions(RlSplit(), "mixed", 8, 0.0) == _decisions(EarliestFinish(), "mixed", 8, 0.0)


def test_it_says_how_familiar_the_tasks_are() -> None:
    view = BacklogView(PhysicsEstimator(Node()))
    assert RlSplit().explain(TASK, view)["familiar"] == 1.0
    far = Task(task_id=1, size=1e6, compute_intensity=0.6, memory_required=80.0, arrival_time=0.0)
    assert RlSplit().explain(far, view)["familiar"] == 0.0


def test_a_pace_of_another_version_is_refused() -> None:
    agent = RlSplit()
    with pytest.raises(SchedulerError, match="another version"):
        agent.restore({"pace": np.zeros(14).tolist()})
