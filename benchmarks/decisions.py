"""What one decision, one retraining and one agent update cost, each beside its peers, in one run.

Peers: scikit-learn and ONNX Runtime for the forest, torch and ONNX Runtime for the network, Stable-Baselines3 for
environment steps with one update each. Whoever is compared does the same work equally often, in turns, so that a
busy moment of the machine meets all. One thread each, because two make all of them slower at this size; only
scikit-learn's fits get two, which makes them faster. Our times include scaling the features, those of peers do not.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.network_peers import onnx_forest, onnx_net, torch_net, torch_update
from hybrid_ml_scheduler.cluster import BacklogView, Simulation
from hybrid_ml_scheduler.cluster.held_tasks import HeldTask, ReadyTasks
from hybrid_ml_scheduler.cluster.learned_estimator import LearnedEstimator
from hybrid_ml_scheduler.core import RaceContext, Task, stream
from hybrid_ml_scheduler.learning import DoubleDqn, DqnSettings, Transition, fit_forest
from hybrid_ml_scheduler.learning.forest import LEAST_LEAF
from hybrid_ml_scheduler.learning.time_forest import fit_time_forest, time_row
from hybrid_ml_scheduler.learning.trees import FlatForest
from hybrid_ml_scheduler.physics import Node, PhysicsEstimator
from hybrid_ml_scheduler.schedulers import DEFAULT_RACE, create
from hybrid_ml_scheduler.schedulers.forest.hybrid_ml import HybridMl
from hybrid_ml_scheduler.training.forest_training import label_tasks
from hybrid_ml_scheduler.workload import generate, preset

__all__ = ["render", "run"]

FROZEN = {"hybrid_ml": {"online": False}, "rl_agent": {"online": False}}
STRATEGIES = (*DEFAULT_RACE, "rl_split", "earliest_device", "frugal_finish")


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How often each thing is done."""

    decisions: int = 4_000
    race_tasks: int = 10_000
    fits: int = 9
    updates: int = 300
    predictions: int = 1_000
    rounds: int = 3
    steps: int = 2_000


FULL = Effort()
QUICK = Effort(decisions=100, race_tasks=100, fits=1, updates=3, predictions=20, rounds=1, steps=100)


def run(*, quick: bool) -> dict[str, Any]:
    """Measure everything; takes a few minutes unless it is to be quick."""
    import torch

    torch.set_num_threads(1)
    effort = QUICK if quick else FULL
    result: dict[str, Any] = {}
    for name in STRATEGIES:
        _tell(name)
        result[name] = _decisions(name, effort.decisions)
    _tell("forest")
    result.update(_forest(effort))
    _tell("hybrid_ml with a forest of corrections")
    result.update(_corrected_decisions(effort))
    _tell("network")
    result.update(_network(effort))
    _tell("stable-baselines3")
    result.update(_beside_sb3(effort))
    _tell("race")
    result.update(_race(effort.race_tasks))
    return result


