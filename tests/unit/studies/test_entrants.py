"""The strategies of a plan are made as the plan says."""

from __future__ import annotations

import pytest

from hybrid_ml_scheduler.core import RaceContext
from hybrid_ml_scheduler.physics import PhysicsEstimator
from hybrid_ml_scheduler.plans.plan import Plan
from hybrid_ml_scheduler.schedulers.forest.hybrid_ml import HybridMl
from hybrid_ml_scheduler.studies.race import entrants


@pytest.mark.parametrize(("own", "interval"), [({}, 7), ({"retrain_every": 20}, 20)])
def test_the_forest_is_retrained_as_often_as_the_plan_says_unless_its_own_option_does(
    own: dict[str, int], interval: int
) -> None:
    plan = Plan(schedulers=("hybrid_ml", "greedy"), retrain_interval=7, options={"hybrid_ml": own})
    forest, greedy = entrants(plan)
    made = forest.make()
    assert isinstance(made, HybridMl)
    made.prepare(RaceContext(estimator=PhysicsEstimator(plan.node), seed=1, retrain_interval=plan.retrain_interval))
    assert made._interval == interval
    assert greedy.options == {}
