"""A compiled form speaks only for the `decide` that it was written for."""

from __future__ import annotations

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import Simulation
from hybrid_ml_scheduler.core import (
    BatchRule,
    ClusterView,
    Decision,
    Outcome,
    Scheduler,
    Task,
    TaskBatch,
    with_foresight,
    with_rule,
)
from hybrid_ml_scheduler.physics import Node, durations
from hybrid_ml_scheduler.schedulers import check_scheduler
from hybrid_ml_scheduler.schedulers.rules.earliest import EarliestFinish
from hybrid_ml_scheduler.schedulers.rules.greedy import Greedy
from hybrid_ml_scheduler.studies.race import run_scheduler
from hybrid_ml_scheduler.workload import generate, preset

SHARE = 0.25


class Heir(Greedy):
    """Inherits both forms of greedy and decides otherwise."""

    name = "heir"

    def decide(self, task: Task, cluster: ClusterView) -> Decision:
        return Decision(gpu_fraction=SHARE)


class Grandchild(Heir):
    """Two classes below the forms."""


class Renewed(Heir):
    """Has written the rule anew as well, but not the one ahead."""

    def rule(self, batch: TaskBatch) -> BatchRule:
        return BatchRule(kind=super().rule(batch).kind, fractions=np.full(len(batch), SHARE))


class Pupil(Greedy):
    """Learns: what it will decide in a while nobody knows."""

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Look on."""


def tasks() -> TaskBatch:
    return generate(preset("mixed").with_values({"num_tasks": 40}), 3)


@pytest.mark.parametrize("kind", [Heir, Grandchild, Renewed])
def test_a_strategy_with_its_own_decide_races_by_it_everywhere(kind: type[Heir]) -> None:
    batch, node = tasks(), Node()
    stepped = Simulation(node, kind()).run((task, 1.0) for task in batch)
    assert {outcome.gpu_fraction for outcome in stepped} == {SHARE}
    assert set(run_scheduler(kind(), batch, node, seed=1).gpu_fraction.tolist()) == {SHARE}
    assert Simulation(node, kind()).run_stretch(batch, durations(batch, node)) is None
    check_scheduler(kind)


def test_forms_are_kept_where_only_names_and_options_change() -> None:
    class Named(Greedy):
        name = "named"

    for scheduler in (Greedy(), Named(), EarliestFinish()):
        assert with_rule(scheduler) is scheduler
        assert with_foresight(scheduler) is scheduler


def test_a_rule_written_below_decide_speaks_for_it() -> None:
    assert with_rule(Renewed()) is not None


def test_a_decide_given_to_one_instance_counts_for_it_alone() -> None:
    changed: Scheduler = Greedy()
    changed.decide = Heir().decide  # type: ignore[method-assign]
    assert with_rule(changed) is None
    assert with_foresight(changed) is None
    assert with_rule(Greedy()) is not None


def test_a_learner_is_not_asked_ahead() -> None:
    assert with_foresight(Pupil()) is None
