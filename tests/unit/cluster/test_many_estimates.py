"""Estimates of many tasks at once are those of each of them alone, to the last bit."""

from __future__ import annotations

import pytest

from hybrid_ml_scheduler.core.knowledge import LEARNED
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.known_tasks import known_at_load
from hybrid_ml_scheduler.plans.truth_plan import usual_truth
from hybrid_ml_scheduler.schedulers.agents.rl_hold import RlHold
from hybrid_ml_scheduler.studies.running import run_known
from hybrid_ml_scheduler.workload import preset

NODE = Node()


@pytest.mark.parametrize("apart", [None, 0.1])
def test_many_estimates_at_once_are_those_of_each_task(apart: float | None) -> None:
    known = known_at_load(preset("unknown").with_values({"num_tasks": 300}), NODE, 0.8, 3, truth=usual_truth("unknown"))
    estimator = known.estimator(LEARNED)
    tasks = [known.seen.task(row) for row in range(200)]
    before = estimator.many_terms(tasks)
    run_known(RlHold(), known, LEARNED, learned=estimator)
    if apart is not None:
        estimator.doubt(apart)
    many = estimator.many_terms(tasks)
    assert before is not None
    assert many is not None
    assert many.cpu_s.tolist() != before.cpu_s.tolist()
    for row, task in enumerate(tasks):
        alone = estimator.terms(task)
        assert many.cpu_s[row] == alone.cpu_s
        assert many.gpu_s[row].tolist() == alone.gpu_s.tolist()
        assert many.memory_mb[row] == alone.memory_mb
        assert many.memory_rule[row] == alone.memory_rule


def test_tasks_with_times_of_their_own_are_asked_about_one_by_one() -> None:
    known = known_at_load(preset("mixed").with_values({"num_tasks": 3}), NODE, 0.8, 3, truth=usual_truth("mixed"))
    first, second, _ = known.seen
    assert known.estimator(LEARNED).many_terms([first, second._replace(cpu_time=1.0, gpu_time=0.5)]) is None
