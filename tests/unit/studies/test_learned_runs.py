"""The compiled runs of learned strategies are the stepping form, and training gives the same weights twice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import Simulation, capacity
from hybrid_ml_scheduler.core import stream
from hybrid_ml_scheduler.physics import Cpu, Gpu, MemoryRule, Node, PhysicsEstimator, durations
from hybrid_ml_scheduler.plans.loads import LoadedTasks, at_load, at_once
from hybrid_ml_scheduler.plans.training_profile import AGENT_TOLERANCES, training_profile_of
from hybrid_ml_scheduler.schedulers.agents.arrival_stats import fresh_arrival_stats, notice
from hybrid_ml_scheduler.schedulers.agents.inputs import cluster_inputs
from hybrid_ml_scheduler.schedulers.agents.rl_agent import (
    VALUE_UNIT,
    RlAgent,
    shipped_training_profile,
    shipped_weights,
)
from hybrid_ml_scheduler.schedulers.agents.rl_split import RlSplit
from hybrid_ml_scheduler.schedulers.agents.split_model import load_split
from hybrid_ml_scheduler.schedulers.grid import split_grid
from hybrid_ml_scheduler.training.agent_training import AgentBudget, train_agent
from hybrid_ml_scheduler.training.judging import FrozenAgent, agent_ratio, split_bound_ratio, split_ratios
from hybrid_ml_scheduler.training.rollouts import run_agent, run_value_charge
from hybrid_ml_scheduler.training.split_search import SearchBudget, search_split
from hybrid_ml_scheduler.workload import generate, preset

NODES = [
    Node(),
    Node(gpus=(Gpu(), Gpu(speed=2.0, memory_mb=100.0), Gpu(speed=0.5))),
    Node(gpus=(Gpu(memory_mb=50.0), Gpu()), memory_rule=MemoryRule.PAGE, cpu=Cpu(slots=2)),
]


def _agent_weights(node: Node) -> np.ndarray:
    inputs, actions = cluster_inputs(node.num_gpus), node.num_gpus + 1
    count = (inputs + 1) * 256 + 257 * (256 + actions + 1)
    return (0.02 * stream(1, "test", "weights").standard_normal(count)).astype(np.float32)


def _streams(node: Node) -> list[LoadedTasks]:
    law = preset("mixed")
    return [
        at_load(law, node, 0.9, 5, 400),
        at_once(law, node, 6, 400),
        _with_gangs(at_load(law, node, 0.4, 7, 200), node),
    ]


def _with_gangs(tasks: LoadedTasks, node: Node) -> LoadedTasks:
    """The tasks with gangs, tasks that must not be cut and tasks without a GPU among them."""
    needed = np.resize(np.array([1, 2, 0, 1]), len(tasks.batch))
    divisible = np.resize(np.array([True, False, False, False]), len(tasks.batch))
    for column in (needed, divisible):
        column.flags.writeable = False
    batch = replace(tasks.batch, gpus_required=needed, divisible=divisible)
    return LoadedTasks(batch=batch, seconds=durations(batch, node), load=tasks.load)


@pytest.mark.parametrize("node", NODES, ids=["equal", "different", "paging"])
def test_the_compiled_run_of_rl_split_is_the_stepping_form(node: Node) -> None:
    grid, model = np.array(split_grid(0.05)), load_split()
    for tasks in _streams(node):
        finish, _ = run_value_charge(tasks, node, grid, model.weights, model.training_profile_on(node.num_gpus))
        outcomes = Simulation(node, RlSplit(), seed=1).run((task, 1.0) for task in tasks.batch)
        assert finish.tolist() == pytest.approx([outcome.finish_s for outcome in outcomes], rel=1e-12)


@pytest.mark.parametrize("node", NODES, ids=["equal", "different", "paging"])
def test_the_compiled_run_of_the_agent_is_the_stepping_form(node: Node) -> None:
    weights = _agent_weights(node)
    shape = (cluster_inputs(node.num_gpus), 256, node.num_gpus + 1)
    for tasks in _streams(node):
        run = run_agent(tasks, node, weights, shape, VALUE_UNIT, 0.3, 50.0, shipped_training_profile())
        agent = RlAgent(online=False, model=None, energy_weight=0.3)
        simulation = Simulation(node, agent, seed=1)
        agent.adopt(weights, shipped_training_profile())
        outcomes = simulation.run((task, 1.0) for task in tasks.batch)
        assert run.finish_s.tolist() == pytest.approx([outcome.finish_s for outcome in outcomes], rel=1e-12)
        assert run.energy_j.tolist() == pytest.approx([outcome.energy_j for outcome in outcomes], rel=1e-12)


@pytest.mark.parametrize("name", ["light", "gpu_friendly", "cpu_friendly", "heavy"])
def test_among_strange_tasks_the_agent_is_no_worse_than_the_rule(name: str) -> None:
    weights = shipped_weights(4)
    assert weights is not None
    assert (
        agent_ratio(FrozenAgent(weights, shipped_training_profile()), preset(name), Node(), 0.8, (41,), 5_000)[0]
        <= 1.02
    )


@pytest.mark.parametrize("name", ["light", "gpu_friendly", "cpu_friendly", "heavy"])
def test_among_strange_tasks_the_split_agent_is_no_worse_than_the_rule(name: str) -> None:
    assert split_ratios(load_split(), preset(name), Node(), 0.8, (41,), 5_000)[0][0] <= 1.02


def test_a_home_of_several_workloads_holds_each_of_them() -> None:
    laws, node = [preset("mixed"), preset("light")], Node()
    training_profile = training_profile_of(laws, node, 1_000_000, AGENT_TOLERANCES, 0.8)
    for law in laws:
        arrival_stats = fresh_arrival_stats(training_profile)
        for task in generate(law.with_values({"num_tasks": 1_500}), 7):
            work_s = PhysicsEstimator(node).seconds(task).cpu_s
            seen = notice(
                task.arrival_time, work_s, task.size, task.compute_intensity, task.memory_required, 5, arrival_stats
            )
        assert seen.familiar == 1.0


def test_the_load_is_the_rate_over_the_capacity_of_the_same_tasks() -> None:
    tasks = at_load(preset("mixed"), Node(), 0.8, 5, 20_000)
    rate = len(tasks.batch) / tasks.batch.arrival_time[-1]
    assert rate / capacity(tasks.batch, Node()) == pytest.approx(0.8, rel=0.03)


def test_searching_twice_gives_the_same_weights() -> None:
    budget = SearchBudget(stream_rounds=1, flood_rounds=1, population=4, floods=1, tasks=200)
    first, second = (search_split(preset("mixed"), Node(), budget) for _ in range(2))
    assert np.array_equal(first.weights, second.weights)
    assert np.array_equal(first.training_profile, second.training_profile)


def test_training_an_agent_twice_gives_the_same_weights() -> None:
    budget = AgentBudget(search_rounds=1, search_tasks=300, tasks=1_600, sampled=0.05, steps=15, online_tasks=100)
    first, second = (train_agent([preset("mixed"), preset("light")], Node.uniform(2), budget) for _ in range(2))
    assert np.array_equal(first.dqn.weights, second.dqn.weights)


def test_the_shipped_agents_hold_what_is_promised() -> None:
    """A small version of `benchmarks/run.py learning`, on seeds apart from those of training."""
    law, node, seeds = preset("mixed"), Node(), (31, 32)
    weights = shipped_weights(4)
    assert weights is not None
    agent = FrozenAgent(weights, shipped_training_profile())
    assert np.mean(agent_ratio(agent, law, node, 0.5, seeds, 10_000)) <= 1.02
    assert np.mean(agent_ratio(agent, law, node, 0.95, seeds, 10_000)) <= 0.85
    split = load_split()
    assert np.mean(split_ratios(split, law, node, 0.8, seeds, 10_000)[0]) <= 0.95
    assert np.mean(split_bound_ratio(split, law, node, seeds, 10_000)) <= 1.02
