"""The agent: its contract, its reward, its memory, its files."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybrid_ml_scheduler.cluster import BacklogView, Simulation
from hybrid_ml_scheduler.core import RaceContext, Task, TaskBatch
from hybrid_ml_scheduler.core.errors import ModelError, PlanError
from hybrid_ml_scheduler.learning import save_agent
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.schedulers import check_scheduler, create
from hybrid_ml_scheduler.schedulers.agents.rl_agent import RlAgent, shipped_weights
from hybrid_ml_scheduler.workload import generate, preset

BUSY: dict[str, Any] = {"epsilon_start": 0.3, "epsilon_end": 0.3}


def _tasks(count: int, seed: int = 3, rate: float = 20.0) -> TaskBatch:
    return generate(preset("mixed").with_values({"num_tasks": count, "arrival_rate": rate}), seed)


def _ran(agent: RlAgent, tasks: TaskBatch, node: Node | None = None) -> list[Any]:
    return Simulation(node or Node(), agent, seed=1).run((task, 1.0) for task in tasks)


def _prepared(**options: Any) -> tuple[RlAgent, PhysicsEstimator]:
    agent, estimator = RlAgent(**options), PhysicsEstimator(Node())
    agent.prepare(RaceContext(estimator=estimator, seed=1))
    return agent, estimator


@pytest.mark.parametrize("options", [{}, {"state": "task"}, {"time": "execution", "prior": False}, {"online": False}])
def test_it_keeps_the_contract_of_a_strategy(options: dict[str, Any]) -> None:
    check_scheduler(lambda: RlAgent(**options))


def test_without_experience_it_decides_like_earliest_device() -> None:
    tasks = _tasks(300)
    agent = _ran(RlAgent(online=False, model=None, energy_weight=0.0), tasks)
    rule = Simulation(Node(), create("earliest_device"), seed=1).run((task, 1.0) for task in tasks)
    assert [one.finish_s for one in agent] == [one.finish_s for one in rule]


def test_the_shipped_weights_beat_earliest_device_under_load() -> None:
    tasks = _tasks(3_000, rate=40.0)
    agent = _ran(RlAgent(online=False, energy_weight=0.0), tasks)
    rule = Simulation(Node(), create("earliest_device"), seed=1).run((task, 1.0) for task in tasks)
    assert np.mean([one.latency_s for one in agent]) < 0.9 * np.mean([one.latency_s for one in rule])


def test_energy_alone_takes_the_device_with_the_least_energy() -> None:
    node = Node()
    outcomes = _ran(RlAgent(online=False, energy_weight=1.0), _tasks(200))
    estimator = PhysicsEstimator(node)
    for task, outcome in zip(_tasks(200), outcomes, strict=True):
        choices = [estimator.energy_j(estimator.parts(task, share, 0), 0) for share in (0.0, 1.0)]
        assert outcome.energy_j == pytest.approx(min(choices))


def test_training_twice_with_one_seed_gives_the_same_weights() -> None:
    first, second = (RlAgent(**BUSY, learning_rate=1e-3, model=None) for _ in range(2))
    _ran(first, _tasks(200))
    _ran(second, _tasks(200))
    assert first.dqn.updates > 50
    assert np.array_equal(first.dqn.weights, second.dqn.weights)


def test_a_restored_agent_equals_an_uninterrupted_one() -> None:
    tasks, node = _tasks(240), Node()

    def fresh() -> Simulation:
        return Simulation(node, RlAgent(**BUSY, learning_rate=1e-3, model=None), seed=1)

    def fed(simulation: Simulation, first: int, last: int) -> list[Any]:
        found = []
        for task in tasks.take(slice(first, last)):
            found += simulation.advance(task.arrival_time)
            simulation.offer(task)
        return found

    through = fresh()
    outcomes = fed(through, 0, 240) + through.drain()
    head = fresh()
    early = fed(head, 0, 150)
    tail = fresh()
    tail.restore(pickle.loads(pickle.dumps(head.capture())))
    late = fed(tail, 150, 240) + tail.drain()
    assert early + late == outcomes
    assert np.array_equal(tail.scheduler.dqn.weights, through.scheduler.dqn.weights)  # type: ignore[attr-defined]


def test_a_saved_agent_continues_as_if_it_had_never_stopped(tmp_path: Path) -> None:
    agent, _ = _prepared(**BUSY, learning_rate=1e-3, model=None)
    _ran(agent, _tasks(150))
    agent.save_model(tmp_path / "agent.pth")
    again, _ = _prepared(**BUSY, learning_rate=1e-3, model=str(tmp_path / "agent.pth"))
    for _ in range(20):
        agent.dqn.update()
        again.dqn.update()
    assert np.array_equal(agent.dqn.weights, again.dqn.weights)


def test_a_bad_file_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    agent, _ = _prepared(model=None)
    before = agent.dqn.weights.copy()
    other = RlAgent(model=None)
    other.prepare(RaceContext(estimator=PhysicsEstimator(Node.uniform(2)), seed=1))
    other.save_model(tmp_path / "two.pth")
    (tmp_path / "bad.pth").write_bytes(b"no model")
    for name in ("two.pth", "bad.pth", "missing.pth"):
        with pytest.raises(ModelError):
            agent.load_model(tmp_path / name)
    assert np.array_equal(agent.dqn.weights, before)


@pytest.mark.parametrize("broken", ["memory", "explore", "ring", "pace"])
def test_a_file_with_a_broken_part_changes_nothing_of_the_agent(broken: str, tmp_path: Path) -> None:
    other, _ = _prepared(**BUSY, model=None)
    _ran(other, _tasks(80))
    state = dict(other.capture())
    if broken == "ring":
        state["dqn"]["replay"]["next"] = 50_000
    elif broken == "pace":
        state["pace"] = np.zeros(14)
    else:
        del state[broken]
    save_agent(state, tmp_path / "broken.pth")
    agent, _ = _prepared(model=None)
    before = pickle.dumps(agent.capture())
    with pytest.raises(ModelError):
        agent.load_model(tmp_path / "broken.pth")
    assert pickle.dumps(agent.capture()) == before


def test_learning_with_the_shipped_weights_is_gentle() -> None:
    agent = RlAgent(**BUSY)
    _ran(agent, _tasks(300))
    shipped = shipped_weights(4)
    assert shipped is not None
    assert agent.dqn.updates > 100
    assert not np.array_equal(agent.dqn.weights, shipped)
    assert float(np.abs(agent.dqn.weights - shipped).max()) < 0.05


def test_it_says_why() -> None:
    agent, estimator = _prepared(online=False)
    task = Task(task_id=1, size=900.0, compute_intensity=0.6, memory_required=80.0, arrival_time=0.0)
    view = BacklogView(estimator, 0.0, 1.0, [0.5, 0.0, 2.0, 0.1])
    reasons = agent.explain(task, view)
    assert set(reasons["q_values"]) == {"cpu", "gpu_0", "gpu_1", "gpu_2", "gpu_3"}
    assert max(reasons["q_values"], key=lambda name: reasons["q_values"][name]) == reasons["action"]
    decision = agent.decide(task, view)
    assert reasons["action"] == ("cpu" if decision.gpu_fraction == 0.0 else f"gpu_{decision.gpu}")
    assert reasons["exploring"] is False


def test_epsilon_decays_while_learning_and_is_zero_when_frozen() -> None:
    agent = RlAgent(epsilon_start=0.5, epsilon_end=0.1, epsilon_decay=50.0)
    _ran(agent, _tasks(200))
    assert 0.1 < agent.epsilon < 0.12
    frozen, _ = _prepared(online=False)
    assert frozen.epsilon == 0.0


def test_wrong_options_are_refused() -> None:
    for options in ({"energy_weight": 2.0}, {"state": "x"}, {"learning_rate": 0.0}, {"horizon_s": -1.0}, {"odd": 1}):
        with pytest.raises(PlanError, match="rl_agent"):
            RlAgent(**options)


def test_tensorboard_gets_the_course_of_training(tmp_path: Path) -> None:
    agent = RlAgent(tensorboard=str(tmp_path), model=None)
    _ran(agent, _tasks(220))
    assert list(tmp_path.glob("events.out.tfevents.*"))
