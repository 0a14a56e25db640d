"""Kernel, stepping form and naive reference say the same about every task, to the last bit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.physics import CoExecution, Node
from hybrid_ml_scheduler.workload import generate
from tests.golden.cases import SEED, cases
from tests.properties.forms import kernel_rows, reference_rows, stepping_rows
from tests.properties.samples import batches, nodes
from tests.reference import STRATEGIES

seeds = st.integers(0, 2**32)


@pytest.mark.parametrize("name", STRATEGIES)
@given(batch=batches(lost=True), node=nodes(), seed=seeds)
def test_all_three_forms_agree_bit_for_bit(name: str, batch: TaskBatch, node: Node, seed: int) -> None:
    expected = reference_rows(batch, node, name, seed)
    assert kernel_rows(batch, node, name, seed) == expected
    assert stepping_rows(batch, node, name, seed) == expected


@pytest.mark.parametrize("name", ["round_robin", "random", "greedy", "oracle", "frugal_finish"])
@given(data=st.data(), node=nodes(slots=True), seed=seeds)
def test_all_three_forms_agree_on_gangs_and_slots_bit_for_bit(
    name: str, data: st.DataObject, node: Node, seed: int
) -> None:
    batch = data.draw(batches(most_gpus=node.num_gpus, lost=True))
    expected = reference_rows(batch, node, name, seed)
    assert kernel_rows(batch, node, name, seed) == expected
    assert stepping_rows(batch, node, name, seed) == expected


@pytest.mark.parametrize("name", ["greedy", "earliest_finish", "frugal_finish"])
@given(data=st.data(), node=nodes(slots=True), seed=seeds)
def test_all_three_forms_agree_where_no_part_is_seen_to_end(
    name: str, data: st.DataObject, node: Node, seed: int
) -> None:
    batch = data.draw(batches(most_gpus=node.num_gpus, lost=True))
    expected = reference_rows(batch, node, name, seed, sees_ends=False)
    assert kernel_rows(batch, node, name, seed, sees_ends=False) == expected
    assert stepping_rows(batch, node, name, seed, sees_ends=False) == expected


@pytest.mark.parametrize("case", list(cases()))
@pytest.mark.parametrize("name", ["earliest_finish", "random"])
def test_the_forms_agree_over_hundreds_of_generated_tasks(case: str, name: str) -> None:
    parameters, node = cases()[case]
    batch = generate(parameters, SEED)
    expected = reference_rows(batch, node, name, SEED)
    assert kernel_rows(batch, node, name, SEED) == expected
    assert stepping_rows(batch, node, name, SEED) == expected


def test_luck_on_the_cpu_is_not_seen_through_a_lucky_gpu() -> None:
    """In serial mode a GPU part waits for a CPU part that is late; nobody may know how late before it ends."""
    batch = TaskBatch.from_columns(
        size=[1000.0] * 4,
        compute_intensity=[0.0, 0.5, 0.5, 0.5],
        memory_required=[0.0] * 4,
        arrival_time=[0.0, 0.0, 0.0, 0.0],
        duration_factor=[3.0, 1.0, 2.0, 1.0],
    )
    node = Node(gpus=Node.uniform(2).gpus, co_execution=CoExecution.SERIAL)
    for name in STRATEGIES:
        expected = reference_rows(batch, node, name, 0)
        assert stepping_rows(batch, node, name, 0) == expected
        assert kernel_rows(batch, node, name, 0) == expected
