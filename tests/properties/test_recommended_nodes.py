"""A node is judged alone: neither the order of the candidates nor the others change its figures or the answer."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_ml_scheduler.plans.plan import WorkloadChoice
from hybrid_ml_scheduler.studies.recommending.asked import Asked, question_from_values, recommendation

NODES: list[dict[str, Any]] = [
    {"name": "one t4", "gpu_type": "t4", "gpus": 1},
    {"name": "two t4", "gpu_type": "t4", "gpus": 2},
    {"name": "four t4", "gpu_type": "t4", "gpus": 4},
    {"name": "one a100", "gpu_type": "a100", "gpus": 1, "price_usd_h": 0.9},
    {"name": "two of them", "gpus": 2, "price_usd_h": 0.9},
]
WORKLOADS = (
    WorkloadChoice(source="mixed", num_tasks=120),
    WorkloadChoice(source="tests/data/jobs.swf"),
    WorkloadChoice(source="tests/data/philly.csv"),
)
ASKED: dict[str, Any] = {"policies": ("earliest_device", "sjf", "rl_hold"), "seeds": 3}


def answer(workload: WorkloadChoice, nodes: list[dict[str, Any]], limit_s: float) -> dict[str, Any]:
    return recommendation(question_from_values(workload, nodes, Asked(target=f"p95_latency < {limit_s}", **ASKED)))


@settings(max_examples=12)
@given(
    workload=st.sampled_from(WORKLOADS),
    order=st.permutations(NODES),
    subset=st.sets(st.sampled_from([one["name"] for one in NODES]), min_size=1),
    limit_s=st.sampled_from([0.2, 2.0, 3600.0, 1e6]),
)
def test_neither_order_nor_company_changes_what_is_said_of_a_node(
    workload: WorkloadChoice, order: list[dict[str, Any]], subset: set[str], limit_s: float
) -> None:
    usual, other = answer(workload, NODES, limit_s), answer(workload, order, limit_s)
    assert other == usual
    fewer = answer(workload, [one for one in order if one["name"] in subset], limit_s)
    assert fewer["trials"] == [one for one in usual["trials"] if one["node"] in subset]
