"""The certificate is a floor: nothing that any strategy does, in any mode, with any noise, lies below it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_ml_scheduler.cluster import capacity, certificate, summarize
from hybrid_ml_scheduler.cluster.bounds import area_bound_s
from hybrid_ml_scheduler.core import TaskBatch
from hybrid_ml_scheduler.physics import Node
from tests.properties.forms import kernel_columns
from tests.properties.samples import batches, nodes
from tests.reference import STRATEGIES


@given(batch=batches(), node=nodes(), seed=st.integers(0, 9))
def test_no_strategy_beats_the_certificate(batch: TaskBatch, node: Node, seed: int) -> None:
    floor = certificate(batch, node)
    for name in STRATEGIES:
        summary = summarize(kernel_columns(batch, node, name, seed))
        if summary.failed_count == 0:
            assert summary.makespan_s >= floor.makespan_s
            assert summary.mean_time_s >= floor.mean_time_s
            assert summary.mean_latency_s >= floor.mean_latency_s
            gap = summary.gap(floor.makespan_s)
            assert gap is not None
            assert gap >= 0.0


@given(data=st.data(), node=nodes(slots=True), seed=st.integers(0, 9))
def test_no_strategy_beats_the_certificate_with_gangs_and_slots(data: st.DataObject, node: Node, seed: int) -> None:
    batch = data.draw(batches(most_gpus=node.num_gpus))
    floor = certificate(batch, node)
    for name in ("earliest_finish", "earliest_device", "oracle", "gpu_only"):
        summary = summarize(kernel_columns(batch, node, name, seed))
        if summary.failed_count == 0:
            assert summary.makespan_s >= floor.makespan_s
            assert summary.mean_time_s >= floor.mean_time_s
            assert summary.mean_latency_s >= floor.mean_latency_s


@given(batch=batches(), node=nodes())
def test_the_largest_argument_holds(batch: TaskBatch, node: Node) -> None:
    floor = certificate(batch, node)
    values = {"area": floor.area_s, "release": floor.release_s, "path": floor.path_s}
    assert floor.makespan_s == max(values.values()) == values[floor.binding]
    assert floor.makespan_s > float(batch.arrival_time.max())


@given(batch=batches(graphs=False, noisy=False), node=nodes())
def test_capacity_is_tasks_over_the_area_of_the_same_tasks_at_time_zero(batch: TaskBatch, node: Node) -> None:
    assert capacity(batch, node) == pytest.approx(len(batch) / area_bound_s(batch, node), rel=1e-12)
    assert area_bound_s(batch, node) <= certificate(batch, node).makespan_s * (1.0 + 1e-12)
