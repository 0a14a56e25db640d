"""Races in which devices slow each other down: the usual forms at factors of 1, the event kernel at others."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_ml_scheduler.cluster import RunColumns, certificate
from hybrid_ml_scheduler.cluster.interference import Interference, run_events
from hybrid_ml_scheduler.core.errors import PlanError
from hybrid_ml_scheduler.core.knowledge import EXACT, LEARNED, NOMINAL, Level
from hybrid_ml_scheduler.execution.runs.calibration import read_calibration
from hybrid_ml_scheduler.live.racer import Racer
from hybrid_ml_scheduler.physics.interference import Slowdown, slowdown_of
from hybrid_ml_scheduler.physics.node import CoExecution, Cpu, Node
from hybrid_ml_scheduler.physics.truth import Truth
from hybrid_ml_scheduler.plans.known_tasks import KnownTasks
from hybrid_ml_scheduler.plans.plan import Plan, plan_from_mapping
from hybrid_ml_scheduler.schedulers import create
from hybrid_ml_scheduler.studies.running import run_known
from hybrid_ml_scheduler.workload import generate, preset

NONE = (Slowdown(),)
SOME = (Slowdown(cpu=1.4, gpu=1.2, within=1.1), Slowdown(kind="kind-1", cpu=2.0, gpu=1.0, within=1.3))
DECIDING = ("round_robin", "greedy", "earliest_finish", "rl_split")
HOLDING = ("sjf", "rl_hold", "hybrid_ml", "heft", "work_stealing")


def known(node: Node, level: Level, *, graph: bool, seed: int, tasks: int = 60) -> KnownTasks:
    values = {
        "num_tasks": tasks,
        "arrival_rate": 8.0,
        "noise_sigma": 0.0 if level == EXACT else 0.3,
        "dependency_probability": 0.3 if graph else 0.0,
        "kinds": 3,
    }
    law = preset("mixed").with_values(values)
    truth = Truth(kind_spread=0.0 if level == EXACT else 0.5)
    return KnownTasks(batch=generate(law, seed), node=node, truth=truth, seed=seed)


def run(name: str, tasks: KnownTasks, slowdowns: tuple[Slowdown, ...], level: Level = EXACT) -> RunColumns:
    return run_known(create(name), replace(tasks, node=replace(tasks.node, interference=slowdowns)), level)


@pytest.mark.parametrize("name", [*DECIDING, *HOLDING])
@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize(("level", "graph"), [(EXACT, True), (LEARNED, True), (LEARNED, False), (NOMINAL, True)])
def test_with_factors_of_1_the_event_form_is_every_other_form_to_the_last_bit(
    name: str, slots: int, level: Level, graph: bool
) -> None:
    tasks = known(Node(cpu=Cpu(slots=slots)), level, graph=graph, seed=3)
    usual, events = run(name, tasks, (), level), run(name, tasks, NONE, level)
    for column in fields(RunColumns):
        if column.name != "node":
            np.testing.assert_array_equal(getattr(events, column.name), getattr(usual, column.name), column.name)


@pytest.mark.parametrize("name", DECIDING)
@given(seed=st.integers(0, 1000), slots=st.integers(1, 3))
def test_the_event_form_ends_every_task_when_the_event_kernel_does(name: str, seed: int, slots: int) -> None:
    tasks = known(Node(gpus=Node.uniform(2).gpus, cpu=Cpu(slots=slots)), EXACT, graph=False, seed=seed, tasks=40)
    found, batch = run(name, tasks, SOME), tasks.batch
    alone = tasks.true
    cpu_s = np.where(found.cpu_s > 0.0, (1.0 - found.gpu_fraction) * alone.cpu_s, 0.0)
    gpu_s = np.where(found.gpu >= 0, found.gpu_fraction * alone.gpu_s[:, 0], 0.0)
    factors = np.array([slowdown_of(SOME, kind).factors for kind in batch.kind_names]).T.copy()
    expected = run_events(
        batch.arrival_time, cpu_s, gpu_s, np.maximum(found.gpu, 0), 2,
        Interference(cpu_factor=factors[0], gpu_factor=factors[1], within_factor=factors[2]), slots, batch.kind,
    )  # fmt: skip
    np.testing.assert_allclose(found.finish_s, expected.finish_s, rtol=1e-12)
    np.testing.assert_allclose(found.cpu_start_s + found.cpu_s, expected.cpu_finish_s, rtol=1e-12)


@pytest.mark.parametrize("name", [*DECIDING, *HOLDING])
def test_bounds_hold_and_no_task_takes_less_than_alone(name: str) -> None:
    tasks = known(Node.uniform(2), EXACT, graph=True, seed=5)
    found = run(name, tasks, SOME)
    proven = certificate(tasks.batch, tasks.node, seconds=tasks.true)
    assert found.finish_s.max() >= proven.makespan_s
    alone_s = np.minimum(tasks.true.cpu_s, tasks.true.gpu_s[:, 0])
    assert bool((found.cpu_s + found.gpu_s >= alone_s * (1.0 - 1e-12)).all())


def test_the_learned_level_learns_the_seconds_that_interference_makes() -> None:
    tasks = replace(known(Node.uniform(2), LEARNED, graph=False, seed=5, tasks=300), truth=Truth())
    found = []
    for slowdowns in (NONE, (Slowdown(cpu=3.0, gpu=3.0),)):
        slowed = replace(tasks, node=replace(tasks.node, interference=slowdowns))
        estimator = slowed.estimator()
        run_known(create("round_robin"), slowed, LEARNED, learned=estimator)
        kind = tasks.batch.kind_names[1]
        found.append(estimator.model.factors(kind, np.ones(len(estimator.types))).copy())
    assert found[1][1] > 1.5 * found[0][1]  # the CPU is never idle here, so a GPU is always slowed down


def test_what_promises_finishes_ahead_refuses_interference_in_one_sentence() -> None:
    node = Node(interference=SOME)
    with pytest.raises(PlanError, match="the live race"):
        Racer(node, create("greedy"), seed=0)
    with pytest.raises(PlanError, match="serial"):
        run("greedy", known(Node(co_execution=CoExecution.SERIAL), EXACT, graph=False, seed=0), SOME)
    with pytest.raises(PlanError, match="at least 1"):
        Slowdown(cpu=0.5)


def test_a_plan_keeps_its_interference_and_refuses_what_is_none() -> None:
    section = {"cpu": 1.5, "kinds": {"fft": {"gpu": 2.0}}}
    plan = plan_from_mapping({"physics": {"interference": section}})
    assert [one.factors for one in plan.node.interference] == [(1.5, 1.0, 1.0), (1.5, 2.0, 1.0)]
    assert plan_from_mapping(plan.to_mapping()).node == plan.node
    assert plan_from_mapping({"physics": {"interference": {"cpu": 1}}}).digest == Plan().digest
    for wrong in ({"cpo": 1.5}, {"cpu": "fast"}, {"cpu": 0.9}, {"kinds": 3}, {"kinds": {"fft": {"gpu": True}}}, 2):
        with pytest.raises(PlanError, match=r"physics\.interference"):
            plan_from_mapping({"physics": {"interference": wrong}})


def test_a_measured_calibration_gives_a_slowdown_for_each_kind_and_their_mean() -> None:
    calibration = read_calibration(Path("plans/hardware/two_cores_calibration.json"))
    common, *kinds = calibration.slowdowns()
    assert tuple(one.kind for one in kinds) == calibration.kinds
    assert min(one.cpu for one in kinds) <= common.cpu <= max(one.cpu for one in kinds)
