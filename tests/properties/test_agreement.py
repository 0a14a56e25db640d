"""Kernel, stepping form and naive reference say the same about every task, to the last bit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.physics import Node
from tests.properties.forms import kernel_rows, reference_rows, stepping_rows
from tests.properties.samples import batches, nodes
from tests.reference import STRATEGIES

seeds = st.integers(0, 2**32)


@pytest.mark.parametrize("name", STRATEGIES)
@given(batch=batches(), node=nodes(), seed=seeds)
def test_kernel_agrees_with_the_reference_bit_for_bit(name: str, batch: TaskBatch, node: Node, seed: int) -> None:
    assert kernel_rows(batch, node, name, seed) == reference_rows(batch, node, name, seed)


@pytest.mark.parametrize("name", STRATEGIES)
@given(batch=batches(), node=nodes(), seed=seeds)
def test_stepping_form_agrees_with_the_reference_bit_for_bit(
    name: str, batch: TaskBatch, node: Node, seed: int
) -> None:
    assert stepping_rows(batch, node, name, seed) == reference_rows(batch, node, name, seed)