def _decisions(name: str, count: int) -> dict[str, float]:
    """One decision at a time on fresh tasks and random backlogs; the garbage collector is quiet."""
    node = Node()
    estimator = PhysicsEstimator(node)
    strategy: Any = create(name, FROZEN.get(name, {}))
    if hasattr(strategy, "prepare"):
        strategy.prepare(RaceContext(estimator=estimator, seed=1))
    rng = stream(1, "benchmark", "decisions")
    seconds = []
    gc.disable()
    for task in generate(preset("mixed").with_values({"num_tasks": count}), 1):
        busy = rng.exponential(0.3, 5) * (rng.random(5) < 0.6)
        view = BacklogView(estimator, task.arrival_time, float(busy[0]), busy[1:].tolist())
        estimator.seconds(task)  # the cluster has asked for these before a strategy does
        begin = time.perf_counter()
        strategy.decide(task, view)
        seconds.append(time.perf_counter() - begin)
    gc.enable()
    return _percentiles(seconds[count // 10 :])


def _forest(effort: Effort) -> dict[str, Any]:
    from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

    features, shares = label_tasks(preset("mixed"), Node(), 1, 1_000)
    model = fit_forest(features, shares, stream(1, "benchmark"))
    rows = model.scaler.transform(features)
    plain = RandomForestRegressor(100, min_samples_leaf=LEAST_LEAF, random_state=1, n_jobs=2)
    extra = ExtraTreesRegressor(100, min_samples_leaf=LEAST_LEAF, random_state=1, n_jobs=2)
    fits = {
        "forest_fit_ms": lambda: fit_forest(features, shares, stream(1, "benchmark")),
        "sklearn_forest_fit_ms": lambda: plain.fit(rows, shares),
        "sklearn_extra_trees_fit_ms": lambda: extra.fit(rows, shares),
    }
    result: dict[str, Any] = {name: 1e3 * min(seconds) for name, seconds in _in_turns(fits, effort.fits).items()}
    plain.set_params(n_jobs=1)
    raw = [tuple(row) for row in features.tolist()]
    result["forest_predict"] = _each(lambda i: model.predict_one(raw[i]), effort.predictions)
    result["sklearn_predict"] = _each(lambda i: plain.predict(rows[i : i + 1]), effort.predictions)
    result["onnx_forest_predict"] = _onnx_forest(plain, rows, effort.predictions)
    return result


def _corrected_decisions(effort: Effort) -> dict[str, Any]:
    """A whole decision of `hybrid_ml` at `learned` beside ONNX Runtime's walk of the very same forest, in turns.

    Ours holds the formula's seconds, the belief, two rows of features (CPU and GPU), the walk of 100 trees for both,
    the choice and the bookkeeping; the peer walks the same trees for two rows of features that it is given.
    """
    estimator = LearnedEstimator(Node())
    tasks = list(generate(preset("unknown").with_values({"num_tasks": max(effort.decisions, 1_000)}), 1))
    rows = _rows_of(tasks[:1_000], estimator)
    logs = 0.5 * np.sin(3.0 * rows[:, 6]) * (1.0 + rows[:, 7])
    strategy = HybridMl()
    strategy.prepare(RaceContext(estimator=estimator, seed=1))
    forest = fit_time_forest(rows[:1_000], logs[:1_000], stream(1, "benchmark"))
    strategy.activate(replace(forest, share=1.0), strategy.training_data())
    walk = _two_row_walk(forest.forest, rows.astype(np.float32))
    decide = _decider(strategy, estimator, tasks)
    own, peer = [], []
    for index in range(effort.decisions):
        own.append(decide(index))
        peer.append(walk(index))
    own, peer = own[effort.decisions // 10 :], peer[effort.decisions // 10 :]
    return {
        "hybrid_ml_corrected_decision": _percentiles(own),
        "onnx_same_forest": _percentiles(peer),
        "hybrid_ml_vs_onnx_forest": float(np.median(own) / np.median(peer)),
    }


def _rows_of(tasks: list[Task], estimator: LearnedEstimator) -> np.ndarray:
    """Two rows of features a task: on the CPU, and on a GPU."""
    found = []
    for task in tasks:
        told = estimator.seconds(task)
        traits = (task.size, task.compute_intensity, task.memory_required)
        found += [time_row(*traits, 0, one, device) for device, one in enumerate((told.cpu_s, told.gpu_s[0]))]
    return np.array(found)


def _two_row_walk(forest: FlatForest, rows: np.ndarray) -> Callable[[int], float]:
    """ONNX Runtime's answer of the very same trees for the two rows of a task; returns its seconds."""
    session = _session(onnx_forest(forest))
    theirs = session.run(None, {"rows": rows[:100]})[0][:, 0]
    if not np.allclose(forest.predict(rows[:100]), theirs, atol=1e-5):
        raise SystemExit("the forest in ONNX answers something else than ours")

    def walked(index: int) -> float:
        first = 2 * (index % (len(rows) // 2))
        begin = time.perf_counter()
        session.run(None, {"rows": rows[first : first + 2]})
        return time.perf_counter() - begin

    return walked


def _decider(strategy: HybridMl, estimator: LearnedEstimator, tasks: list[Task]) -> Callable[[int], float]:
    """One decision on a fresh task that comes alone, with random backlogs and an idle GPU; returns its seconds."""
    rng = stream(1, "benchmark", "decisions")

    def decided(index: int) -> float:
        task, busy = tasks[index], rng.exponential(0.3, 5) * (rng.random(5) < 0.6)
        busy[1] = 0.0
        view = BacklogView(estimator, task.arrival_time, float(busy[0]), busy[1:].tolist())
        view.idle = (busy == 0.0).tolist()
        held = ReadyTasks()
        held.arrive(task)
        held.hold(HeldTask(task, 1.0, task.arrival_time, None))
        begin = time.perf_counter()
        committed = list(strategy.dispatch(held, view))
        taken = time.perf_counter() - begin
        if not committed:  # kept for a better moment, which is now: the next one is to come alone again
            held.woken()
            view.cpu_backlog_s, view.gpu_backlogs_s, view.idle = 0.0, [0.0] * 4, [True] * 5
            list(strategy.dispatch(held, view))
        return taken

    return decided


def _onnx_forest(forest: Any, rows: np.ndarray, count: int) -> dict[str, float]:
    from skl2onnx import to_onnx

    session = _session(to_onnx(forest, rows[:1]).SerializeToString())
    name = session.get_inputs()[0].name
    return _each(lambda i: session.run(None, {name: rows[i : i + 1]}), count)


def _network(effort: Effort) -> dict[str, Any]:
    import torch

    rng = stream(1, "benchmark", "network")
    dqn = DoubleDqn(15, 5, rng, DqnSettings(learning_rate=1e-4, quiet_head=False))
    states = rng.random((2_000, 15)).astype(np.float32)
    for row in range(1_999):
        nothing = np.zeros(5, dtype=np.float32)
        action, reward = int(rng.integers(5)), float(rng.random())
        dqn.replay.add(Transition(states[row], 1.0, action, reward, 0.9, states[row + 1], 1.0, nothing))
    count = effort.predictions
    net, target, session = torch_net(dqn), torch_net(dqn), _session(onnx_net(dqn))
    inputs = torch.from_numpy(states)
    result: dict[str, Any] = {"network_forward": _each(lambda i: dqn.q(states[i]), count)}
    with torch.inference_mode():
        result["torch_forward"] = _each(lambda i: net(inputs[i : i + 1]), count)
    result["onnx_forward"] = _each(lambda i: session.run(None, {"states": states[i : i + 1]}), count)
    own, theirs = dqn.q(states[0]), session.run(None, {"states": states[:1]})[0][0]
    if not np.allclose(own, theirs, atol=1e-5):
        raise SystemExit("the network in ONNX answers something else than ours")
    plain = torch.optim.Adam(net.parameters(), lr=1e-4)
    other = torch_net(dqn)
    fused = torch.optim.Adam(other.parameters(), lr=1e-4, fused=True)
    updates = {
        "agent_update_ms": dqn.update,
        "torch_update_ms": lambda: torch_update(net, target, plain, dqn),
        "torch_fused_update_ms": lambda: torch_update(other, target, fused, dqn),
    }
    return result | {name: 1e3 * float(np.median(times)) for name, times in _in_turns(updates, effort.updates).items()}


def _beside_sb3(effort: Effort) -> dict[str, float]:
    """Environment steps a second with one update of batch 64 each, both on `HybridScheduler-v0`."""
    import gymnasium
    from stable_baselines3 import DQN

    from hybrid_ml_scheduler.training.gym_env import ENV_ID

    env = gymnasium.make(ENV_ID, num_tasks=10_000)
    peer = DQN(
        "MlpPolicy", env, seed=1, batch_size=64, train_freq=1, gradient_steps=1, learning_starts=100,
        buffer_size=50_000, policy_kwargs={"net_arch": [256, 256]},
    )  # fmt: skip
    steps = effort.steps
    peer.learn(200)
    own_s, peer_s = [], []
    for _ in range(effort.rounds):
        begin = time.perf_counter()
        peer.learn(steps, reset_num_timesteps=True)
        peer_s.append(time.perf_counter() - begin)
        own_s.append(_own_steps(env, steps))
    ours, theirs = steps / min(own_s), steps / min(peer_s)
    return {"agent_steps_per_s": ours, "sb3_steps_per_s": theirs, "agent_vs_sb3": ours / theirs}


def _own_steps(env: Any, steps: int) -> float:
    rng = stream(1, "benchmark", "own")
    dqn = DoubleDqn(15, 5, rng, DqnSettings(learning_rate=1e-4))
    state, _ = env.reset(seed=1)
    nothing = np.zeros(5, dtype=np.float32)
    begin = 0.0
    for step in range(steps + 100):
        if step == 100:
            begin = time.perf_counter()
        action = int(rng.integers(5)) if rng.random() < 0.05 else int(np.argmax(dqn.q(state)))
        following, reward, _, _, _ = env.step(np.int64(action))
        dqn.replay.add(Transition(state, 1.0, action, reward, 0.99, following, 1.0, nothing))
        state = following
        if dqn.replay.size >= 64:
            dqn.update()
    return time.perf_counter() - begin


def _race(count: int) -> dict[str, float]:
    """The default strategies on as many tasks: synchronous retraining every 50 tasks, an agent update every task."""
    batch = generate(preset("mixed").with_values({"num_tasks": count}), 1)
    parts = {}
    for name in DEFAULT_RACE:
        begin = time.perf_counter()
        Simulation(Node(), create(name), seed=1).run((task, 1.0) for task in batch)
        parts[f"race_{name}_s"] = time.perf_counter() - begin
    return {"race_tasks": count, "race_s": sum(parts.values()), **parts}


def _session(model: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _each(call: Callable[[int], object], count: int) -> dict[str, float]:
    for index in range(min(20, count)):
        call(index)
    seconds = []
    for index in range(count):
        begin = time.perf_counter()
        call(index)
        seconds.append(time.perf_counter() - begin)
    return _percentiles(seconds)


def _percentiles(seconds: list[float]) -> dict[str, float]:
    median, high = np.percentile(seconds, [50, 99]) * 1e6
    return {"p50_us": float(median), "p99_us": float(high)}


def _in_turns(calls: Mapping[str, Callable[[], object]], count: int) -> dict[str, list[float]]:
    """Seconds of each call, all of them in turns, equally often, after one call that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(count):
        for name, call in calls.items():
            begin = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - begin)
    return seconds


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def render(result: dict[str, Any]) -> str:
    """One line a figure."""
    lines = []
    for key, value in result.items():
        if isinstance(value, dict):
            lines.append(f"{key:24} p50 {value['p50_us']:9.1f} us   p99 {value['p99_us']:9.1f} us")
        else:
            lines.append(f"{key:24} {value:10.2f}")
    return "\n".join(lines)
