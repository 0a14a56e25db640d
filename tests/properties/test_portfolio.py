"""Strategies that pull or plan: kernel, stepping form and naive reference agree about every task, to the last bit."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_ml_scheduler.cluster import certificate
from hybrid_ml_scheduler.cluster.simulation import Simulation
from hybrid_ml_scheduler.core import RaceContext, Task, TaskBatch
from hybrid_ml_scheduler.core.holding import HasHeldRule, PlanRule
from hybrid_ml_scheduler.engine.batch import run_held_batch
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator, Tariff, durations
from hybrid_ml_scheduler.plans.loads import at_once
from hybrid_ml_scheduler.schedulers.holding.best_of import BestOf
from hybrid_ml_scheduler.schedulers.holding.c_mu import CMu
from hybrid_ml_scheduler.schedulers.holding.heft import Heft
from hybrid_ml_scheduler.schedulers.holding.hetero_prio import HeteroPrio
from hybrid_ml_scheduler.schedulers.holding.local_search import LocalSearch
from hybrid_ml_scheduler.schedulers.holding.lp_classes import LpClasses
from hybrid_ml_scheduler.schedulers.holding.peft import Peft
from hybrid_ml_scheduler.schedulers.holding.planned import PlanHold
from hybrid_ml_scheduler.schedulers.holding.pulled import PullHold
from hybrid_ml_scheduler.schedulers.holding.work_stealing import WorkStealing
from hybrid_ml_scheduler.workload import preset
from tests.properties.forms import Row, record_row, row_of
from tests.properties.samples import batches, nodes
from tests.reference.holding import PlanReference, PullReference
from tests.reference.planning import Plan, Planning

PULLS: dict[str, tuple[Callable[[], PullHold], Callable[[Task, list[float]], list[float]]]] = {
    "c_mu": (CMu, lambda task, s: [one if one <= 3.0 * min(s) else math.inf for one in s]),
    "hetero_prio": (
        lambda: HeteroPrio(bucket=2.0, slowest=4.0),
        lambda task, s: [
            (math.inf if s[0] > 4.0 * min(s[1:]) else max(_bucket(s[0] / g) for g in s[1:])) - s[0] / (1.0 + s[0]),
            *(-_bucket(s[0] / g) - g / (1.0 + g) for g in s[1:]),
        ],
    ),
    "work_stealing": (
        WorkStealing,
        lambda task, s: [
            float(task.task_id) if task.task_id % len(s) == device else 2.0**52 - task.task_id
            for device in range(len(s))
        ],
    ),
}
PLANS: dict[str, Callable[[], PlanHold]] = {
    "heft": Heft,
    "heft with splits": lambda: Heft(splits=True),
    "peft": Peft,
    "lp_classes": LpClasses,
    "best_of": BestOf,
    "local_search": lambda: LocalSearch(steps=60),
}

NAIVE_PLANS: dict[str, Callable[[Planning], Plan]] = {
    "heft": Planning.heft,
    "heft with splits": lambda planning: planning.heft(steps=20),
    "peft": Planning.peft,
    "lp_classes": Planning.lp_classes,
    "best_of": Planning.best_of,
}


def _bucket(gain: float) -> float:
    """How many powers of two from 2^-20 on lie below a gain."""
    return float(sum(2.0 ** (place - 20) < gain for place in range(41)))


def prepared(strategy: PullHold | PlanHold, node: Node) -> PullHold | PlanHold:
    strategy.prepare(RaceContext(estimator=PhysicsEstimator(node), seed=0))
    return strategy


def kernel_rows(strategy: HasHeldRule, batch: TaskBatch, node: Node) -> list[Row]:
    seconds = durations(batch, node)
    rule = strategy.held_rule(batch, seconds)
    assert rule is not None
    columns = run_held_batch(batch, node, rule, seconds=seconds)
    return list(map(row_of, columns.outcomes(batch.task_id, Tariff(node))))


def stepping_rows(strategy: PullHold | PlanHold, batch: TaskBatch, node: Node, cut: int | None = None) -> list[Row]:
    """Run step by step; at `cut` a fresh strategy goes on from what was captured."""
    simulation, outcomes = Simulation(node, strategy), []
    for row, task in enumerate(batch):
        if row == cut:
            state = simulation.capture()
            simulation = Simulation(node, strategy)
            simulation.restore(state)
        outcomes += simulation.advance(task.arrival_time)
        simulation.offer(task, float(batch.duration_factor[row]))
    outcomes += simulation.drain()
    by_id = {outcome.task_id: outcome for outcome in outcomes}
    return [row_of(by_id[int(task_id)]) for task_id in batch.task_id]


def planned(rule: PlanRule, batch: TaskBatch) -> dict[int, tuple[int, float, int]]:
    columns = zip(rule.turns.tolist(), rule.fractions.tolist(), rule.gpus.tolist(), strict=True)
    return dict(zip(batch.task_id.tolist(), columns, strict=True))


@pytest.mark.parametrize("name", PULLS)
@given(batch=batches(), node=nodes())
def test_all_three_forms_agree_on_what_devices_pull(name: str, batch: TaskBatch, node: Node) -> None:
    make, orders = PULLS[name]
    expected = [record_row(record) for record in PullReference(batch, node, orders).run()]
    assert stepping_rows(make(), batch, node, cut=len(batch) // 2) == expected
    assert kernel_rows(prepared(make(), node), batch, node) == expected


@pytest.mark.parametrize("name", PLANS)
@given(batch=batches(arrival=st.just(0.25)), node=nodes())
def test_all_three_forms_carry_a_plan_out_alike(name: str, batch: TaskBatch, node: Node) -> None:
    strategy = prepared(PLANS[name](), node)
    rule = strategy.held_rule(batch, durations(batch, node))
    assert isinstance(rule, PlanRule)
    expected = [record_row(record) for record in PlanReference(batch, node, planned(rule, batch)).run()]
    assert kernel_rows(strategy, batch, node) == expected
    assert stepping_rows(PLANS[name](), batch, node) == expected


@pytest.mark.parametrize("name", PLANS)
@given(batch=batches(), node=nodes())
def test_a_plan_is_made_anew_when_tasks_arrive_and_survives_a_restart(name: str, batch: TaskBatch, node: Node) -> None:
    whole = stepping_rows(PLANS[name](), batch, node)
    assert not any(row.failed for row in whole)
    assert stepping_rows(PLANS[name](), batch, node, cut=len(batch) // 2) == whole


@pytest.mark.parametrize("name", NAIVE_PLANS)
@given(batch=batches(arrival=st.just(0.25), max_tasks=8), node=nodes())
def test_a_plan_is_that_of_the_published_algorithm(name: str, batch: TaskBatch, node: Node) -> None:
    rule = prepared(PLANS[name](), node).held_rule(batch, durations(batch, node))
    assert isinstance(rule, PlanRule)
    assert planned(rule, batch) == NAIVE_PLANS[name](Planning(batch, node))


def test_a_batch_by_classes_ends_at_its_bound() -> None:
    node = Node()
    loaded = at_once(preset("mixed"), node, 1, 10_000)
    strategy = LpClasses()
    strategy.prepare(RaceContext(estimator=PhysicsEstimator(node), seed=0))
    rule = strategy.held_rule(loaded.batch, loaded.seconds)
    assert rule is not None
    columns = run_held_batch(loaded.batch, node, rule, seconds=loaded.seconds)
    bound = certificate(loaded.batch, node, loaded.seconds).makespan_s
    assert 1.0 <= float(np.max(columns.finish_s)) / bound <= 1.0001


@pytest.mark.parametrize("name", PLANS)
def test_a_child_that_came_before_its_parents_keeps_nobody_from_an_idle_node(name: str) -> None:
    """Child 0 waits for 1, which arrives while it waits for 2, which the plan may have put behind the child."""
    arrivals = {0: (0.0, (1,)), 2: (0.0, ()), 3: (0.0, ()), 1: (0.1, (2,))}
    tasks = [Task(i, 1000.0, 0.5, 0.0, at, parents) for i, (at, parents) in arrivals.items()]
    outcomes = Simulation(Node.uniform(1), PLANS[name]()).run((task, 1.0) for task in tasks)
    assert {outcome.task_id for outcome in outcomes} == {0, 1, 2, 3}
