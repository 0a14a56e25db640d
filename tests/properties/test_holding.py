"""Holding strategies: kernel, stepping form and naive reference say the same about every task, to the last bit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given

from hybrid_ml_scheduler.cluster.simulation import Simulation
from hybrid_ml_scheduler.core import RaceContext, Task, TaskBatch
from hybrid_ml_scheduler.engine.batch import run_held_batch
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
from tests.reference.holding import HeldOrder, HeldReference, RankReference


def second_least(completions: list[float]) -> float:
    return sorted(completions)[1]


def arrival(task: Task, size_s: float) -> float:
    return task.arrival_time


def due(task: Task, size_s: float) -> float:
    return math.inf if task.deadline is None else task.arrival_time + task.deadline


def shortest(task: Task, size_s: float) -> float:
    return size_s


class Rule(NamedTuple):
    """A strategy and its naive form on a node: an order, and how it is run."""

    make: Callable[[], KeyedHold]
    order: Callable[[Node], HeldOrder]
    reference: type[HeldReference] = HeldReference


RULES = {
    "sjf": Rule(ShortestFirst, lambda node: HeldOrder(key=shortest)),
    "sjf, whole devices": Rule(lambda: ShortestFirst(splits=False), lambda node: HeldOrder(key=shortest, steps=1)),
    "sjf, patience": Rule(
        lambda: ShortestFirst(patience=3.0),
        lambda node: HeldOrder(key=lambda task, size_s: task.arrival_time + 3.0 * size_s),
    ),
    "sjf, few looked at": Rule(
        lambda: ShortestFirst(depth=2, price=0.5), lambda node: HeldOrder(key=shortest, depth=2, price=0.5)
    ),
    "sjf, limits": Rule(
        lambda: ShortestFirst(longest=(4.0, 0.5, math.inf)),
        lambda node: HeldOrder(key=shortest, longest=(4.0, 0.5, *[math.inf] * node.num_gpus)[: node.num_gpus + 1]),
    ),
    "sjf, aging": Rule(lambda: ShortestFirst(aging=1.5), lambda node: HeldOrder(key=shortest, aging=1.5)),
    "sjf, aging with few looked at": Rule(
        lambda: ShortestFirst(aging=0.5, depth=2, patience=3.0, splits=False),
        lambda node: HeldOrder(key=lambda task, s: task.arrival_time + 3.0 * s, steps=1, aging=0.5, depth=2),
    ),
    "lpt": Rule(LongestFirst, lambda node: HeldOrder(key=lambda task, size_s: -size_s)),
    "edf": Rule(EarliestDeadline, lambda node: HeldOrder(key=due)),
    "size_split": Rule(
        lambda: SizeSplit(limit=0.7),
        lambda node: HeldOrder(
            key=arrival, longest=(*[0.7] * node.num_gpus, math.inf) if node.num_gpus > 1 else (math.inf, math.inf)
        ),
    ),
    "rank_hold": Rule(RankHold, lambda node: HeldOrder(key=shortest), RankReference),
    "min_min": Rule(MinMin, lambda node: HeldOrder(key=arrival, steps=1, depth=1024, score=min)),
    "max_min": Rule(
        MaxMin, lambda node: HeldOrder(key=arrival, steps=1, depth=1024, score=lambda completions: -min(completions))
    ),
    "sufferage": Rule(
        lambda: Sufferage(depth=3),
        lambda node: HeldOrder(
            key=arrival, steps=1, depth=3, score=lambda completions: min(completions) - second_least(completions)
        ),
    ),
}


def kernel_rows(strategy: KeyedHold, batch: TaskBatch, node: Node) -> list[Row]:
    strategy.prepare(RaceContext(estimator=PhysicsEstimator(node), seed=0))
    seconds = durations(batch, node)
    rule = strategy.held_rule(batch, seconds)
    if rule is None:
        return stepping_rows(strategy, batch, node)
    columns = run_held_batch(batch, node, rule, seconds=seconds)
    return list(map(row_of, columns.outcomes(batch.task_id, Tariff(node))))


def stepping_rows(strategy: KeyedHold, batch: TaskBatch, node: Node, again: KeyedHold | None = None) -> list[Row]:
    """Step by step; if there is another strategy of the kind, it goes on from what was captured halfway."""
    simulation, outcomes = Simulation(node, strategy), []
    for row, task in enumerate(batch):
        if again is not None and row == len(batch) // 2:
            state = simulation.capture()
            simulation = Simulation(node, again)
            simulation.restore(state)
        outcomes += simulation.advance(task.arrival_time)
        simulation.offer(task, float(batch.duration_factor[row]))
    outcomes += simulation.drain()
    by_id = {outcome.task_id: outcome for outcome in outcomes}
    return [row_of(by_id[int(task_id)]) for task_id in batch.task_id]


def with_deadlines(batch: TaskBatch) -> TaskBatch:
    """Every third task is due at no time, the others after 0 to 4 seconds, some of them at the same moment."""
    due_in_s = np.where(batch.task_id % 3 == 0, math.nan, (7.0 * batch.task_id) % 5)
    return replace(batch, deadline=due_in_s)


@pytest.mark.parametrize("name", RULES)
@given(batch=batches(), node=nodes())
def test_all_three_forms_agree_bit_for_bit(name: str, batch: TaskBatch, node: Node) -> None:
    rule, batch = RULES[name], with_deadlines(batch)
    expected = [record_row(record) for record in rule.reference(batch, node, rule.order(node)).run()]
    assert stepping_rows(rule.make(), batch, node, again=rule.make()) == expected
    assert kernel_rows(rule.make(), batch, node) == expected


@pytest.mark.parametrize("aging", [0.0, 1.5])
@given(batch=batches(), node=nodes())
def test_kernel_and_stepping_form_of_rl_hold_agree(aging: float, batch: TaskBatch, node: Node) -> None:
    assert kernel_rows(RlHold(aging=aging), batch, node) == stepping_rows(
        RlHold(aging=aging), batch, node, again=RlHold(aging=aging)
    )
