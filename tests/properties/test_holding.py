"""Holding strategies: kernel, stepping form and naive reference say the same about every task, to the last bit."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_ml_scheduler.cluster.batch import run_held_batch
from hybrid_ml_scheduler.cluster.simulation import Simulation
from hybrid_ml_scheduler.core import RaceContext, TaskBatch
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator, Tariff, durations
from hybrid_ml_scheduler.schedulers.agents.rl_hold import RlHold
from hybrid_ml_scheduler.schedulers.holding.edf import EarliestDeadline
from hybrid_ml_scheduler.schedulers.holding.keyed import KeyedHold
from hybrid_ml_scheduler.schedulers.holding.lpt import LongestFirst
from hybrid_ml_scheduler.schedulers.holding.min_min import MaxMin, MinMin, Sufferage
from hybrid_ml_scheduler.schedulers.holding.rank_hold import RankHold
from hybrid_ml_scheduler.schedulers.holding.size_split import SizeSplit
from hybrid_ml_scheduler.schedulers.holding.sjf import ShortestFirst
from tests.properties.forms import Row, record_row, row_of
from tests.properties.samples import batches, nodes
from tests.reference.holding import HeldOrder, simulate_held

MAKERS = {
    "lpt": LongestFirst,
    "edf": EarliestDeadline,
    "size_split": SizeSplit,
    "rank_hold": RankHold,
    "min_min": MinMin,
    "max_min": MaxMin,
    "sufferage": Sufferage,
    "rl_hold": RlHold,
}
ORDERS: dict[str, tuple[dict[str, Any], HeldOrder]] = {
    "shortest": ({}, HeldOrder(key=lambda task, size_s: size_s)),
    "whole devices": ({"splits": False}, HeldOrder(key=lambda task, size_s: size_s, steps=1)),
    "patience": ({"patience": 3.0}, HeldOrder(key=lambda task, size_s: task.arrival_time + 3.0 * size_s)),
    "few looked at": ({"depth": 2, "price": 0.5}, HeldOrder(key=lambda task, size_s: size_s, depth=2, price=0.5)),
    "limits": ({"longest": (4.0, 0.5, math.inf)}, HeldOrder(key=lambda task, size_s: size_s, longest=(4.0, 0.5))),
}


def order_on(name: str, node: Node) -> HeldOrder:
    order = ORDERS[name][1]
    if not order.longest:
        return order
    limits = (*order.longest, *[math.inf] * node.num_gpus)[: node.num_gpus + 1]
    return HeldOrder(key=order.key, steps=order.steps, price=order.price, longest=limits, depth=order.depth)


def kernel_rows(strategy: KeyedHold, batch: TaskBatch, node: Node) -> list[Row]:
    strategy.prepare(RaceContext(estimator=PhysicsEstimator(node), seed=0))
    seconds = durations(batch, node)
    rule = strategy.held_rule(batch, seconds)
    if rule is None:
        return stepping_rows(strategy, batch, node)
    columns = run_held_batch(batch, node, rule, seconds=seconds)
    return list(map(row_of, columns.outcomes(batch.task_id, Tariff(node))))


def stepping_rows(strategy: KeyedHold, batch: TaskBatch, node: Node) -> list[Row]:
    outcomes = Simulation(node, strategy).run((task, float(batch.duration_factor[i])) for i, task in enumerate(batch))
    by_id = {outcome.task_id: outcome for outcome in outcomes}
    return [row_of(by_id[int(task_id)]) for task_id in batch.task_id]


@pytest.mark.parametrize("name", ORDERS)
@given(batch=batches(), node=nodes())
def test_all_three_forms_agree_bit_for_bit(name: str, batch: TaskBatch, node: Node) -> None:
    expected = [record_row(record) for record in simulate_held(batch, node, order_on(name, node))]
    assert stepping_rows(ShortestFirst(**ORDERS[name][0]), batch, node) == expected
    assert kernel_rows(ShortestFirst(**ORDERS[name][0]), batch, node) == expected


@pytest.mark.parametrize("name", MAKERS)
@given(batch=batches(), node=nodes())
def test_kernel_and_stepping_form_agree_for_every_order(name: str, batch: TaskBatch, node: Node) -> None:
    assert kernel_rows(MAKERS[name](), batch, node) == stepping_rows(MAKERS[name](), batch, node)


@given(batch=batches(), node=nodes(), cut=st.integers(0, 30))
def test_a_run_that_is_captured_and_restored_goes_on_as_if_nothing_had_happened(
    batch: TaskBatch, node: Node, cut: int
) -> None:
    expected = stepping_rows(ShortestFirst(), batch, node)
    first, then = Simulation(node, ShortestFirst()), Simulation(node, ShortestFirst())
    outcomes, current = [], first
    for row, task in enumerate(batch):
        if row == cut:
            then.restore(first.capture())
            current = then
        outcomes += current.advance(task.arrival_time)
        current.offer(task, float(batch.duration_factor[row]))
    outcomes += current.drain()
    by_id = {outcome.task_id: outcome for outcome in outcomes}
    assert [row_of(by_id[int(task_id)]) for task_id in batch.task_id] == expected
