"""The load of a new run: the arrival rate stays when the node changes, unless a load is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.physics import Node
from hybrid_ml_scheduler.plans.plan import Plan, WorkloadChoice
from hybrid_ml_scheduler.service.control.courses import load_of, plan_for
from hybrid_ml_scheduler.service.uploads.folder import UploadFolder
from hybrid_ml_scheduler.service.wire.simulation import StartRequest

USUAL = Plan(seed=42, workload=WorkloadChoice(source="unknown"), node=Node.uniform(4), schedulers=("greedy",))


def rate_of(plan: Plan) -> float:
    return plan.workload.parameters().arrival_rate


def asked(plan: Plan, tmp_path: Path, now: Plan | None = None, **values: Any) -> Plan:
    request = StartRequest(new_run=True, **values)
    return plan_for(plan, request, UploadFolder(tmp_path), usual_node=USUAL.node, now=now)


@pytest.mark.parametrize("workload", [{}, {"workload": "unknown"}])
@pytest.mark.parametrize("node", [{"num_gpus": 2}, {"num_gpus": 8}, {"gpu_type": "h100"}])
def test_runs_of_one_seed_on_other_nodes_meet_the_same_tasks(
    workload: dict[str, Any], node: dict[str, Any], tmp_path: Path
) -> None:
    first = asked(USUAL, tmp_path)
    assert rate_of(asked(USUAL, tmp_path, **workload, **node)) == rate_of(first)
    # A run that was raced on another node before changes nothing.
    smaller = asked(USUAL, tmp_path, num_gpus=2)
    assert rate_of(asked(smaller, tmp_path, now=smaller, **workload, **node)) == rate_of(first)


def test_a_service_that_came_back_keeps_the_rate_of_its_run_on_another_node(tmp_path: Path) -> None:
    present = asked(USUAL, tmp_path, arrival_rate=17.0)
    assert rate_of(asked(USUAL, tmp_path, now=present, num_gpus=2)) == 17.0
    assert rate_of(asked(USUAL, tmp_path, now=present, num_gpus=2, arrival_rate=20.0)) == 20.0
    other = Plan(workload=WorkloadChoice(source="heavy", values={"arrival_rate": 3.0}))
    assert rate_of(asked(USUAL, tmp_path, now=other, num_gpus=2)) == rate_of(asked(USUAL, tmp_path))


@pytest.mark.parametrize("workload", ["unknown", "mixed"])
def test_a_load_that_is_asked_for_is_kept_on_every_node(workload: str, tmp_path: Path) -> None:
    loads = [
        load_of(asked(USUAL, tmp_path, workload=workload, target_load=0.8, num_gpus=gpus), UploadFolder(tmp_path))
        for gpus in (1, 4)
    ]
    assert [one.load for one in loads] == pytest.approx([0.8, 0.8], rel=0.05)
    assert loads[0].arrival_rate is not None
    assert loads[1].arrival_rate is not None
    assert loads[1].arrival_rate > 2.0 * loads[0].arrival_rate


def test_the_load_that_results_is_told_with_what_is_overloaded(tmp_path: Path) -> None:
    usual = load_of(asked(USUAL, tmp_path), UploadFolder(tmp_path))
    one = load_of(asked(USUAL, tmp_path, num_gpus=1), UploadFolder(tmp_path))
    assert usual.load == pytest.approx(0.6, rel=0.05)
    assert usual.overload is None
    assert one.arrival_rate == usual.arrival_rate
    assert one.num_gpus == 1
    assert one.load is not None
    assert one.load > 1.0
    assert one.overload is not None
    assert "overloaded" in one.overload


def test_only_a_trace_is_stretched_by_a_factor(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="arrival_scale is for traces"):
        asked(USUAL, tmp_path, arrival_scale=2.0)
